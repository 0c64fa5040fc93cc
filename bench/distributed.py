"""Steps of a stencil and halo exchanges on several ranks; the same file runs alone.

    mpiexec -n 2 python bench/distributed.py stencil --per-rank 1024    # equal work a rank: weak scaling
    mpiexec -n 2 python bench/distributed.py stencil --total 1024       # equal work in all: strong scaling
    mpiexec -n 2 python bench/distributed.py halo --per-rank 1024

Rank 0 prints median and fastest of 5 runs. Efficiency is t(1) / t(n) of equal work a rank: run it on one rank in the
same session, as `mpiexec -n 1`, with as many threads a rank (QD_NUM_THREADS).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import quadrants as qd
from quadrants import distributed as qdist

RUNS = 5


@qd.kernel
def step(u: qd.types.ndarray(ndim=2), w: qd.types.ndarray(ndim=2), i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32):
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        w[i, j] = u[i, j] + 0.2 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])


def measured(world: qdist.World, work: Callable[[int], None], steps: int) -> list[float]:
    """Seconds a step of each run, of the slowest rank."""
    work(3)
    found = []
    for _ in range(RUNS):
        qd.sync()
        world.barrier()
        start = time.perf_counter()
        work(steps)
        qd.sync()
        found.append(world.allreduce((time.perf_counter() - start) / steps, "max"))
    return found


def report(world: qdist.World, what: str, found: list[float]) -> None:
    if world.rank == 0:
        print(f"{what}: {statistics.median(found) * 1e6:.1f} us, fastest run {min(found) * 1e6:.1f} us", flush=True)


def square(world: qdist.World, options: argparse.Namespace) -> qdist.Grid:
    """A grid of which each rank has about `per_rank`^2 cells, cut into slabs; or `total`^2 cells in all."""
    rows, columns = (
        (options.total, options.total) if options.total else (options.per_rank * world.size, options.per_rank)
    )
    return qdist.Grid((rows, columns), halo=1, periodic=True, dims=(world.size, 1) if options.slabs else None)


def stencil(world: qdist.World, options: argparse.Namespace) -> None:
    """Five points, f32: an exchange and a kernel a step."""
    grid = square(world, options)
    arrays = [grid.ndarray(qd.f32), grid.ndarray(qd.f32)]

    def work(steps: int) -> None:
        for _ in range(steps):
            grid.exchange_halo(arrays[0])
            step(*arrays, *grid.box())
            arrays.reverse()

    def kernels(steps: int) -> None:
        for _ in range(steps):
            step(*arrays, *grid.box())
            arrays.reverse()

    report(world, f"kernel alone, block {grid.size}", measured(world, kernels, options.steps))
    report(world, f"stencil on {world.size} ranks {grid.dims}, block {grid.size}", measured(world, work, options.steps))


def halo(world: qdist.World, options: argparse.Namespace) -> None:
    """The exchange alone, and what of it is the engine's: the same messages without the layer."""
    grid = square(world, options)
    u = grid.ndarray(qd.f32)
    for corners in (True, False):

        def work(steps: int, corners: bool = corners) -> None:
            for _ in range(steps):
                grid.exchange_halo(u, corners=corners)

        report(world, f"exchange_halo, corners={corners}, faces of {grid.size}", measured(world, work, options.steps))
    view = u.to_numpy(copy=False)
    low, high = grid.blocks.neighbour(0, 0), grid.blocks.neighbour(0, 1)
    if low != world.rank:
        moves = [(low, view[1], None), (high, None, view[-1]), (high, view[-2], None), (low, None, view[0])]
        bare = measured(world, lambda steps: [world.engine.exchange(moves) for _ in range(steps)], options.steps)
        report(world, f"engine {world.engine.name} alone, faces of axis 0", bare)

        def one_axis(steps: int) -> None:
            for _ in range(steps):
                grid.exchange_halo(u, axes=0)

        report(world, "exchange_halo, axes=0", measured(world, one_axis, options.steps))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["stencil", "halo"])
    parser.add_argument("--per-rank", type=int, default=1024, help="edge of the square of cells of a rank")
    parser.add_argument("--total", type=int, default=0, help="edge of the square of all cells, instead")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--slabs", action="store_true", help="cut the first axis alone")
    options = parser.parse_args()
    world = qdist.init(arch=qd.cpu)
    {"stencil": stencil, "halo": halo}[options.what](world, options)


if __name__ == "__main__":
    main()
