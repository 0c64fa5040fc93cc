"""A global array cut into one block a rank: its geometry, the arrays of it, and what moves between blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import quadrants as qd
from quadrants import ad
from quadrants.distributed import agreement, arrays, boundaries, current, decomposition, transfer
from quadrants.distributed.blocks import Blocks
from quadrants.distributed.engines.interface import Engine
from quadrants.distributed.exchanges import Exchanges, Pending
from quadrants.distributed.idle import idle
from quadrants.distributed.labels import Labels
from quadrants.distributed.replaced import grad_replaced
from quadrants.distributed.world import World


def _engine(grid: Grid, *_: Any) -> Engine:
    return grid.world.engine


class Grid:
    """A global array of cells, cut into one block a rank. Every rank makes it, with the same arguments.

        grid = qdist.Grid((64, 64), halo=1)
        u = grid.field(qd.f32)
        grid.exchange_halo(u)

    Args:
        shape: global extents, a whole number an axis.
        halo: cells around a block that neighbours own: a number, or a number or a pair (low, high) for each axis.
        periodic: whether an axis closes to a ring: True or False, or one for each axis.
        dims: ranks an axis; 0 stands for what the others leave. None chooses the blocks with the least surface.
        world: what `qdist.init` returned; None is the last one.
        cuts: axis to the global cells where its parts begin, and the end, as `rebalanced` finds them; others are even.

    Attributes: `shape`, `halo`, `periodic`, `dims`; `begin` and `size` of the block of this rank, in global cells;
    `local`, the shape of its arrays, block and halo; `origin`, the global index of the local cell 0.

    A block that is thinner than the halo is a ValueError, ranks with other arguments are a QuadrantsRuntimeError.
    """

    def __init__(
        self,
        shape: Any,
        halo: Any = 1,
        periodic: Any = False,
        dims: Any = None,
        world: World | None = None,
        cuts: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        self.world = current.world() if world is None else world
        self.number, self._particles = self.world.count_grid(), 0
        with agreement.together(self.world.engine) as rank:
            self.shape = decomposition.read_shape(shape)
            ndim = len(self.shape)
            self.halo = decomposition.read_halo(halo, ndim)
            self.periodic = tuple(bool(p) for p in decomposition.per_axis(periodic, ndim, "periodic"))
            text = f"Grid({self.shape}, halo={self.halo}, periodic={self.periodic}, dims={dims}, cuts={cuts})"
            rank.says("make the same grid", f"grid {self.number} = {text}")
        self.dims = self._cut(dims)
        self.blocks = Blocks(self.shape, self.dims, self.halo, self.periodic, self.world.rank, self._cuts(cuts or {}))
        self.begin, self.size, self.local = self.blocks.begin, self.blocks.size, self.blocks.local
        self.origin = tuple(begin - low for begin, (low, _) in zip(self.begin, self.halo))
        self._boxes: dict[tuple[Any, ...], tuple[int, ...]] = {}
        self._labels = Labels()
        self._exchanges = Exchanges(f"grid {self.number}", self.blocks, self.world.engine, self._labels)
        if not self.blocks.is_met():
            self.__dict__.update(exchange_halo=idle(self.exchange_halo), accumulate_halo=idle(self.accumulate_halo))

    def __repr__(self) -> str:
        return f"<grid of {self.shape} cells on {self.dims} ranks, halo {self.halo}>"

    # -- arrays

    def field(self, dtype: Any, needs_grad: bool = False, offset: bool = False, **more: Any) -> Any:
        """A field over the block of this rank and its halo, zeroed. All ranks make arrays of a grid in the same order.

        dtype: of numbers, or a type of vectors, matrices or structs. offset: kernels index it by global cells, from
        `origin` on; else by local ones, from 0. more: `layout` and `name` as of `qd.field`, and
        `order` of what is no struct.

            u = grid.field(qd.f32)
        """
        of_struct = hasattr(dtype, "members")
        if of_struct and "order" in more:
            raise TypeError(
                "grid.field: order= is for numbers, vectors and matrices. Members of a struct have the axes in order; "
                "write layout=qd.Layout.SOA to keep them apart, or a field with order= for each member."
            )
        options: dict[str, Any] = {"shape": self.local, "needs_grad": needs_grad, **more}
        if offset:
            options["offset"] = self.origin
        return self._made(dtype.field(**options) if of_struct else qd.field(dtype, **options))

    def ndarray(self, dtype: Any, needs_grad: bool = False) -> Any:
        """An ndarray over the block of this rank and its halo, zeroed. dtype: as in `qd.ndarray`. All ranks make arrays
        of a grid in the same order.

        u = grid.ndarray(qd.f32)
        """
        return self._made(qd.ndarray(dtype, self.local, needs_grad=needs_grad))

    def _count_particles(self) -> int:
        self._particles += 1
        return self._particles - 1

    def _made(self, array: Any) -> Any:
        self._labels.made(array)
        return array

    def box(self, inner: int = 0, closed: bool = False, offset: bool = False) -> tuple[int, ...]:
        """The cells that a stencil computes: begin and end of each axis, one after the other, to be kernel arguments.

        They are those of the block, without cells as near to a closed face of the global array as the halo is wide,
        since a stencil would reach over it. inner: leave so many cells out at every face of the block, too. closed:
        keep cells at closed faces, for a kernel that looks at no neighbours. offset: global cells, for fields that are
        made so; else local ones. ValueError for a negative `inner`.

            i0, i1, j0, j1 = grid.box()
        """
        key = (inner, closed, offset)
        if key not in self._boxes:
            self._boxes[key] = self._box(*key)
        return self._boxes[key]

    def _box(self, inner: int, closed: bool, offset: bool) -> tuple[int, ...]:
        if not hasattr(inner, "__index__") or inner < 0:
            raise ValueError(f"inner={inner!r} must be a whole number of cells, at least 0")
        found: list[int] = []
        for axis, (low, high) in enumerate(self.halo):
            begin, end = self.blocks.block_span(axis)
            if not closed:
                begin += low if self.blocks.neighbour(axis, 0) is None else 0
                end -= high if self.blocks.neighbour(axis, 1) is None else 0
            begin, end = begin + inner, end - inner
            shift = self.origin[axis] if offset else 0
            found += [begin + shift, max(begin, end) + shift]
        return tuple(found)

    def shell(self, inner: int, closed: bool = False, offset: bool = False) -> list[tuple[int, ...]]:
        """Boxes of the cells that `box()` has and `box(inner)` has not: what is left to compute when halos have come.

        inner: how many cells a kernel looks aside. closed, offset: as of `box`. At most two boxes an axis, none empty
        and no cell twice; where a block is thin, they are all of it.

            boxes = grid.shell(1)
        """
        outer, core = self.box(0, closed, offset), self.box(inner, closed, offset)
        return decomposition.around(outer, core)

    def closed_faces(self, offset: bool = False) -> list[tuple[int, int, tuple[int, ...]]]:
        """Where kernels set what is behind the faces of the global array: (axis, 0 low or 1 high, box of halo cells).

        Of those that this rank has, low before high, axis by axis; each box has the halo of all other axes, so that in
        this order corners are set by the last axis. Set them after `exchange_halo`. offset: as of `box`.

            for axis, high, box in grid.closed_faces():
                mirror(u, axis, high, *box)
        """
        found: list[tuple[int, int, tuple[int, ...]]] = []
        for axis, (low, high) in enumerate(self.halo):
            begin, end = self.blocks.block_span(axis)
            for side, span in ((0, (begin - low, begin)), (1, (end, end + high))):
                if span[0] < span[1] and self.blocks.neighbour(axis, side) is None:
                    spans = [(0, extent) for extent in self.local]
                    spans[axis] = span
                    shifts = self.origin if offset else (0,) * len(spans)
                    found.append((axis, side, tuple(n + o for pair, o in zip(spans, shifts) for n in pair)))
        return found

    # -- moving

    @grad_replaced(_engine)
    def exchange_halo(
        self,
        *arrays: Any,
        axes: Any = None,
        corners: bool = True,
        wait: bool = True,
        boundary: boundaries.Boundary | None = None,
    ) -> Pending | None:
        """Give each halo cell the value of the cell that it is a copy of. Every rank has to call it.

        arrays: fields, ndarrays or tensors of this grid, of any element; several go at once, each once. axes: numbers
        of those to exchange, at least one; None for all. corners: also where halos of two axes cross, axis after axis;
        without, all faces go at once, which is faster.

        wait: False begins the exchange and returns at once; halos are there after `wait()` of what is returned. Until
        then kernels leave the halos alone and do not write the arrays: they may compute `box(inner=1)`, and after it
        the boxes of `shell(1)`. With corners, the first axis alone goes on meanwhile. Of several that are under way,
        every rank waits in the same order. Meanwhile another exchange of the same arrays is a QuadrantsRuntimeError, as
        `scatter` and `transfer` to them are; `allreduce` must not have them either.

        boundary: what sets the cells behind closed faces, once the halos are there: a kernel or function that is called
        as `boundary(*arrays, axis, high, *box)`, all arrays at once, for each of the `closed_faces` of this rank, of
        these axes; TypeError if it does not take as many arguments, at the first use of the arrays an error on all
        ranks. Without, those cells keep their values.

        It is differentiated in tapes, and by `exchange_halo.grad` with the same arguments, which adds gradients of halo
        cells to those of their owners, and sets them to 0, after `boundary.grad`, which a kernel has; arrays without
        gradients are constants. What an earlier kernel of the tape read of the halo, and its derivative needs, must not
        be overwritten: debug mode tells, as of kernels. At the first use of an array, and with `debug=True` each time,
        neighbours compare what they exchange: QuadrantsRuntimeError with both sides, and where an array is new on one
        rank alone. ValueError for an array of another shape, and for one that is given twice, as a member of a struct
        say.

            grid.exchange_halo(u)
        """
        check = behind = None
        if boundary is not None and arrays:
            check = partial(boundaries.check, self, arrays, boundary)
            behind = partial(boundaries.apply, self, arrays, axes, boundary)
        if not wait:
            return self._exchanges.start("forward", arrays, axes, corners, check, behind)
        self._exchanges.run("forward", arrays, axes, corners, check)
        if behind is not None:
            behind()
        return None

    @grad_replaced(_engine)
    def accumulate_halo(self, *arrays: Any, axes: Any = None, corners: bool = True) -> None:
        """Add each halo cell to the cell that it is a copy of, and set it to 0: the adjoint of `exchange_halo`.
        Those behind closed faces, which are no copies, stay as they are.

        For kernels that add to cells near by, such as particles to a grid. Sums have a fixed order: low before high,
        axis by axis. Arguments, errors and derivatives are as those of `exchange_halo`.

            grid.accumulate_halo(u)
        """
        self._exchanges.run("backward", arrays, axes, corners)

    def gather(self, array: Any, every: Any = 1) -> Any:
        """The whole array, without halos, on rank 0; None on the others.

        every: of each axis the cells 0, every, 2 * every, .. alone, for pictures; a number, or one for each axis.
        A NumPy array of `shape` and the shape that elements have in `to_numpy()`; of structs a dictionary of them. For
        more than 64 ranks a QuadrantsRuntimeError: save instead.

            whole = grid.gather(u)
        """
        return transfer.gather(self, array, every)

    def slice(self, array: Any, axis: int, index: int) -> Any:
        """The cells of one plane, without halos, on rank 0; None on the others. Every rank calls it, with any number.

        axis, index: the plane, by its global cell on that axis. A NumPy array of the other axes' extents and elements
        as of `gather`; of structs a dictionary of them. ValueError for an axis or a cell that is not there.

            middle = grid.slice(u, 0, 32)
        """
        return transfer.plane(self, array, axis, index)

    def scatter(self, whole: Any, array: Any) -> None:
        """Set the blocks of all ranks to their parts of `whole`, the halo excepted.

        whole: on rank 0, what `gather` returns, or real numbers of any dtype, which become that of the array as by
        NumPy's `astype`; on the others it is not looked at. ValueError for another shape, TypeError for what has no
        real numbers, on all ranks.

            grid.scatter(np.ones((64, 64)), u)
        """
        transfer.scatter(self, whole, array)

    # -- other blocks

    def rebalanced(self, weights: Any, axis: int = 0, above: float = 1.2) -> Grid:
        """A grid whose blocks have nearly equal weights along an axis; this one itself where they are near enough.

        weights: of the cells of the axis, a number for each, the same on all ranks, as `Particles.histogram` gives
        them. above: how many times the mean the heaviest part has to be for other cuts to be made. Halo, axes that are
        periodic and ranks an axis stay; arrays of the new grid are made anew, and take their cells by `transfer`.

            heavier = grid.rebalanced(np.arange(64))
        """
        along = [float(weight) for weight in weights]
        if not isinstance(axis, int) or not 0 <= axis < len(self.shape) or len(along) != self.shape[axis]:
            raise ValueError(
                f"rebalanced: {len(along)} weights along axis {axis!r}, and axes of {self.shape} have as many cells"
            )
        if any(not weight >= 0 for weight in along):
            raise ValueError("rebalanced: weights are numbers that are not negative")
        cuts, parts = self.blocks.cuts, self.dims[axis]
        heaviest = max(sum(along[begin:end]) for begin, end in zip(cuts[axis], cuts[axis][1:]))
        if heaviest * parts <= above * sum(along):
            return self
        least = decomposition.least_width(parts, self.halo[axis], self.periodic[axis])
        moved = {**dict(enumerate(cuts)), axis: decomposition.balanced_cuts(along, parts, least)}
        return Grid(self.shape, self.halo, self.periodic, self.dims, self.world, moved)

    @grad_replaced(_engine)
    def transfer(self, array: Any, grid: Grid, target: Any) -> None:
        """Copy the cells of an array of this grid to one of another grid of the same shape, halos excepted.

        grid, target: the other grid and an array of it, of the same element and dtype. Every rank calls it. It is
        differentiated in tapes, and by `transfer.grad` with the same arguments, as `exchange_halo` is. ValueError for
        what does not fit.

            grid.transfer(u, heavier, heavier.field(qd.f32))
        """
        transfer.between(self, array, grid, target)

    # -- cuts

    def _cuts(self, asked: Mapping[int, Sequence[int]]) -> list[list[int]]:
        found = decomposition.even_cuts(self.shape, self.dims)
        for axis, given in asked.items():
            if axis not in range(len(found)):
                raise ValueError(f"cuts={dict(asked)!r}: the grid has axes 0 to {len(found) - 1}")
            least = decomposition.least_width(self.dims[axis], self.halo[axis], self.periodic[axis])
            found[axis] = decomposition.check_cuts(given, axis, self.shape[axis], self.dims[axis], least)
        return found

    def _cut(self, dims: Any) -> tuple[int, ...]:
        ranks = self.world.size
        if dims is not None:
            return decomposition.check_dims(dims, self.shape, ranks, self.halo, self.periodic)
        return decomposition.least_surface(self.shape, ranks, self.halo, self.periodic, slabs=current.on_device())


def _gradients(given: tuple[Any, ...]) -> list[Any]:
    return [found for found in map(arrays.gradient_of, given) if found is not None]


@ad.grad_for(Grid.exchange_halo)
def _exchange_grad(
    grid: Grid,
    *given: Any,
    axes: Any = None,
    corners: bool = True,
    wait: bool = True,
    boundary: boundaries.Boundary | None = None,
) -> None:
    check = before = None
    if boundary is not None and given:
        check = partial(boundaries.check, grid, given, boundary, backward=True)
        before = partial(boundaries.apply_gradient, grid, given, axes, boundary)
    gradients = _gradients(given)
    if gradients or check is None or before is None:
        grid._exchanges.run("backward", gradients, axes, corners, check, before)
    else:
        check()
        before()


@ad.grad_for(Grid.accumulate_halo)
def _accumulate_grad(grid: Grid, *given: Any, axes: Any = None, corners: bool = True) -> None:
    grid._exchanges.run("forward", _gradients(given), axes, corners)


@ad.grad_for(Grid.transfer)
def _transfer_grad(grid: Grid, array: Any, other: Grid, target: Any) -> None:
    transfer.back(grid, array, other, target)
