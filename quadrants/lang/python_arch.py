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

from quadrants.errors import QuadrantsSyntaxError
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
    if getattr(x, "ndim", None) != 0 or not hasattr(x, "__setitem__"):
        raise QuadrantsSyntaxError(f"cannot use a non-writable target as the first operand of '{name}'")
    old = x.item()
    x[...] = value
    return old


def _atomic(name: str, combine: Callable) -> Callable:
    return lambda x, y: _replace(name, x, combine(x, y))


def _cas(x: Any, expected: Any, desired: Any) -> Any:
    return _replace("atomic_cas", x, desired if x == expected else x)


_MEANING: dict[str, Callable] = {
    "grouped": _grouped,
    "static_print": print,
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
    "assume_in_range": _first,
    "loop_unique": _first,
}
for _hint in ("loop_config", "block_local", "cache_read_only", "mesh_local", "no_activate"):
    _MEANING[_hint] = _nothing
