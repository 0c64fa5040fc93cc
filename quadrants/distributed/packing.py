"""Kernels that copy regions of a field to a buffer and back, for layouts that an engine does not take as they are.

table[f]    first cell of region f in the buffer | begin of each axis | extent of each axis
buffer      cells of region 0, row by row, those of region 1, ..

Integers that `add` sums wrap, and debug mode reports none of them (quadrants/frontend/positions.py).
"""

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import quadrants as qd


class Kernels(NamedTuple):
    """All take (array, buffer, table, regions, cells). `add` is for regions that have no cell in common."""

    load: Any
    store: Any
    add: Any


def table(regions: Sequence[tuple[tuple[int, int], ...]], offset: tuple[int, ...]) -> tuple[Any, int, list[int]]:
    """The table of regions as kernels take it, in the indices of a field with that offset; cells in all; the first
    cell of each region, and the end.
    """
    sizes = [math.prod(end - begin for begin, end in region) for region in regions]
    ends = np.cumsum([0, *sizes]).tolist()
    rows = [
        [first, *(begin + o for (begin, _), o in zip(region, offset)), *(end - begin for begin, end in region)]
        for first, region in zip(ends, regions)
    ]
    kept = qd.ndarray(qd.i32, (len(regions), 1 + 2 * len(offset)))
    kept.from_numpy(np.array(rows, np.int32))
    return kept, ends[-1], ends


@functools.cache
def kernels(ndim: int, element: tuple[int, ...], is_ndarray: bool) -> Kernels:
    """For arrays of so many axes, and elements of that shape."""
    whole = qd.types.ndarray() if is_ndarray else qd.template()
    index = qd.types.vector(ndim, qd.i32)
    buffer = qd.types.ndarray(ndim=1)
    places = qd.types.ndarray(qd.i32, ndim=2)
    width = math.prod(element)

    @qd.func
    def cell(n: qd.i32, table: places, regions: qd.i32):
        region = 0
        while region + 1 < regions and n >= table[region + 1, 0]:
            region += 1
        at = index(0)
        rest = n - table[region, 0]
        for k in qd.static(range(ndim)):
            axis = qd.static(ndim - 1 - k)
            extent = table[region, 1 + ndim + axis]
            at[axis] = table[region, 1 + axis] + rest % extent
            rest //= extent
        return at

    @qd.kernel
    def load(array: whole, out: buffer, table: places, regions: qd.i32, cells: qd.i32):
        for n in range(cells):
            at = cell(n, table, regions)
            if qd.static(not element):
                out[n] = array[at]
            else:
                for c in qd.static(range(width)):
                    out[n * width + c] = array[at][qd.static(_component(c, element))]

    @qd.kernel
    def store(array: whole, values: buffer, table: places, regions: qd.i32, cells: qd.i32):
        for n in range(cells):
            at = cell(n, table, regions)
            if qd.static(not element):
                array[at] = values[n]
            else:
                for c in qd.static(range(width)):
                    array[at][qd.static(_component(c, element))] = values[n * width + c]

    @qd.kernel
    def add(array: whole, values: buffer, table: places, regions: qd.i32, cells: qd.i32):
        for n in range(cells):
            at = cell(n, table, regions)
            if qd.static(not element):
                array[at] = array[at] + values[n]
            else:
                for c in qd.static(range(width)):
                    k = qd.static(_component(c, element))
                    array[at][k] = array[at][k] + values[n * width + c]

    return Kernels(load, store, add)


def _component(c: int, element: tuple[int, ...]) -> Any:
    return c if len(element) == 1 else divmod(c, element[1])
