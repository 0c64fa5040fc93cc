"""Plugin of mypy: in its configuration write `plugins = ["quadrants.mypy"]`.

Kernels, and what they call, are in a language of their own: their annotations are values, and names change their types.
So mypy is shown functions below `@qd.kernel`, `@qd.func` and the like without a body, with parameters of any type; and
the types that `qd.types.vector(..)`, `@qd.dataclass` and the like make as names of type Any, which may be annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mypy.nodes import (
    MISSING_FALLBACK,
    AssignmentStmt,
    Block,
    CallExpr,
    ClassDef,
    Decorator,
    EllipsisExpr,
    Expression,
    ExpressionStmt,
    FuncDef,
    IfStmt,
    Import,
    ImportFrom,
    MemberExpr,
    MypyFile,
    NameExpr,
    Statement,
    TempNode,
)
from mypy.options import Options
from mypy.plugin import AnalyzeTypeContext, Plugin
from mypy.types import AnyType, CallableType, Instance, Type, TypeOfAny

_FUNCTIONS = {"kernel", "func", "pyfunc", "real_func"}
_MAKERS = {"types.vector", "types.matrix", "types.struct"}
_STRUCTS = {"dataclass"}


class _Names:
    """What the names of a file mean: `qd.types.vector` is "types.vector", whatever qd is called."""

    def __init__(self, file: MypyFile):
        self.known: dict[str, str] = {}
        for statement in file.imports:
            if isinstance(statement, Import):
                self._import(statement)
            elif isinstance(statement, ImportFrom) and (statement.id + ".").startswith("quadrants."):
                inside = statement.id.removeprefix("quadrants").removeprefix(".")
                for name, alias in statement.names:
                    self.known[alias or name] = f"{inside}.{name}" if inside else name

    def _import(self, statement: Import) -> None:
        for name, alias in statement.ids:
            if (name + ".").startswith("quadrants."):
                inside = name.removeprefix("quadrants").removeprefix(".") if alias else ""
                self.known[alias or "quadrants"] = inside

    def meaning(self, e: Expression) -> str | None:
        """The path below the package of a name, an attribute, or what is called; None for anything else."""
        if isinstance(e, CallExpr):
            return self.meaning(e.callee)
        if isinstance(e, NameExpr):
            return self.known.get(e.name)
        if isinstance(e, MemberExpr):
            above = self.meaning(e.expr)
            return None if above is None else f"{above}.{e.name}" if above else e.name
        return None


def _any() -> AnyType:
    return AnyType(TypeOfAny.explicit)


def _blocks(s: Statement) -> Iterator[Block]:
    """The blocks in which a statement may define further names."""
    if isinstance(s, IfStmt):
        yield from s.body
        if s.else_body is not None:
            yield s.else_body
    elif isinstance(s, ClassDef):
        yield s.defs
    elif isinstance(s, FuncDef):
        yield s.body
    elif isinstance(s, Decorator):
        yield s.func.body


def _hide(f: FuncDef) -> None:
    f.body.body = [ExpressionStmt(EllipsisExpr())]
    for argument in f.arguments:
        argument.type_annotation = _any()
    kinds, names = [a.kind for a in f.arguments], [a.variable.name for a in f.arguments]
    fallback = Instance(MISSING_FALLBACK, [])
    f.type = CallableType([_any() for _ in kinds], kinds, names, _any(), fallback)
    f.unanalyzed_type = f.type.copy_modified()


def _struct(c: ClassDef) -> Statement:
    """What a class becomes: a name of any type, whose members and constructor are not looked at."""
    target = NameExpr(c.name)
    made = AssignmentStmt([target], TempNode(_any(), no_rhs=True), type=_any(), new_syntax=True)
    made.unanalyzed_type = _any()
    for node in (made, target, made.rvalue):
        node.set_line(c)
    return made


def _shown(s: Statement, names: _Names) -> Statement:
    """A statement as the rest of mypy is to see it."""
    if isinstance(s, ClassDef) and any(names.meaning(d) in _STRUCTS for d in s.decorators):
        return _struct(s)
    if isinstance(s, Decorator) and any(names.meaning(d) in _FUNCTIONS for d in s.decorators):
        _hide(s.func)
    elif isinstance(s, AssignmentStmt) and isinstance(s.rvalue, CallExpr) and s.type is None:
        if names.meaning(s.rvalue) in _MAKERS:
            s.type = s.unanalyzed_type = _any()
    for block in _blocks(s):
        block.body = [_shown(inner, names) for inner in block.body]
    return s


class QuadrantsPlugin(Plugin):
    """Changes files that import the package, once they are parsed."""

    def __init__(self, options: Options):
        super().__init__(options)
        if hasattr(options, "native_parser"):  # --no-native-parser: with that parser plugins see no statements
            options.native_parser = False

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """No further dependencies; mypy asks for them between parsing and analysis."""
        names = _Names(file)
        if names.known and not (file.fullname + ".").startswith("quadrants."):
            file.defs = [_shown(s, names) for s in file.defs]
        return []

    def get_type_analyze_hook(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        """`NDArray[qd.f32, 1]` outside of kernels: anything that kernels take for an array."""
        return _array if fullname.endswith((".NDArray", ".BufferView")) and fullname.startswith("quadrants.") else None


def _array(context: AnalyzeTypeContext) -> Type:
    return _any()


def plugin(version: str) -> type[Plugin]:
    """What mypy calls to find the plugin."""
    return QuadrantsPlugin
