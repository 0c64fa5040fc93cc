"""Sums and the like of numbers and arrays over ranks, and what becomes of their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from quadrants import ad
from quadrants._ext import core
from quadrants.distributed import agreement, arrays, spaces, under_way
from quadrants.distributed.engines.interface import Engine
from quadrants.distributed.replaced import grad_replaced
from quadrants.errors import QuadrantsRuntimeError

_WHOLE = (int, np.integer, np.bool_)
_REAL = (float, np.floating)
_WIDEST = 8  # bytes of a number that engines combine
_LOW = 32  # bits of the lower word of an integer
_LARGEST = 1 << 63
# Of truth values as NumPy's: their sum is or, their product and.
_OF_BOOL = {"sum": "max", "prod": "min", "min": "min", "max": "max"}
_OF_WHOLE: dict[str, Callable[[list[int]], int]] = {"sum": sum, "prod": math.prod, "min": min, "max": max}


def allreduce(engine: Engine, x: Any, op: str) -> Any:
    """As `World.allreduce`."""
    if isinstance(x, _WHOLE):
        _compare(engine, op, "an int")
        return _whole(engine, int(x), op)
    if isinstance(x, _REAL) and np.dtype(type(x)).itemsize <= _WIDEST:
        _compare(engine, op, "a float")
        real = np.array([x], np.float64)
        _combine(engine, np, real, op)
        return real[0].item()
    if isinstance(x, np.ndarray) and x.dtype.kind in "buif" and x.dtype.itemsize <= _WIDEST:
        _compare(engine, op, f"a NumPy array of {x.dtype.newbyteorder('=')} of shape {x.shape}")
        whole = np.array(x, x.dtype.newbyteorder("="), order="C")
        _combine(engine, np, whole, op)
        return whole
    if not arrays.is_array(x):
        shown = f"an array of {x.dtype}" if isinstance(x, np.ndarray) else f"{type(x).__name__}: {x!r:.60}"
        raise TypeError(
            "allreduce takes an int or a float, a NumPy array of truth values, integers or reals of at most 64 bits, "
            f"or a field, ndarray or tensor, not {shown}. Write np.array(x) for a list, and two arrays, x.real and "
            "x.imag, for complex numbers."
        )
    parts = arrays.parts_of(x)
    shown = ", ".join(f"{part.name or 'array'} {part.dtype}{list(part.element) or ''} {part.shape}" for part in parts)
    _compare(engine, op, shown + (" with gradients" if arrays.unwrapped(x).has_grad() else ""))
    under_way.refuse(parts)
    reduce(engine, x, op, [])
    return x


@grad_replaced(lambda engine, *_: engine)
def reduce(engine: Engine, array: Any, op: str, holds: list[np.ndarray[Any, Any]]) -> None:
    """Overwrite an array with the result. holds: empty; gets where this rank has the minimum or maximum, for a tape."""
    recorded = core.listener() is not None and arrays.unwrapped(array).has_grad()
    if recorded and op == "prod":
        raise QuadrantsRuntimeError(
            "allreduce(x, 'prod') of an array with gradients is not differentiated. Reduce after the tape, or sum "
            "logarithms."
        )
    for part in arrays.parts_of(array, space=spaces.of(engine)):
        if not recorded or op == "sum":
            _combine_part(engine, part, op)
            continue
        own = part.copy()
        whole = own.copy()
        _combine(engine, np, whole, op)
        part.store(whole)
        holds.append(_first_that_has(engine, own, whole))


@ad.grad_for(reduce)
def _reduce_grad(engine: Engine, array: Any, op: str, holds: list[np.ndarray[Any, Any]]) -> None:
    gradient = arrays.gradient_of(array)
    if gradient is None:
        return
    for k, part in enumerate(arrays.parts_of(gradient, space=spaces.of(engine))):
        _combine_part(engine, part, "sum")
        if op != "sum":
            slope = part.copy()
            part.store(np.where(holds[k], slope, 0).astype(slope.dtype))


def _compare(engine: Engine, op: str, shown: str) -> None:
    if agreement.in_debug():
        agreement.agree(engine, "combine the same", f"allreduce {op!r} of {shown}")


def _whole(engine: Engine, x: int, op: str) -> int:
    """Integers of any size. Two words of a sum cannot overflow; the third counts who has more than they hold."""
    if op == "sum":
        fits = abs(x) < _LARGEST
        words = np.array([x >> _LOW, x & ((1 << _LOW) - 1), 0] if fits else [0, 0, 1], np.int64)
        engine.allreduce(words, "sum")
        high, low, larger = words.tolist()
        if not larger:
            return int((high << _LOW) + low)
    return _OF_WHOLE[op](engine.allgather(x))


def _combine(engine: Engine, np_: Any, values: Any, op: str) -> None:
    """Replace a contiguous array. np_: the module of its memory."""
    kind = values.dtype.kind
    if kind == "b":
        engine.allreduce(values.view(np.uint8), _OF_BOOL[op])
    elif kind == "f" and op in ("min", "max"):
        _extreme(engine, np_, values, op)
    else:
        engine.allreduce(values, op)


def _extreme(engine: Engine, np_: Any, values: Any, op: str) -> None:
    """NaN of any rank is NaN, as NumPy's: what engines make of it depends on who has it, so flags go in its place."""
    flag, neutral = (-1, math.inf) if op == "min" else (1, -math.inf)
    missing = np_.isnan(values)
    message = np_.stack([np_.where(missing, neutral, values), missing * flag]).astype(values.dtype)
    engine.allreduce(message, op)
    values[...] = np_.where(message[1] != 0, math.nan, message[0])


def _combine_part(engine: Engine, part: arrays.Part, op: str) -> None:
    """In place where the engine takes the memory of the part, else by way of the host."""
    if part.view is not None and part.view.flags.c_contiguous:
        with part.space.in_order():
            _combine(engine, part.space.numpy, part.view, op)
        return
    whole = part.copy()
    _combine(engine, np, whole, op)
    part.store(whole)


def _first_that_has(engine: Engine, own: np.ndarray[Any, Any], whole: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Where this rank is the first one with the value."""
    has = (own == whole) | ((own != own) & (whole != whole))  # NaN is not equal to itself
    first = np.where(has, engine.rank, engine.size).astype(np.int64)
    engine.allreduce(first, "min")
    found: np.ndarray[Any, Any] = first == engine.rank
    return found
