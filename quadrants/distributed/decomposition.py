"""How a global array is cut into blocks. Plain numbers; nothing here talks to other ranks."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Sequence
from typing import Any

# On devices faces of the outermost axis need no packing, while blocks are thicker than this many cells.
_SLAB = 32

Halo = tuple[tuple[int, int], ...]


def per_axis(value: Any, ndim: int, name: str) -> tuple[Any, ...]:
    """One value an axis, of one for all or of a sequence. ValueError for another length."""
    if not isinstance(value, (tuple, list)):
        return (value,) * ndim
    if len(value) != ndim:
        raise ValueError(f"{name}={value!r} has {len(value)} entries, and the grid has {ndim} axes: give one for each")
    return tuple(value)


def read_shape(shape: Any) -> tuple[int, ...]:
    """The global extents. ValueError unless they are whole numbers from 1."""
    found = shape if isinstance(shape, (tuple, list)) else (shape,)
    if not found or any(isinstance(n, bool) or not hasattr(n, "__index__") or n < 1 for n in found):
        raise ValueError(f"shape={shape!r} must be whole numbers of cells, at least 1, as in qdist.Grid((1024, 1024))")
    return tuple(int(n) for n in found)


def read_halo(halo: Any, ndim: int) -> Halo:
    """(low, high) of each axis, of a number, or a number or a pair an axis. ValueError for negative ones."""
    pairs = []
    for width in per_axis(halo, ndim, "halo"):
        pair = tuple(width) if isinstance(width, (tuple, list)) else (width, width)
        if len(pair) != 2 or any(isinstance(n, bool) or not hasattr(n, "__index__") or n < 0 for n in pair):
            raise ValueError(f"halo={halo!r}: {width!r} is neither a number of cells nor a pair (low, high) of them")
        pairs.append((int(pair[0]), int(pair[1])))
    return tuple(pairs)


def cuts(extent: int, parts: int) -> list[int]:
    """Where each part of an axis begins, and its end: parts differ by at most one cell, larger ones come first."""
    small, more = divmod(extent, parts)
    return [k * small + min(k, more) for k in range(parts + 1)]


def even_cuts(shape: Sequence[int], dims: Sequence[int]) -> list[list[int]]:
    """The same for each axis."""
    return [cuts(extent, parts) for extent, parts in zip(shape, dims)]


def balanced_cuts(weights: Sequence[float], parts: int, least: int) -> list[int]:
    """Where parts of nearly equal weight begin, and the end. weights: of each cell of the axis. least: cells of a part
    at least, of which there are enough."""
    extent, running = len(weights), [0.0]
    for weight in weights:
        running.append(running[-1] + weight)
    found = [0]
    for k in range(1, parts):
        share = running[-1] * k / parts
        at = bisect.bisect_left(running, share)
        at -= at > 0 and running[at] - share > share - running[at - 1]
        found.append(min(max(at, found[-1] + least), extent - (parts - k) * least))
    return [*found, extent]


def check_cuts(given: Sequence[int], axis: int, extent: int, parts: int, least: int) -> list[int]:
    """The cuts of an axis that the user asks for. ValueError if they are none, or parts are too thin."""
    found = [int(cut) for cut in given]
    widths = [end - begin for begin, end in zip(found, found[1:])]
    if len(widths) != parts or found[0] != 0 or found[-1] != extent or min(widths) < least:
        raise ValueError(
            f"cuts of axis {axis}: {found} must be {parts + 1} cells from 0 to {extent}, each {least} or more behind "
            "the one before: blocks are not thinner than the halo."
        )
    return found


def factorisations(ranks: int, ndim: int) -> Iterator[tuple[int, ...]]:
    """Every way to write `ranks` as an ordered product of `ndim` factors."""
    if ndim == 1:
        yield (ranks,)
        return
    for first in (k for k in range(1, ranks + 1) if ranks % k == 0):
        for rest in factorisations(ranks // first, ndim - 1):
            yield (first, *rest)


def thin_axis(shape: Sequence[int], dims: Sequence[int], halo: Halo, periodic: Sequence[bool]) -> int | None:
    """The first axis of which the smallest block is thinner than what a neighbour needs of it, or None."""
    for axis, (extent, ranks) in enumerate(zip(shape, dims)):
        if extent // ranks < least_width(ranks, halo[axis], periodic[axis]):
            return axis
    return None


def least_width(ranks: int, halo: tuple[int, int], periodic: bool) -> int:
    """Cells that a block of an axis has at least: what a neighbour needs of it."""
    return max(*halo, 1) if ranks > 1 or periodic else 1


def least_surface(
    shape: Sequence[int], ranks: int, halo: Halo, periodic: Sequence[bool], slabs: bool = False
) -> tuple[int, ...]:
    """Ranks an axis, of blocks with the least surface; the longest axis is cut first where several have it.

    slabs: prefer to cut the outermost axis alone, while blocks stay thick. ValueError if blocks would be thinner than
    the halo.
    """
    found = [dims for dims in factorisations(ranks, len(shape)) if thin_axis(shape, dims, halo, periodic) is None]
    if not found:
        raise ValueError(
            f"shape {tuple(shape)} cannot be cut for {ranks} ranks: blocks would be empty, or thinner than the halo "
            f"{halo}. Use fewer ranks, a larger grid or a smaller halo."
        )
    slab = (ranks, *(1 for _ in shape[1:]))
    if slabs and slab in found and shape[0] // ranks > _SLAB:
        return slab

    def cost(dims: tuple[int, ...]) -> tuple[float, list[int]]:
        longest_first = sorted(zip(shape, dims), key=lambda pair: -pair[0])
        return _surface(shape, dims, halo, periodic), [-ranks for _, ranks in longest_first]

    return min(found, key=cost)


def _surface(shape: Sequence[int], dims: Sequence[int], halo: Halo, periodic: Sequence[bool]) -> float:
    """Cells that all ranks send; a halo of 0 counts as 1."""
    cells = math.prod(shape)
    faces = [ranks - (not ring) if ranks > 1 else 0 for ranks, ring in zip(dims, periodic)]
    return sum(cells / extent * count * max(1, sum(pair)) for extent, count, pair in zip(shape, faces, halo))


def check_dims(dims: Any, shape: Sequence[int], ranks: int, halo: Halo, periodic: Sequence[bool]) -> tuple[int, ...]:
    """Ranks an axis that the user asks for; one 0 stands for what is left. ValueError if they do not fit."""
    wanted = list(per_axis(dims, len(shape), "dims"))
    if any(isinstance(n, bool) or not hasattr(n, "__index__") or n < 0 for n in wanted):
        raise ValueError(f"dims={dims!r} must be numbers of ranks; 0 stands for what the other axes leave")
    known = math.prod(n for n in wanted if n)
    if wanted.count(0) > 1:
        raise ValueError(f"dims={dims!r} has several 0, and one alone is determined. dims=None chooses all of them")
    if 0 in wanted and ranks % known == 0:
        wanted[wanted.index(0)] = ranks // known
    if math.prod(wanted) != ranks:
        raise ValueError(
            f"dims={dims!r} is for {known} ranks or multiples of them, and there are {ranks}. Use dims=None"
        )
    axis = thin_axis(shape, wanted, halo, periodic)
    if axis is not None:
        raise ValueError(
            f"shape {tuple(shape)} on dims {tuple(wanted)}: a block of axis {axis} has {shape[axis] // wanted[axis]} "
            f"cells, which is thinner than the halo {halo}. Cut this axis into fewer parts, or choose a smaller halo."
        )
    return tuple(wanted)


def around(outer: Sequence[int], core: Sequence[int]) -> list[tuple[int, ...]]:
    """Boxes, begin and end of each axis, that cover `outer` without `core`: low and high slabs, axis after axis."""
    rest, found = list(outer), []
    for low in range(0, len(outer), 2):
        begin, end = rest[low], rest[low + 1]
        first = min(max(core[low], begin), end)
        last = min(max(core[low + 1], first), end)
        for span in ((begin, first), (last, end)):
            box = (*rest[:low], *span, *rest[low + 2 :])
            if all(a < b for a, b in zip(box[::2], box[1::2])):
                found.append(box)
        rest[low : low + 2] = first, last
    return found
