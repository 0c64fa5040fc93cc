"""Validation of `shape`, `order` and `offset` as the field and ndarray factories take them."""

from __future__ import annotations

import operator

import numpy as np

from quadrants.errors import QuadrantsRuntimeError, QuadrantsSyntaxError

MAX_FIELD_AXES = 12
MAX_ARRAY_AXES = 16
MAX_EXTENT = 2**31 - 1


def field_shape(shape) -> tuple:
    """A tuple of positive Python ints. Extents <= 0: `QuadrantsRuntimeError`; floats, strings: `TypeError`."""
    if isinstance(shape, (int, np.integer)):
        shape = (shape,)
    elif not isinstance(shape, (tuple, list, np.ndarray)):
        raise TypeError(f"shape must be an int or a sequence of ints, not {shape!r}")
    out = tuple(_index(extent, "shape") for extent in shape)
    if len(out) > MAX_FIELD_AXES:
        raise QuadrantsRuntimeError(
            f"Too many dimensions. The maximum dimensionality is {MAX_FIELD_AXES}, got {len(out)}"
        )
    check_extents(out)
    return out


def check_extents(dims: tuple) -> None:
    for axis, extent in enumerate(dims):
        if extent <= 0:
            raise QuadrantsRuntimeError(
                f"Every dimension of a Quadrants field should be positive, got {extent} in dimension {axis}."
            )
        if extent > MAX_EXTENT:
            raise QuadrantsRuntimeError(f"An axis of a field holds at most {MAX_EXTENT} cells, got {extent}.")


def window(offset, size) -> tuple:
    """Offset and size of a view as `int` makes them; `TypeError` for what is no whole number."""
    return _whole("offset", offset), _whole("size", size)


def _whole(name: str, value) -> int:
    try:
        found = int(value)
    except (TypeError, ValueError):
        raise TypeError(f"BufferView needs an int as {name}, not {value!r}") from None
    if not isinstance(value, str) and found != value:
        raise TypeError(f"BufferView needs an int as {name}, not {value!r}: write int(..) or round(..)")
    return found


def ndarray_shape(shape) -> tuple:
    """A tuple of ints in 1 .. 2**31-1; else `QuadrantsRuntimeError` (`is not a valid shape for ndarray`)."""
    given = shape
    if isinstance(shape, (int, np.integer)) and not isinstance(shape, bool):
        shape = (shape,)
    elif isinstance(shape, float):
        given = (shape,)
    try:
        out = tuple(operator.index(extent) for extent in shape)
    except TypeError:
        out = None
    if out is None or not all(1 <= extent <= MAX_EXTENT for extent in out):
        long = out is not None and max(out, default=0) > MAX_EXTENT
        short = out is not None and min(out, default=1) < 1
        advice = f": an axis holds at most {MAX_EXTENT} elements, so use several axes" if long else ""
        advice = ": an axis holds at least 1 element" if short else advice
        raise QuadrantsRuntimeError(f"{out or given} is not a valid shape for ndarray{advice}")
    if len(out) > MAX_ARRAY_AXES:
        raise QuadrantsRuntimeError(f"{out} is not a valid shape for ndarray: at most {MAX_ARRAY_AXES} axes")
    return out


def field_offset(offset, shape) -> tuple | None:
    """Canonical offset of the first index, or None. Length mismatch: `QuadrantsSyntaxError`."""
    if offset is None:
        return None
    if shape is None:
        raise QuadrantsSyntaxError("shape cannot be None when offset is set")
    if isinstance(offset, (int, np.integer)):
        offset = (offset,)
    if len(shape) != len(offset):
        raise QuadrantsSyntaxError(
            f"The dimensionality of shape and offset must be the same ({len(shape)} != {len(offset)})"
        )
    return tuple(_index(o, "offset") for o in offset)


def field_order(order, shape) -> tuple | None:
    """Canonical axis per storage level, outermost first; None for row-major order."""
    if order is None:
        return None
    if shape is None:
        raise QuadrantsSyntaxError("shape cannot be None when order is set")
    if len(order) != len(shape):
        raise QuadrantsSyntaxError(
            f"The dimensionality of shape and order must be the same ({len(shape)} != {len(order)})"
        )
    axes = tuple(ord(letter) - ord("i") for letter in order)
    for letter, axis in zip(order, axes, strict=True):
        if not 0 <= axis < len(shape):
            raise QuadrantsSyntaxError(f"Invalid axis {letter}")
    if len(set(axes)) != len(axes):
        raise QuadrantsSyntaxError("The axes in order must be different")
    return normal_layout(axes)


def tensor_layout(layout, ndim: int) -> tuple | None:
    """A permutation of `range(ndim)`; None for the identity. Anything else: `ValueError`."""
    if layout is None:
        return None
    if not isinstance(layout, (tuple, list)) or sorted(_ints(layout)) != list(range(ndim)):
        raise ValueError(f"layout={layout!r} is not a permutation of range({ndim})")
    return normal_layout(tuple(int(axis) for axis in layout))


def normal_layout(layout: tuple) -> tuple | None:
    return None if layout == tuple(range(len(layout))) else layout


def _ints(items) -> list:
    return [int(x) if isinstance(x, (int, np.integer)) and not isinstance(x, bool) else -1 for x in items]


def _index(value, what: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must hold ints, not {value!r}") from None
