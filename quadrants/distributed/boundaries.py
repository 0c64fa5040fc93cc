"""What is behind the closed faces of a global array: a function of the user sets it after each exchange."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from quadrants.distributed import arrays
from quadrants.errors import QuadrantsRuntimeError
from quadrants.tapes import recording

if TYPE_CHECKING:
    from quadrants.distributed.grid import Grid

Boundary = Callable[..., Any]
# How many arguments functions were found to take: to look takes longer than an exchange.
_fitting: weakref.WeakKeyDictionary[Any, set[int]] = weakref.WeakKeyDictionary()


def check(grid: Grid, given: Sequence[Any], boundary: Any, backward: bool = False) -> None:
    """TypeError for what cannot be called so, also where there is no closed face. QuadrantsRuntimeError for what has no
    gradient, if that is what is called.
    """
    if not callable(boundary):
        raise TypeError(
            f"boundary={boundary!r} must be a kernel or function of the arrays, axis, high and the box of halo cells, "
            "as grid.closed_faces() gives them"
        )
    _has_offset(given)
    if backward:
        _gradient_of(boundary)
    count = len(given) + 2 + 2 * len(grid.shape)
    function = getattr(boundary, "__func__", boundary)  # methods, kernels too, have what they are bound to first
    fitting = _known(function)
    if count in fitting:
        return
    try:
        with suppress(ValueError):  # functions of C may not tell
            inspect.signature(function).bind(*range(count + (function is not boundary)))
    except TypeError as error:
        name = getattr(boundary, "__qualname__", repr(boundary))
        raise TypeError(
            f"boundary={name} is called once with all arrays, axis, high and the begin and end of the box along each "
            f"axis, {count} arguments here: {error}"
        ) from None
    fitting.add(count)


def _known(function: Any) -> set[int]:
    try:
        return _fitting.setdefault(function, set())
    except TypeError:  # without a hash, or weak references
        return set()


def apply(grid: Grid, given: Sequence[Any], axes: Any, boundary: Boundary) -> None:
    """Call it for each closed face of this rank, low before high, axis by axis."""
    with recording.paused():  # part of the exchange, which is recorded as a whole, also where it ends later
        for face in _faces(grid, given, axes):
            boundary(*given, *face)


def apply_gradient(grid: Grid, given: Sequence[Any], axes: Any, boundary: Boundary) -> None:
    """Its gradient, faces in reverse."""
    with recording.paused():
        for face in reversed([*_faces(grid, given, axes)]):
            _gradient_of(boundary)(*given, *face)


def _gradient_of(boundary: Boundary) -> Callable[..., Any]:
    gradient: Callable[..., Any] | None = getattr(boundary, "grad", None)
    if gradient is None:
        name = getattr(boundary, "__qualname__", repr(boundary))
        raise QuadrantsRuntimeError(
            f"boundary={name} of an exchange is a Python function, and what its gradient is nobody knows. Pass a "
            "kernel, or decorate it with @qd.ad.grad_replaced and write its gradient with @qd.ad.grad_for."
        )
    return gradient


def _faces(grid: Grid, given: Sequence[Any], axes: Any) -> Iterator[tuple[int, ...]]:
    wanted = grid._exchanges.read_axes(axes)
    for axis, high, box in grid.closed_faces(offset=_has_offset(given)):
        if wanted is None or axis in wanted:
            yield (axis, high, *box)


def _has_offset(given: Sequence[Any]) -> bool:
    """Whether kernels index the arrays by global cells. ValueError where some alone do."""
    found = {getattr(arrays.unwrapped(array), "_offset", None) is not None for array in given}
    if len(found) > 1:
        raise ValueError(
            "boundary= has one box for all arrays of an exchange, and kernels index some of these from 0 and others "
            "by global cells: exchange arrays with offset=True and others apart"
        )
    return found == {True}
