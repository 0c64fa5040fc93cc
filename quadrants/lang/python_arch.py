"""What functions of kernel scope do after `qd.init(qd.python)`, when a kernel runs as the Python function it is.

The target of an atomic operation is then an element that can be written: a 0-d array or tensor, or a live vector or
matrix.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.host_math import apply
from quadrants.lang.matrix import Matrix, Vector
from quadrants.lang.ndrange import NDRange


def call(name: str, args: tuple, kwargs: dict) -> Any:
    """The result of the kernel function `name`; NotImplementedError if plain Python has no counterpart."""
    if name not in _MEANING:
        raise NotImplementedError(f"qd.{name} is not available on the python arch")
    return _MEANING[name](*args, **kwargs)


def _grouped(x: Any) -> Any:
    if isinstance(x, NDRange):
        return x.grouped()
    return (Vector._wrap(np.array(at, dtype=np.int64)) for at in np.ndindex(*x.shape))


def _nothing(*args: Any, **kwargs: Any) -> None:
    pass


def _first(x: Any, *args: Any, **kwargs: Any) -> Any:
    return x


def _bit_shr(a: Any, b: Any) -> Any:
    def shift(x, count):
        x = np.asarray(x)
        if x.dtype.kind == "i":
            x = x.view(f"u{x.dtype.itemsize}")
        return (x >> count)[()]

    return apply(shift, a, b)


def _replace(name: str, x: Any, value: Any) -> Any:
    """Write `value` to the element `x`; returns what was there."""
    if isinstance(x, Matrix):
        old = copy.copy(x)
        x._store(..., value._data if isinstance(value, Matrix) else value)
        return old
    place = getattr(x, "_place", None)
    if place is not None:
        items, at = place
        old, items[at] = items[at], value
        return old
    if getattr(x, "ndim", None) != 0 or not hasattr(x, "__setitem__"):
        raise QuadrantsSyntaxError(f"cannot use a non-writable target as the first operand of '{name}'")
    old = x.item()
    x[...] = value
    return old


def _atomic(name: str, combine: Callable) -> Callable:
    return lambda x, y: _replace(name, x, combine(_current(x), y))


def _current(x: Any) -> Any:
    """What is in memory where `x` was read."""
    place = getattr(x, "_place", None)
    return x if place is None else place[0][place[1]]


def _cas(x: Any, expected: Any, desired: Any) -> Any:
    return _replace("atomic_cas", x, desired if _current(x) == expected else _current(x))


def _random(dtype: Any = float) -> Any:
    """One draw: reals in [0, 1), 32- and 64-bit integers from all their values."""
    from quadrants.lang.primitive_types import resolve_dtype, to_numpy_type

    dt = resolve_dtype(dtype)
    if dt.name not in ("f16", "f32", "f64", "i32", "u32", "i64", "u64"):
        raise QuadrantsTypeError(f"qd.random gives f16, f32, f64 and integers of 32 and 64 bits, not {dt}")
    kind, rng = np.dtype(to_numpy_type(dt)).type, _generator()
    if dt.is_real:
        bits = {"f16": 11, "f32": 24, "f64": 53}[dt.name]
        return kind(rng.integers(0, 1 << bits) / (1 << bits))
    return kind(rng.integers(dt.min, dt.max, dtype=kind, endpoint=True))


_random_state: list = [None, None]


def _generator() -> np.random.Generator:
    """The generator of this runtime, seeded by `qd.init(random_seed=)`."""
    from quadrants import session

    options = session.get_runtime().options
    if _random_state[0] is not options:
        _random_state[:] = options, np.random.default_rng(options.random_seed)
    return _random_state[1]


_MEANING: dict[str, Callable] = {
    "grouped": _grouped,
    "static_print": print,
    "random": _random,
    "zero": lambda x: x * 0,
    "one": lambda x: x * 0 + 1,
    "bit_shr": _bit_shr,
    "global_thread_idx": lambda: 0,
    "volatile_load": _first,
    "atomic_add": _atomic("atomic_add", operator.add),
    "atomic_sub": _atomic("atomic_sub", operator.sub),
    "atomic_mul": _atomic("atomic_mul", operator.mul),
    "atomic_and": _atomic("atomic_and", operator.and_),
    "atomic_or": _atomic("atomic_or", operator.or_),
    "atomic_xor": _atomic("atomic_xor", operator.xor),
    "atomic_max": _atomic("atomic_max", lambda x, y: apply(np.maximum, x, y)),
    "atomic_min": _atomic("atomic_min", lambda x, y: apply(np.minimum, x, y)),
    "atomic_exchange": _atomic("atomic_exchange", lambda x, y: y),
    "atomic_cas": _cas,
    "isnan": lambda x: apply(np.isnan, x),
    "isinf": lambda x: apply(np.isinf, x),
    "assume_in_range": _first,
    "loop_unique": _first,
}
for _hint in ("loop_config", "block_local", "cache_read_only", "mesh_local", "no_activate"):
    _MEANING[_hint] = _nothing
