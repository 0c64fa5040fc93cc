"""The parts of the grammar that need one another, for one function of a program."""

from __future__ import annotations

from ..model.numbers import DTYPES, DType, promote
from .calls import Calls
from .casts import Casts
from .cells import Cells
from .control import Control
from .draw import Draw
from .indices import Indices
from .integers import Integers
from .reals import Reals
from .scope import Scope
from .statements import Statements
from .tensors import Tensors
from .truths import Truths
from .types import Expr, StructDecl, Type


class Generators:
    def __init__(self, draw: Draw, options: dict, scope: Scope, structs: list, pure: bool = False):
        self.draw, self.options, self.scope, self.structs = draw, options, scope, structs
        self.pure = pure  # nothing but parameters may be changed
        self.ip: DType = DTYPES[options.get("default_ip", "i32")]
        self.fp: DType = DTYPES[options.get("default_fp", "f32")]
        self.indices, self.integers, self.reals = Indices(self), Integers(self), Reals(self)
        self.truths, self.casts, self.cells = Truths(self), Casts(self), Cells(self)
        self.tensors, self.calls = Tensors(self), Calls(self)
        self.statements, self.control = Statements(self), Control(self)

    @staticmethod
    def promote(a: DType, b: DType) -> DType:
        return promote(a, b)

    @staticmethod
    def promoted(a: Type, b: Type) -> Type:
        return Type(promote(a.dtype, b.dtype), a.shape or b.shape)

    def value(self, type_, depth: int) -> Expr:
        """An expression that can be stored where `type_` is."""
        if isinstance(type_, StructDecl):
            return self.struct(type_, depth)
        if type_.shape:
            return self.tensors.value(type_, depth)
        if type_.dtype.bits == 1:
            return self.truths.comparison(depth)
        return self.reals.any(depth) if type_.real else self.integers.any(depth)

    def exact(self, type_, depth: int) -> Expr:
        """An expression of exactly this type."""
        e = self.value(type_, depth)
        if isinstance(type_, StructDecl) or e.type == type_ and not e.literal:
            return e
        return Expr(f"qd.cast({e.text}, qd.{type_.dtype.name})", type_)

    def struct(self, decl: StructDecl, depth: int) -> Expr:
        """A variable, cell or new value of a struct class."""
        names = [v.name for v in self.scope.variables if v.type is decl]
        if names and self.draw.chance(0.6):
            return Expr(self.draw.pick(names), decl)
        called = self.calls.struct(decl) if self.draw.chance(0.3) and depth > 0 else None
        if called is not None:
            return Expr(called, decl)
        parts = [self.value(t, depth - 1).text for _, t in decl.members]
        if self.draw.chance(0.3):
            parts = [f"{name}={text}" for (name, _), text in zip(decl.members, parts)]
        return Expr(f"{decl.name}({', '.join(parts)})", decl)
