"""`qd.random_at`: random numbers that depend on a key and on counters alone, by Philox4x32-10.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, SC'11.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quadrants.errors import QuadrantsTypeError
from quadrants.ir.types import DType, f16, f32, f64, i32, i64, u32, u64
from quadrants.lang.annotations import template
from quadrants.lang.casts import cast
from quadrants.lang.control import static
from quadrants.lang.described import type_name
from quadrants.lang.func import func
from quadrants.lang.primitive_types import resolve_dtype
from quadrants.lang.value import Value

_TYPES = (f16, f32, f64, i32, u32, i64, u64)
_ROUNDS = 10
# What the two factors and the two steps of the key are in the paper.
_FACTOR_0, _FACTOR_1 = 0xD2511F53, 0xCD9E8D57
_STEP_0, _STEP_1 = 0x9E3779B9, 0xBB67AE85


def _resolve(dtype: Any) -> DType:
    found = resolve_dtype(dtype)
    if found not in _TYPES:
        raise QuadrantsTypeError(f"qd.random_at does not support {found}; use one of {', '.join(map(str, _TYPES))}.")
    return found


def _whole(x: Any, name: str, bits: int) -> Any:
    """`x`, an integer of at most so many bits. QuadrantsTypeError for anything else."""
    if isinstance(x, Value) and x.is_scalar:
        fits = x.type.is_integral and x.type.bits <= bits
        found = str(x.type)
    elif isinstance(x, (np.integer, np.bool_)):
        fits, found = x.dtype.itemsize * 8 <= bits, str(x.dtype)
    elif isinstance(x, int):
        fits, found = -(1 << (bits - 1)) <= x < 1 << bits, repr(x)
    else:
        fits, found = False, str(getattr(x, "type", type_name(x)))
    if not fits:
        advice = f"qd.cast({name}, qd.i32), if it is small enough" if bits == 32 else f"qd.cast({name}, qd.i64)"
        raise QuadrantsTypeError(
            f"qd.random_at: {name} must be an integer of at most {bits} bits, not {found}: {advice}"
        )
    return x


@func
def _product(factor: template(), x):
    return u64(factor) * cast(x, u64)


@func
def _sum(step: template(), x):
    """Of 32 bits, without the carry: wide, as plain Python warns of it."""
    return cast(u64(step) + cast(x, u64), u32)


@func
def _high(x):
    return cast(x >> 32, u32)


@func
def _both(high, low):
    return cast(high, u64) << 32 | cast(low, u64)


@func
def _words(key, i, j, k, draw):
    """The first two of the four words of 32 bits, which are all that is needed."""
    key_0, key_1 = cast(key, u32), _high(key)
    a, b, c, d = i, j, k, draw
    for _ in static(range(_ROUNDS)):
        low, high = _product(_FACTOR_0, a), _product(_FACTOR_1, c)
        a, b, c, d = _high(high) ^ b ^ key_0, cast(high, u32), _high(low) ^ d ^ key_1, cast(low, u32)
        key_0, key_1 = _sum(_STEP_0, key_0), _sum(_STEP_1, key_1)
    return a, b


@func
def random_at(key, i, j=0, k=0, draw=0, dtype: template() = float):
    """A random number that depends on the arguments alone: not on the launch, the thread, the device or the rank.

    For results that stay the same on any number of ranks or threads: count by global cells, or by numbers of particles.
    Equal arguments give equal numbers; arguments that differ in any place give independent ones.

    key: integer of up to 64 bits: a seed. i, j, k: integers of up to 32 bits, such as the indices of a cell and the
    number of a step. draw: likewise; which of several numbers at the same place. dtype: f16, f32, f64 (or float):
    uniform in [0, 1), where f16 and f32 are the leading digits of f64; i32, u32, i64, u64 (or int): uniform over all
    values, where those of 64 bits begin with those of 32. Other types are a QuadrantsTypeError.

    Kernel scope only. The sequence is that of Philox4x32-10, with the counter (i, j, k, draw).

        x[i] = qd.random_at(42, i)
        x[i] = qd.random_at(42, i, draw=1, dtype=qd.f32)
    """
    first, second = _words(
        cast(_whole(key, "key", 64), u64),
        cast(_whole(i, "i", 32), u32),
        cast(_whole(j, "j", 32), u32),
        cast(_whole(k, "k", 32), u32),
        cast(_whole(draw, "draw", 32), u32),
    )
    if static(_resolve(dtype) == f16):
        return cast(cast(first >> 21, f32) * cast(2.0**-11, f32), f16)
    elif static(_resolve(dtype) == f32):
        return cast(first >> 8, f32) * cast(2.0**-24, f32)
    elif static(_resolve(dtype) == f64):
        return cast(_both(first, second) >> 11, f64) * cast(2.0**-53, f64)
    elif static(_resolve(dtype).bits == 64):
        return cast(_both(first, second), _resolve(dtype))
    else:
        return cast(first, _resolve(dtype))
