"""Copies between the host and strided windows of device memory, in as few and as small transfers as it takes.

A window is dense if its elements fill its span of bytes, in whatever order. Otherwise other data lies in between:

    span  | a0 | b0 | a1 | b1 | a2 |      a: 3 elements of 4 bytes, stride 8, span 20

It is read with one fetch of the span; written it is read first, so that what lies in between keeps its values. Where
the gaps are so large that several transfers are cheaper, the window is cut along the axis with the largest stride.
"""

from __future__ import annotations

import math

import numpy as np

from quadrants.data import bulk

# What one more transfer costs, in bytes that could be moved instead.
_TRANSFER = 1 << 16
# Up to so many dense pieces are written one by one, which leaves what lies in between alone.
_PIECES = 16
# Of a pattern that is repeated, the host sends so many bytes.
_CHUNK = 1 << 16


def span(window) -> int:
    """Bytes from the first to the last of a window."""
    return sum((n - 1) * step for n, step in zip(window.shape, window.strides)) + window.dtype.itemsize


def is_dense(window) -> bool:
    """True if no other data lies within the span of the window."""
    return span(window) == window.nbytes


def read(window) -> np.ndarray:
    """The values of a window as an array of their own."""
    whole = span(window)
    axis = _outermost(window)
    if whole - window.nbytes > _TRANSFER * (window.shape[axis] if window.shape else 1):
        out = np.empty(window.shape, window.dtype)
        for k in range(window.shape[axis]):
            out[_at(axis, k)] = read(window.along(axis, k))
        return out
    raw = window.buffer.fetch(window.offset, whole)
    return np.ndarray(window.shape, window.dtype, raw, 0, window.strides)


def write(window, values: np.ndarray) -> None:
    """Store `values`, which have the shape and dtype of the window."""
    whole = span(window)
    if whole == window.nbytes:
        order = sorted(range(len(window.shape)), key=lambda axis: -window.strides[axis])
        _store(window, np.ascontiguousarray(values.transpose(order)))
        return
    axis = _outermost(window)
    if _in_pieces(window, whole, axis):
        for k in range(window.shape[axis]):
            write(window.along(axis, k), values[_at(axis, k)])
        return
    raw = window.buffer.fetch(window.offset, whole)
    np.ndarray(window.shape, window.dtype, raw, 0, window.strides)[...] = values
    window.buffer.store(window.offset, raw)


def fill(window, value: np.ndarray) -> None:
    """Store the same `value` throughout; it has the dtype of the window and as many trailing axes as it repeats."""
    lead = len(window.shape) - value.ndim
    if value.shape != window.shape[lead:]:
        value = np.broadcast_to(value, window.shape[lead:])
    if not is_dense(window):
        axis = _outermost(window)
        if axis < lead and _in_pieces(window, span(window), axis):
            for k in range(window.shape[axis]):
                fill(window.along(axis, k), value)
        else:
            write(window, np.broadcast_to(value, window.shape))
        return
    if value.ndim and not _innermost(window, value):
        for k in range(window.shape[lead]):
            fill(window.along(lead, k), value[k])
        return
    _repeat(window, value.tobytes())


def copy(target, source) -> None:
    """Store what another window of the same shape holds, cast to the dtype of the target."""
    if target.dtype == source.dtype and is_dense(target) and is_dense(source) and _same_order(target, source):
        target.buffer.device.copy(target.pointer, source.pointer, target.nbytes)
    else:
        write(target, bulk.cast(read(source), target.dtype))


def _repeat(window, pattern: bytes) -> None:
    nbytes, buffer = window.nbytes, window.buffer
    if pattern.count(pattern[0]) == len(pattern):
        buffer.fill(pattern[0], window.offset, nbytes)
        return
    done = len(pattern) * min(max(1, _CHUNK // len(pattern)), nbytes // len(pattern))
    buffer.store(window.offset, pattern * (done // len(pattern)))
    # What is there is copied behind itself, which the host need not take part in.
    while done < nbytes:
        more = min(done, nbytes - done)
        buffer.device.copy(window.pointer + done, window.pointer, more)
        done += more


def _store(window, values: np.ndarray) -> None:
    window.buffer.store(window.offset, values.reshape(-1).view(np.uint8))


def _same_order(target, source) -> bool:
    """True if the elements of two dense windows follow each other in the same order."""
    pairs = zip(target.strides, source.strides, target.shape)
    return target.shape == source.shape and all(a == b for a, b, n in pairs if n > 1)


def _outermost(window) -> int:
    """The axis of largest stride among those that have more than one element."""
    return max(
        range(len(window.shape)), key=lambda axis: window.strides[axis] if window.shape[axis] > 1 else -1, default=0
    )


def _in_pieces(window, whole: int, axis: int) -> bool:
    """Whether a window that is not dense is better written in parts than read and written as a whole."""
    return _pieces(window) <= _PIECES or whole - window.nbytes > _TRANSFER * window.shape[axis]


def _pieces(window) -> int:
    """How many dense pieces a window falls into."""
    axes = sorted(zip(window.strides, window.shape))
    dense = window.dtype.itemsize
    for k, (step, n) in enumerate(axes):
        if n > 1 and step != dense:
            return math.prod(extent for _, extent in axes[k:])
        dense *= n
    return 1


def _innermost(window, value: np.ndarray) -> bool:
    """True if the axes of `value` are the innermost of the window in memory, row by row."""
    return window.strides[len(window.shape) - value.ndim :] == np.empty(value.shape, value.dtype).strides


def _at(axis: int, k: int) -> tuple:
    return (slice(None),) * axis + (k,)
