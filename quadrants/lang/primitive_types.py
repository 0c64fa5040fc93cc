"""Primitive types as a user sees them: names, aliases, NumPy counterparts, and what `int` and `float` stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from quadrants.errors import QuadrantsSyntaxError
from quadrants.ir import types as ir
from quadrants.ir.types import DType, f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64
from quadrants.lang import kernel_hook

float16, float32, float64 = f16, f32, f64
int8, int16, int32, int64 = i8, i16, i32, i64
uint1, uint8, uint16, uint32, uint64 = u1, u8, u16, u32, u64

# Python's own types are members because they are accepted wherever a dtype is; client code tests `t in real_types`.
real_types = {f16, f32, f64, float}
integer_types = {i8, i16, i32, i64, u1, u8, u16, u32, u64, int, bool}
all_types = real_types | integer_types
type_ids = {id(t) for t in all_types}

_NUMPY = {t: np.dtype(t.numpy_name) for t in ir.PRIMITIVES.values()}
_FROM_NUMPY = {d: t for t, d in _NUMPY.items()}
_BEFORE_INIT = {"default_fp": f32, "default_ip": i32, "default_up": u32}


class DefaultDType:
    """A dtype that `qd.init` decides: resolved at each use, so that it follows a later `qd.init`."""

    __slots__ = ("option",)

    def __init__(self, option: str):
        self.option = option

    def resolve(self) -> DType:
        return _default(self.option)

    def __repr__(self) -> str:
        return self.option

    def __reduce__(self):
        return (_default_dtype, (self.option,))


DEFAULT_FP = DefaultDType("default_fp")
DEFAULT_IP = DefaultDType("default_ip")
DEFAULT_UP = DefaultDType("default_up")
_DEFAULTS = {d.option: d for d in (DEFAULT_FP, DEFAULT_IP, DEFAULT_UP)}
_PYTHON = {float: DEFAULT_FP, int: DEFAULT_IP}


def _default_dtype(option: str) -> DefaultDType:
    return _DEFAULTS[option]


def _default(option: str) -> DType:
    from quadrants import session

    return getattr(session.get_runtime(), option, None) or _BEFORE_INIT[option]


def default_fp() -> DType:
    """Real dtype of Python floats: the `default_fp` of the last `qd.init`, f32 before it."""
    return _default("default_fp")


def default_ip() -> DType:
    """Signed dtype of Python ints: the `default_ip` of the last `qd.init`, i32 before it."""
    return _default("default_ip")


def default_up() -> DType:
    """Unsigned dtype as wide as `default_ip`."""
    return _default("default_up")


def is_dtype_like(x: Any) -> bool:
    """Does `x` name a primitive type: a dtype, `int`, `float` or `bool`?"""
    return isinstance(x, (DType, DefaultDType)) or x in (int, float, bool)


def resolve_dtype(x: Any) -> DType:
    """The primitive type `x` stands for now: a dtype itself, `float`, `int` (by `qd.init`) or `bool` (u1).

    Raises ValueError for anything else.
    """
    if isinstance(x, DType):
        return x
    if x is float or x is int:
        return _PYTHON[x].resolve()
    if x is bool:
        return u1
    if isinstance(x, DefaultDType):
        return x.resolve()
    raise ValueError(f"Invalid data type {x}. Use a primitive type such as qd.f32 or qd.i32, or int, float, bool.")


def kept_dtype(x: Any) -> DType:
    """`resolve_dtype` for a type that stays what it is; `qd.init` warns where it came too late for `float` or `int`."""
    if x is float or x is int:
        from quadrants import session, startup

        if session.get_runtime().arch is None:
            startup.note_early(_PYTHON[x].option)
    return resolve_dtype(x)


def to_numpy_type(dt: Any) -> np.dtype:
    """NumPy dtype with the storage of `dt` (u1 is `bool`)."""
    return _NUMPY[resolve_dtype(dt)]


def from_numpy_type(dtype: Any) -> DType:
    """Primitive type of a NumPy dtype; TypeError if there is none (complex, object, string, other byte order)."""
    found = _FROM_NUMPY.get(np.dtype(dtype))
    if found is None or not np.dtype(dtype).isnative:
        names = ", ".join(map(str, _NUMPY.values()))
        raise TypeError(f"NumPy dtype {np.dtype(dtype)} has no primitive type. Use one of {names}.")
    return found


def is_real(dt: DType) -> bool:
    """Is `dt` one of f16, f32, f64?

    qd.types.is_real(qd.f32)  # True
    """
    return dt.is_real


def is_integral(dt: DType) -> bool:
    """Is `dt` an integer type (u1 included)?

    qd.types.is_integral(qd.i32)  # True
    """
    return dt.is_integral


def is_signed(dt: DType) -> bool:
    """Can `dt` hold negative numbers?

    qd.types.is_signed(qd.u8)  # False
    """
    return dt.is_signed


def is_tensor(dt: Any) -> bool:
    """Is `dt` the type of a small vector or matrix, not of a scalar?

    qd.types.is_tensor(qd.f32)  # False
    """
    return isinstance(dt, ir.TensorType)


def host_cast_error(dt: DType, *args: Any, **kwargs: Any) -> None:
    """What calling a dtype means in Python scope: always QuadrantsSyntaxError."""
    raise QuadrantsSyntaxError(
        "Quadrants data types cannot be called outside Quadrants kernels. "
        f"In Python scope use `np.{dt.numpy_name}(...)` or `qd.cast(x, qd.{dt.name})`."
    )


def call_dtype(dt: DType, *args: Any, **kwargs: Any) -> Any:
    """`qd.f32(x)`: a typed literal or cast in kernels, a cast on the python arch, else QuadrantsSyntaxError."""
    if kernel_hook.in_kernel() or kernel_hook.has_value(args):
        return kernel_hook.dispatch("dtype", (dt, *args), kwargs)
    if kernel_hook.python_arch():
        from quadrants.lang.casts import cast

        return cast(*args, dt)
    return host_cast_error(dt, *args, **kwargs)


DType.call_hook = call_dtype


__all__ = [
    "float32", "f32", "float64", "f64", "float16", "f16", "int8", "i8", "int16", "i16", "int32", "i32", "int64", "i64",
    "uint1", "u1", "uint8", "u8", "uint16", "u16", "uint32", "u32", "uint64", "u64",
    "real_types", "integer_types", "all_types", "type_ids",
]  # fmt: skip
