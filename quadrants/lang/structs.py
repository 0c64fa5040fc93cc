"""Struct values in kernel scope: construction from members, from host structs, from lists."""

from __future__ import annotations

from quadrants.errors import QuadrantsCompilationError, QuadrantsTypeError
from quadrants.ir.nodes import Const, Make
from quadrants.ir.types import DType, StructType, TensorType
from quadrants.lang import scope, tensor, typed
from quadrants.lang.described import given_twice, surplus_values
from quadrants.lang.value import Value


def zero(t):
    """The zero value of a type, as an expression."""
    if isinstance(t, DType):
        return Const(0.0 if t.is_real else 0, t)
    if isinstance(t, TensorType):
        return typed.splat(zero(t.dtype), t)
    return Make(tuple(zero(kind) for _, kind in t.members), t)


def member_expr(x, t):
    """`x` converted to the member type `t`: structs from dicts, tensors from lists, scalars broadcast."""
    if isinstance(t, StructType):
        if isinstance(x, dict):
            return construct(t, (), x).expr
        return typed.convert_expr(typed.to_expr(x), t)
    if isinstance(t, TensorType) and tensor.is_sequence(x):
        return tensor.of_type(t, (x,)).expr if not isinstance(x, Value) else typed.convert_expr(x.expr, t)
    return typed.convert_expr(typed.to_expr(x), t)


def construct(t: StructType, args: tuple, kwargs: dict) -> Value:
    """`S(1, p=[1, 2])`: positional, then keyword; missing members are zero. A number for a struct is its first."""
    names = [k for k, _ in t.members]
    wrong = given_twice(names, args, kwargs)
    if wrong:
        raise QuadrantsCompilationError(wrong)
    if len(args) > len(names):
        scope.warn(surplus_values(names, args))
    given = dict(zip(names, args))
    for key, value in kwargs.items():
        if key not in names:
            raise QuadrantsCompilationError(f"The struct has no member '{key}'; it has {names}")
        given[key] = value
    parts = tuple(_given_expr(given[k], kind) if k in given else zero(kind) for k, kind in t.members)
    return Value(Make(parts, t))


def _given_expr(x, t):
    if isinstance(t, StructType) and (typed.is_number(x) or isinstance(x, Value) and x.is_scalar):
        return construct(t, (x,), {}).expr
    return member_expr(x, t)


def anonymous(entries: dict) -> Value:
    """qd.Struct(a=1, b=v): member types follow the values."""
    exprs = {}
    for key, value in entries.items():
        exprs[key] = anonymous(value).expr if isinstance(value, dict) else typed.to_expr(value)
    t = StructType(tuple((k, e.type) for k, e in exprs.items()), "struct")
    return Value(Make(tuple(exprs.values()), t))


def from_host(s) -> Value:
    """A Python-scope qd.Struct met in kernel scope, as constants."""
    entries = s.to_dict()
    if not isinstance(entries, dict):
        raise QuadrantsTypeError("A struct must convert to a dict.")
    return anonymous(entries)
