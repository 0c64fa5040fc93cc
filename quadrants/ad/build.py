"""Small expressions as derivative code needs them: typed, broadcast over tensors, without trivial factors."""

from __future__ import annotations

import math

from quadrants.ir.literals import const as const
from quadrants.ir.literals import zero as zero
from quadrants.ir.nodes import (
    Binary,
    Call,
    Cast,
    Const,
    Elem,
    ElemPlace,
    Load,
    Make,
    MatOp,
    MemberPlace,
    Select,
    Unary,
    Var,
    VarPlace,
)
from quadrants.ir.types import StructType, TensorType, element_dtype, i32, result_struct, u1


def value_of(e) -> float | None:
    """The number that an expression is in all elements, or None."""
    if isinstance(e, Const):
        return float(e.value)
    if isinstance(e, MatOp) and e.op == "splat":
        return value_of(e.args[0])
    if isinstance(e, Make) and e.parts:
        first = value_of(e.parts[0])
        return first if all(value_of(p) == first for p in e.parts[1:]) else None
    return None


def is_zero(e) -> bool:
    value = value_of(e)
    return value == 0 and math.copysign(1.0, value) > 0


def is_atom(e) -> bool:
    """A number or the value of a variable."""
    return isinstance(e, Const) or isinstance(e, Load) and isinstance(e.place, VarPlace)


def variable(var: Var) -> Load:
    return Load(VarPlace(var, var.type), var.type)


def is_differentiated(e) -> bool:
    """Whether an expression is the call of a function with a derivative of its own."""
    return isinstance(e, Call) and e.func.derivative is not None


def derivative_call(e: Call, given: list, results: Var) -> Call:
    """The call that takes duals or adjoints through the call `e`, whose results are in a variable."""
    function = e.func.derivative
    values = [*given, *members(results), *e.args]
    t = function.result[0] if len(function.result) == 1 else result_struct(function.result)
    return Call(function, tuple(values[: len(function.params)]), t)


def members(var: Var) -> list:
    """The values in a variable: itself, or the members of a struct."""
    if not isinstance(var.type, StructType):
        return [variable(var)]
    return [Load(MemberPlace(VarPlace(var, var.type), name, t), t) for name, t in var.type.members]


def index(k: int) -> Const:
    return Const(k, i32)


def _joint(a, b):
    """The type of an element-by-element operation."""
    return a.type if isinstance(a.type, TensorType) else b.type


def unary(op: str, a):
    return Unary(op, a, a.type)


def binary(op: str, a, b):
    return Binary(op, a, b, _joint(a, b))


def compare(op: str, a, b):
    t = _joint(a, b)
    return Binary(op, a, b, t.with_dtype(u1) if isinstance(t, TensorType) else u1)


def neg(a):
    if isinstance(a, Unary) and a.op == "neg":
        return a.a
    if isinstance(a, Const):
        return Const(-a.value, a.type)
    return unary("neg", a)


def add(a, b):
    if is_zero(a) and b.type == _joint(a, b):
        return b
    if is_zero(b) and a.type == _joint(a, b):
        return a
    if isinstance(b, Unary) and b.op == "neg":
        return binary("sub", a, b.a)
    return binary("add", a, b)


def sub(a, b):
    return a if is_zero(b) and a.type == _joint(a, b) else binary("sub", a, b)


def mul(a, b):
    t = _joint(a, b)
    for x, y in ((a, b), (b, a)):
        one = value_of(x)
        if y.type == t and one == 1:
            return y
        if y.type == t and one == -1:
            return neg(y)
    return binary("mul", a, b)


def div(a, b):
    return a if value_of(b) == 1 else binary("truediv", a, b)


def select(cond, a, b):
    """`a` where `cond` holds, else `b`; both are evaluated."""
    if is_zero(a) and is_zero(b):
        return a
    t = cond.type if isinstance(cond.type, TensorType) else _joint(a, b)
    full = t.with_dtype(element_dtype(a.type)) if isinstance(t, TensorType) else t
    return Select(cond, a, b, full, lazy=False)


def cast(a, dtype):
    t = a.type.with_dtype(dtype) if isinstance(a.type, TensorType) else dtype
    return a if a.type == t else Cast(a, t)


def total(a):
    """The sum over all elements."""
    return MatOp("sum", (a,), a.type.dtype)


def fitted(g, t):
    """A contribution `g` in the type of the operand it belongs to: summed where the operand was broadcast."""
    if isinstance(g.type, TensorType) and not isinstance(t, TensorType):
        return total(g)
    if isinstance(t, TensorType) and not isinstance(g.type, TensorType):
        return MatOp("splat", (g,), t)
    return g


def element(a, k: int):
    """Element `k`, row major."""
    shape = a.type.shape
    at = (index(k),) if len(shape) == 1 else (index(k // shape[1]), index(k % shape[1]))
    if isinstance(a, Make):
        return a.parts[k]
    if isinstance(a, MatOp) and a.op == "splat":
        return a.args[0]
    if isinstance(a, Load):
        return Load(ElemPlace(a.place, at, a.type.dtype), a.type.dtype, a.origin)
    return Elem(a, at, a.type.dtype)
