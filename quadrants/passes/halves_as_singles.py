"""Arithmetic of f16 in f32, for languages that only store f16; each result is rounded to f16 by itself.

    x * y + z       f16(f32(f16(f32(x) * f32(y))) + f32(z))

f32 has more than twice the digits of f16, so that a sum, product, quotient or root that is rounded twice is the one
that is rounded once. Numbers of f16 stay in memory, variables and arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import DType, StructType, TensorType, ValueType, f16, f32, f64
from quadrants.passes.tensor_sums import SUMS, function_of

# Operations that hand numbers on, and those that the prelude has for f16 too.
_MOVES = frozenset(("splat", "transpose", "row", "column", "powi"))


def halves_as_singles(module: n.Module) -> n.Module:
    """Leave no operation on f16 but loads, stores, casts from and to f32, and what the prelude has for it."""
    rewrite = _Rewrite()
    for task in module.tasks:
        rewrite.statements(task.pre)
        rewrite.statements(task.body)
        for declare, final in task.reductions:
            rewrite.statements([declare, final])
    for function in module.functions:
        rewrite.statements(function.body)
    module.functions[:0] = rewrite.functions.values()
    return module


class _Rewrite:
    def __init__(self) -> None:
        self.functions: dict[tuple[Any, ...], n.Function] = {}  # by operation and types of operands

    def statements(self, body: Sequence[n.Stmt]) -> None:
        for s in body:
            walk.update(s, self.node)
            if isinstance(s, n.Check):
                s.values = tuple(map(_widened, s.values))
            elif isinstance(s, n.Print):
                s.parts = tuple(p if isinstance(p, str) else (_widened(p[0]), p[1]) for p in s.parts)

    def node(self, x: Any) -> Any:
        if isinstance(x, list):
            self.statements(x)
            return x
        x = walk.rebuilt(x, self.node)
        if isinstance(x, n.Cast):
            return _cast(x)
        if not isinstance(x, (n.Unary, n.Binary, n.MatOp)) or x.op in _MOVES:
            return x
        if isinstance(x, n.MatOp):
            return self.summed(x) if x.op in SUMS and _is_half(x.type) else self.of_tensors(x)
        if isinstance(x, n.Unary):
            return _narrowed(n.Unary(x.op, _widened(x.a), _single(x.type)), x.type) if _is_half(x.a.type) else x
        if not (_is_half(x.a.type) or _is_half(x.b.type)):
            return x
        made = n.Binary(x.op, _widened(x.a), _widened(x.b), _single(x.type), x.loc, x.exact)
        return _narrowed(made, x.type)

    def of_tensors(self, x: n.MatOp) -> n.Expr:
        if not any(_is_half(e.type) for e in x.args):
            return x
        return _narrowed(n.MatOp(x.op, tuple(map(_widened, x.args)), _single(x.type)), x.type)

    def summed(self, x: n.MatOp) -> n.Call:
        """Sums of products, which are rounded too, are functions: their operands are used more than once."""
        key = (x.op, *[e.type for e in x.args])
        if key not in self.functions:
            made = function_of(x.op, f"qd_{x.op}_of_halves{len(self.functions)}", [e.type for e in x.args], x.type)
            self.statements(made.body)
            self.functions[key] = made
        return n.Call(self.functions[key], x.args, x.type)


def _is_half(t: ValueType | None) -> bool:
    return t is f16 or isinstance(t, TensorType) and t.dtype is f16


def _single(t: ValueType) -> ValueType:
    """The type of a value that is computed in f32."""
    return _with(t, f32) if _is_half(t) else t


def _with(t: ValueType, dtype: DType) -> ValueType:
    assert not isinstance(t, StructType)
    return t.with_dtype(dtype) if isinstance(t, TensorType) else dtype


def _widened(e: n.Expr) -> n.Expr:
    return n.Cast(e, _single(e.type)) if _is_half(e.type) else e


def _narrowed(e: n.Expr, t: ValueType) -> n.Expr:
    return n.Cast(e, t) if _is_half(t) else e


def _cast(e: n.Cast) -> n.Expr:
    """By way of f32, which all integers that f16 can hold fit in; f64 becomes f16 at once, to be rounded once."""
    have, t = e.a.type, e.type
    if e.bits or not (_is_half(have) or _is_half(t)):
        return e
    if _is_half(have):
        return e.a if _is_half(t) else e if t == _with(t, f32) else n.Cast(_widened(e.a), t)
    direct = have in (_with(have, f32), _with(have, f64))
    return e if direct else n.Cast(n.Cast(e.a, _with(t, f32)), t)
