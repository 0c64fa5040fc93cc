"""Element access on run-time values: indices, slices, swizzles, members, methods."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

from quadrants import spelling
from quadrants.errors import (
    QuadrantsCompilationError,
    QuadrantsIndexError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)
from quadrants.ir.nodes import Binary, Cast, Cell, Const, Elem, ElemPlace, Load, Make, Member, MemberPlace
from quadrants.ir.types import DType, StructType, TensorType, i32, i64, tensor_type, u1, u64
from quadrants.lang import constants, scope, tensor, typed, views
from quadrants.lang.described import type_name
from quadrants.lang.unpacked import unpacked_row
from quadrants.lang.value import Value

SWIZZLES = ("xyzw", "rgba", "stpq")


class KernelMethod:
    """A method of a run-time value, bound to it: `v.norm` before the call."""

    __slots__ = ("function", "instance", "name")

    def __init__(self, function, instance, name):
        self.function, self.instance, self.name = function, instance, name

    def of(self, instance) -> KernelMethod:
        """The method of another value."""
        return KernelMethod(self.function, instance, self.name)

    def __call__(self, *args, **kwargs):
        return self.function(self.instance, *args, **kwargs)


# ---------------------------------------------------------------- indices

_CUT = "; write `int(..)` around it, which cuts off what is behind the point"
_NEGATIVE = (
    "Negative indices are not supported in Quadrants kernels. Count from the first element: the last one is "
    "`x[x.shape[0] - 1]`, or `v[v.n - 1]` of a vector."
)


def index_expr(x, axis: int):
    """One index as an i32 expression. A constant keeps its value, also where that is no i32: no cell has it."""
    return narrowed(index_value(x, axis))


def narrowed(e):
    """An integer as i32; a constant keeps its value."""
    return Const(int(e.value), i32) if isinstance(e, Const) else typed.cast_expr(e, i32)


def index_value(x, axis: int):
    """One index as an expression of i32, or of a dtype that has values which i32 does not hold."""
    x = typed.unboxed(x)
    if isinstance(x, Value):
        e = x.expr
        if not isinstance(e.type, DType) or e.type.is_real:
            told = f"indices must be integers, however '{e.type}' is provided as index {axis}"
            raise QuadrantsTypeError(told + (_CUT if isinstance(e.type, DType) else ""))
        if isinstance(e, Const) and e.value < 0:
            raise QuadrantsSyntaxError(_NEGATIVE)
        return e if _exceeds_i32(e.type) else typed.cast_expr(e, i32)
    if isinstance(x, (int, np.integer, np.bool_)):
        if x < 0:
            raise QuadrantsSyntaxError(_NEGATIVE)
        return Const(int(x), i32 if x <= i32.max else i64 if x <= i64.max else u64)
    if isinstance(x, (float, np.floating)):
        raise QuadrantsTypeError(
            f"indices must be integers, however '{scope.default_fp()}' is provided as index {axis}{_CUT}"
        )
    raise QuadrantsTypeError(f"indices must be integers, however '{type_name(x)}' is provided as index {axis}")


def _exceeds_i32(t: DType) -> bool:
    return t.is_integral and t.max > i32.max


def may_exceed_i32(e) -> bool:
    """Whether an integer expression may have a value that i32 does not hold."""
    return not i32.min <= e.value <= i32.max if isinstance(e, Const) else _exceeds_i32(e.type)


def flatten_indices(indices) -> list:
    """`x[i, j]`, `x[[i, j]]`, `x[I]`, `x[I, k]` and `x[None]` all become one flat list."""
    out = []
    for x in indices:
        if x is None:
            continue
        if isinstance(x, Value) and x.is_tensor:
            if len(x.shape) != 1:
                raise QuadrantsIndexError("A matrix cannot be used as an index; use a vector of integers.")
            out.extend(tensor.parts(x))
        elif isinstance(x, (list, tuple)) or getattr(x, "_qd_host_matrix", False):
            out.extend(flatten_indices(list(x)))
        else:
            out.append(x)
    return out


def _static_slice(s: slice, extent: int) -> list:
    for bound in (s.start, s.stop, s.step):
        if isinstance(bound, Value):
            raise QuadrantsCompilationError(
                "Quadrants does not support variables in slice now, please use constant instead of it."
            )
        if bound is not None and bound < 0:
            raise QuadrantsSyntaxError(_NEGATIVE)
    start, stop, step = s.start or 0, extent if s.stop is None else s.stop, s.step or 1
    if stop > extent or start > extent:
        raise QuadrantsIndexError(f"slice {start}:{stop} is out of range for an axis of extent {extent}")
    return list(range(int(start), int(stop), int(step)))


def _check_constant(e, extent: int, axis: int):
    if isinstance(e, Const) and e.value >= extent:
        raise QuadrantsIndexError(f"index {e.value} is out of range for axis {axis} with {extent} elements")


def subscript(v: Value, indices: tuple) -> Value:
    """`v[i]`, `m[i, j]` and slices; keeps the place so that the result can be assigned."""
    if not v.is_tensor:
        raise QuadrantsTypeError(f"A value of type {v.type} cannot be indexed.")
    shape = v.shape
    flat = flatten_indices(indices)
    if len(flat) != len(shape):
        cure = " A row of a matrix is m[i, :], a column m[:, j]." if len(shape) == 2 else ""
        raise QuadrantsIndexError(f"Expected {len(shape)} indices, got {len(flat)}.{cure}")
    if any(isinstance(x, slice) for x in flat):
        return _slice(v, flat, shape)
    return component(*_once(v, _within(v, flat, shape)))


def _once(v: Value, indices: tuple) -> tuple:
    """The same where the components of `v` lie apart, and only the launch knows which it is: each of them is written
    with all these indices, so those have names first."""
    tracer, cell = scope.current(), v.place
    apart = isinstance(cell, Cell) and cell.array.components is not None
    if not apart or tracer is None or all(isinstance(e, Const) for e in indices):
        return v, indices
    place = replace(cell, indices=tuple(tracer.temp(Value(e)).expr for e in cell.indices))
    return Value(Load(place, v.type), place, v.immutable), tuple(tracer.temp(Value(e)).expr for e in indices)


def _within(v: Value, indices: list, shape: tuple, first: int = 0) -> tuple:
    """Indices of components, from axis `first` on, as the array of `v` asks for them: clamped, checked, or cut."""
    values = tuple(index_value(x, k) for k, x in enumerate(indices, first))
    whole = _whole(v)
    if whole is not None and _is_clamped(whole.place):
        return clamped(values, shape)
    for k, (e, extent) in enumerate(zip(values, shape, strict=True), first):
        _check_constant(e, extent, k)
    tracer = scope.current()
    if tracer is None or not tracer.check_bounds or all(isinstance(e, Const) for e in values):
        return tuple(map(narrowed, values))
    values = tracer.check_width(values, ("tensor", shape))
    return tracer.check_tensor_index(tuple(map(narrowed, values)), shape)


def _is_clamped(place) -> bool:
    while isinstance(place, (ElemPlace, MemberPlace)):
        place = place.base
    return isinstance(place, Cell) and place.array.clamp


def clamped(exprs: tuple, extents) -> tuple:
    """Each of these indices limited to `[0, extent - 1]`, as `boundary="clamp"` asks."""
    return tuple(_limited(e, n) for e, n in zip(exprs, extents))


def _limited(e, extent):
    """Compared in the dtype of `e`: what i32 does not hold is outside, and is not cut to an index that exists."""
    if isinstance(extent, int):
        if isinstance(e, Const):
            return Const(min(e.value, extent - 1), i32)
        last = Value(Const(extent - 1, i32))
    else:
        last = typed.binary("sub", Value(extent), Value(Const(1, i32)))
    return limited(e, Value(Const(0, i32)), last)


def limited(e, first: Value, last: Value):
    inside = typed.binary("max", typed.binary("min", Value(e), last), first)
    return typed.cast_expr(inside.expr, i32)


def saturated(e):
    """An index to be limited between any i32: what i32 does not hold becomes its end, as an i64."""
    if not may_exceed_i32(e):
        return e
    found = typed.binary("min", Value(e), Value(Const(i32.max, e.type)))
    if e.type.is_signed:
        found = typed.binary("max", found, Value(Const(i32.min, e.type)))
    return typed.cast_expr(found.expr, i64)


def component(v: Value, exprs: tuple) -> Value:
    t = v.type.dtype
    if v.place is not None:
        place = ElemPlace(v.place, exprs, t)
        return Value(Load(place, t), place, v.immutable)
    if isinstance(v.expr, Make) and all(isinstance(e, Const) for e in exprs):
        flat = exprs[0].value if len(exprs) == 1 else exprs[0].value * v.shape[1] + exprs[1].value
        return v.targets[flat] if isinstance(v, SlicedValue) else Value(v.expr.parts[flat])
    if isinstance(v, SlicedValue) and v.whole is not None:
        places = [target.place for target in v.targets]
        return component(*_once(v.whole, views.indices(places, v.shape[-1], tuple(map(_hold, exprs)))))
    return Value(Elem(v.expr, exprs, t), None, v.immutable)


class SlicedValue(Value):
    """Several components of one value; `targets` lists them row-major so that a slice can be assigned. whole: what has
    them, None where they are no places.
    """

    __slots__ = ("targets", "whole")


def _whole(v: Value) -> Value | None:
    """What its components are parts of, None where they are no places."""
    return v.whole if isinstance(v, SlicedValue) else v if v.place is not None else None


def _picked(v: Value, whole: Value | None, components: list, shape: tuple) -> SlicedValue:
    if whole is None:  # of a temporary, which has no name
        components = [Value(component.expr) for component in components]
    return _view(whole, components, tensor_type(shape, v.type.dtype), v.immutable)


def _view(whole: Value | None, targets: list, t: TensorType, immutable: str) -> SlicedValue:
    out = SlicedValue(Make(tuple(target.expr for target in targets), t), None, immutable)
    out.targets, out.whole = targets, whole
    return out


def moved(v: SlicedValue, find, by_place: bool = True) -> SlicedValue:
    """The same components of what `find` gives for a value. by_place: of its place, as it will be; else they are copies
    where `find` copies.
    """
    if by_place and v.whole is not None:
        whole = find(v.whole)
        if whole is v.whole:
            return v
        return _view(whole, [component(whole, target.place.indices) for target in v.targets], v.type, v.immutable)
    targets = [find(target) for target in v.targets]
    same = all(a is b for a, b in zip(targets, v.targets))
    return v if same else _view(None, targets, v.type, v.immutable)


def _slice(v: Value, flat: list, shape: tuple) -> Value:
    whole = _whole(v)
    if v.place is None and not (isinstance(v, SlicedValue) and _stays(v, flat)):
        v = tensor.temp(v)
    axes = [_static_slice(x, shape[k]) if isinstance(x, slice) else [x] for k, x in enumerate(flat)]
    axes = [[_hold(_within(v, [x], (shape[k],), k)[0]) for x in axis] for k, axis in enumerate(axes)]
    if len(axes) == 1:
        picked = [component(v, (e,)) for e in axes[0]]
    else:
        picked = [component(v, (a, b)) for a in axes[0] for b in axes[1]]
    result_shape = tuple(len(axes[k]) for k, x in enumerate(flat) if isinstance(x, slice))
    return _picked(v, whole, picked, result_shape)


def _stays(v: SlicedValue, indices: list) -> bool:
    """Whether it has components at these indices, and is not copied for them."""
    return v.whole is not None or not any(isinstance(x, Value) for x in indices)


def _hold(e):
    return e if isinstance(e, Const) else tensor.temp(Value(e)).expr


# ---------------------------------------------------------------- swizzles and members


def swizzle_indices(name: str, extent: int):
    """Component numbers of a swizzle word, or None if `name` is none."""
    if not 1 <= len(name) <= 4:
        return None
    for letters in SWIZZLES:
        if all(c in letters for c in name):
            valid = letters[:extent]
            if any(c not in valid for c in name):
                raise QuadrantsSyntaxError(f"vec{extent} only has attributes={tuple(sorted(valid))}, got={tuple(name)}")
            return [letters.index(c) for c in name]
    return None


def _swizzle(v: Value, name: str):
    if any(all(c in letters for c in name) for letters in SWIZZLES) and 1 <= len(name) <= 4:
        if v.is_scalar:
            raise QuadrantsCompilationError(
                f"Getting shape of non-tensor type: {v.type}, a number, has no .{name}: vectors have"
            )
        if len(v.shape) == 2:
            raise QuadrantsIndexError("Expected 2 indices, got 1. A matrix has no swizzles.")
    if not v.is_tensor or len(v.shape) != 1:
        return None
    indices = swizzle_indices(name, v.shape[0])
    if indices is None:
        return None
    whole = _whole(v)
    if len(indices) > 1 and v.place is None and not isinstance(v.expr, Make):
        v = tensor.temp(v)
    picked = [component(v, (Const(i, i32),)) for i in indices]
    if len(picked) == 1:
        return picked[0]
    return _picked(v, whole, picked, (len(picked),))


def member(v: Value, name: str):
    t = v.type.member(name)
    if v.place is not None:
        place = MemberPlace(v.place, name, t)
        return Value(Load(place, t), place, v.immutable)
    if isinstance(v.expr, Make):
        return Value(v.expr.parts[[k for k, _ in v.type.members].index(name)])
    return Value(Member(v.expr, name, t))


def attribute(v: Value, name: str):
    """`v.name` for a run-time value: struct member, struct method, swizzle, tensor method or extent."""
    t = v.type
    if isinstance(t, StructType):
        if t.member(name) is not None:
            return member(v, name)
        method = (t.methods or {}).get(name)
        if method is not None:
            return scope.require().bind_struct_method(method, v)
        row = unpacked_row([k for k, _ in t.members], name, lambda key: member(v, key))
        if row is not None:
            return row
        raise QuadrantsCompilationError(f"The struct has no member '{name}'; it has {[k for k, _ in t.members]}")
    if name in _METHODS:
        if not isinstance(t, TensorType):
            raise QuadrantsCompilationError(f"not tensor type: a value of type {t} has no method '{name}'")
        return KernelMethod(_METHODS[name], v, name)
    if isinstance(t, TensorType):
        if name == "n":
            return t.shape[0]
        if name == "m":
            if len(t.shape) < 2:
                raise QuadrantsCompilationError("Getting m of tensor type < 2D")
            return t.shape[1]
    result = _swizzle(v, name)
    if result is None:
        raise QuadrantsCompilationError(f"A value of type {t} has no attribute '{name}'{_meant(t, name)}")
    return result


def _meant(t, name: str) -> str:
    if name in ("astype", "to", "type"):
        return "; write `qd.cast(x, qd.f32)`, with the dtype that is wanted"
    if isinstance(t, TensorType):
        return "; write `v.n`, the number of rows" if name in ("shape", "size") else spelling.hint(name, _METHODS)
    return ""


def iterate(v: Value) -> list:
    """Elements of a vector; rows of a matrix, each a list of scalars; members of a struct."""
    if v.is_struct:
        held = tensor.temp(v)
        return [member(held, k) for k, _ in v.type.members]
    if not v.is_tensor:
        raise QuadrantsTypeError(f"A value of type {v.type} is not iterable.")
    flat = tensor.parts(v)
    if len(v.shape) == 1:
        return flat
    m = v.shape[1]
    return [flat[i * m : (i + 1) * m] for i in range(v.shape[0])]


def _fill(v: Value, val) -> None:
    scope.require().assign_to(v, val)


def _cast_method(v: Value, dtype):
    return typed.cast(v, scope.require().resolve_dtype(dtype))


_METHODS = {
    "dot": tensor.dot,
    "cross": tensor.cross,
    "outer_product": tensor.outer_product,
    "frobenius_inner": tensor.frobenius_inner,
    "norm": tensor.norm,
    "norm_sqr": tensor.norm_sqr,
    "norm_inv": tensor.norm_inv,
    "normalized": tensor.normalized,
    "transpose": tensor.transpose,
    "determinant": tensor.determinant,
    "inverse": tensor.inverse,
    "trace": tensor.trace,
    "sum": lambda v: tensor.reduce("sum", v),
    "max": lambda v: tensor.reduce("max", v),
    "min": lambda v: tensor.reduce("min", v),
    "any": lambda v: tensor.reduce("any", v),
    "all": lambda v: tensor.reduce("all", v),
    "fill": _fill,
    "cast": _cast_method,
    "get_shape": lambda v: v.shape,
}


def in_bounds(exprs, extents):
    """`0 <= e < extent` for every axis, as one u1 expression; the unsigned comparison covers both ends."""
    from quadrants.ir.types import u32

    test = None
    for e, n in zip(exprs, extents):
        bound = n if not isinstance(n, int) else Const(n, u32)
        below = Binary("lt", Cast(e, u32), typed.cast_expr(bound, u32), u1)
        test = below if test is None else Binary("logic_and", test, below, u1)
    return test if test is not None else Const(1, u1)


def fit_indices(exprs):
    """Whether these integers keep their values as i32, as one u1 expression."""
    return functools.reduce(lambda a, b: Binary("logic_and", a, b, u1), map(_fits_i32, exprs))


def _fits_i32(e):
    if isinstance(e, Const):
        return Const(int(not may_exceed_i32(e)), u1)
    if e.type.is_signed:
        return Binary("eq", Cast(Cast(e, i32), e.type), e, u1)
    return Binary("le", e, Const(i32.max, e.type), u1)


def constant_of(x):
    """The Python number behind a constant Value, or None."""
    return x.expr.value if isinstance(x, Value) and isinstance(x.expr, Const) else None


__all__ = ["KernelMethod", "SlicedValue", "attribute", "component", "constants", "subscript"]
