"""Sums and the like of fields and ndarrays over ranks, and what becomes of their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from quadrants import ad
from quadrants._ext import core
from quadrants.distributed import arrays, spaces
from quadrants.distributed.engines.interface import Engine
from quadrants.errors import QuadrantsRuntimeError


@ad.grad_replaced
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
            _combine(engine, part, op)
            continue
        own = part.copy()
        whole = own.copy()
        engine.allreduce(whole, op)
        part.store(whole)
        holds.append(_first_that_has(engine, own, whole))


@ad.grad_for(reduce)
def _reduce_grad(engine: Engine, array: Any, op: str, holds: list[np.ndarray[Any, Any]]) -> None:
    inner = arrays.unwrapped(array)
    if not inner.has_grad():
        return
    for k, part in enumerate(arrays.parts_of(inner.grad, space=spaces.of(engine))):
        _combine(engine, part, "sum")
        if op != "sum":
            slope = part.copy()
            part.store(np.where(holds[k], slope, 0).astype(slope.dtype))


def _combine(engine: Engine, part: arrays.Part, op: str) -> None:
    """In place where the engine takes the memory of the part, else by way of the host."""
    if part.view is not None and part.view.flags.c_contiguous:
        with part.space.in_order():
            engine.allreduce(part.view, op)
        return
    whole = part.copy()
    engine.allreduce(whole, op)
    part.store(whole)


def _first_that_has(engine: Engine, own: np.ndarray[Any, Any], whole: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Where this rank is the first one with the value."""
    first = np.where(own == whole, engine.rank, engine.size).astype(np.int64)
    engine.allreduce(first, "min")
    found: np.ndarray[Any, Any] = first == engine.rank
    return found
