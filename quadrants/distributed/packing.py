"""Kernels that copy a region of a field to a buffer and back, for layouts that NumPy does not see as one array."""

import functools
import math
from typing import Any, NamedTuple

import quadrants as qd


class Kernels(NamedTuple):
    """Both take (array, buffer, begin of each axis, extent of each axis, cells); the buffer is in row-major order."""

    load: Any
    store: Any


def place(region: tuple[tuple[int, int], ...]) -> tuple[Any, Any, int]:
    """A region as kernels take it."""
    extents = [end - begin for begin, end in region]
    return qd.Vector([begin for begin, _ in region]), qd.Vector(extents), math.prod(extents)


@functools.cache
def kernels(ndim: int, element: tuple[int, ...], is_ndarray: bool) -> Kernels:
    """For arrays of so many axes, and elements of that shape."""
    whole = qd.types.ndarray() if is_ndarray else qd.template()
    index = qd.types.vector(ndim, qd.i32)
    buffer = qd.types.ndarray(ndim=1)
    width = math.prod(element)

    @qd.func
    def cell(n: qd.i32, begin: index, extent: index):
        at = begin
        rest = n
        for k in qd.static(range(ndim)):
            axis = qd.static(ndim - 1 - k)
            at[axis] += rest % extent[axis]
            rest //= extent[axis]
        return at

    @qd.kernel
    def load(array: whole, out: buffer, begin: index, extent: index, cells: qd.i32):
        for n in range(cells):
            at = cell(n, begin, extent)
            if qd.static(not element):
                out[n] = array[at]
            else:
                for c in qd.static(range(width)):
                    out[n * width + c] = array[at][qd.static(_component(c, element))]

    @qd.kernel
    def store(array: whole, values: buffer, begin: index, extent: index, cells: qd.i32):
        for n in range(cells):
            at = cell(n, begin, extent)
            if qd.static(not element):
                array[at] = values[n]
            else:
                for c in qd.static(range(width)):
                    array[at][qd.static(_component(c, element))] = values[n * width + c]

    return Kernels(load, store)


def _component(c: int, element: tuple[int, ...]) -> Any:
    return c if len(element) == 1 else divmod(c, element[1])
