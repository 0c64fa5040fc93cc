"""Steps of a stencil and halo exchanges on several ranks; the same file runs alone.

    mpiexec -n 2 python bench/distributed.py stencil --per-rank 1024    # equal work a rank: weak scaling
    mpiexec -n 2 python bench/distributed.py stencil --total 1024       # equal work in all: strong scaling
    mpiexec -n 2 python bench/distributed.py halo --per-rank 1024
    mpiexec -n 2 python bench/distributed.py cube --per-rank 512 --arch cuda  # --cut 2: faces that kernels pack
    python bench/distributed.py layer --per-rank 1024  # one process: what the layer costs where nothing is to be moved
    mpiexec -n 2 python bench/distributed.py mpm --per-rank 100 --arch cuda  # 8 particles a cell
    mpiexec -n 2 python bench/distributed.py model --steps 10 --per-rank 128  # constants of docs/guide/scaling.md

Rank 0 prints median and fastest of 5 runs. Efficiency is t(1) / t(n) of equal work a rank: run it on one rank in the
same session, as `mpiexec -n 1`, with as many threads a rank (QD_NUM_THREADS).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from distributed_mpm import PER_CELL, Fluid

import quadrants as qd
from quadrants import distributed as qdist
from quadrants.distributed import spaces

RUNS = 5


@qd.kernel
def step(u: qd.types.ndarray(ndim=2), w: qd.types.ndarray(ndim=2), i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32):
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        w[i, j] = u[i, j] + 0.2 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])


def measured(world: qdist.World, work: Callable[[int], object], steps: int, runs: int = RUNS) -> list[float]:
    """Seconds a step of each run, of the slowest rank."""
    work(3)
    found = []
    for _ in range(runs):
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


def five_points(grid: qdist.Grid, arrays: list, axes: int | None = None) -> tuple[Callable, Callable]:
    """Steps of kernels alone, and of an exchange before each."""

    def kernels(steps: int) -> None:
        for _ in range(steps):
            step(*arrays, *grid.box())
            arrays.reverse()

    def work(steps: int) -> None:
        for _ in range(steps):
            grid.exchange_halo(arrays[0], axes=axes)
            step(*arrays, *grid.box())
            arrays.reverse()

    return kernels, work


def pair(grid: qdist.Grid) -> list:
    """Arrays of the cells before and after a step."""
    return [grid.ndarray(qd.f32), grid.ndarray(qd.f32)]


def stencil(world: qdist.World, options: argparse.Namespace) -> None:
    """Five points, f32: an exchange and a kernel a step."""
    grid = square(world, options)
    kernels, work = five_points(grid, pair(grid))
    report(world, f"kernel alone, block {grid.size}", measured(world, kernels, options.steps))
    report(world, f"stencil on {world.size} ranks {grid.dims}, block {grid.size}", measured(world, work, options.steps))


Cells = qd.types.ndarray(ndim=3)


@qd.func
def updated(u: qd.template(), i, j, k):
    around = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k] + u[i, j, k - 1] + u[i, j, k + 1]
    return u[i, j, k] + 0.1 * (around - 6 * u[i, j, k])


@qd.kernel
def step_3d(u: Cells, w: Cells, i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32, k0: qd.i32, k1: qd.i32):
    for i, j, k in qd.ndrange((i0, i1), (j0, j1), (k0, k1)):
        w[i, j, k] = updated(u, i, j, k)


@qd.kernel
def ends_3d(u: Cells, w: Cells, n: qd.i32, cut: qd.template()):
    """Those beside the halo of one axis."""
    for end, a, b in qd.ndrange(2, (1, n - 1), (1, n - 1)):
        at = 1 + end * (n - 1)
        if qd.static(cut == 0):
            w[at, a, b] = updated(u, at, a, b)
        elif qd.static(cut == 1):
            w[a, at, b] = updated(u, a, at, b)
        else:
            w[a, b, at] = updated(u, a, b, at)


def recorded(world: qdist.World, work: Callable[[int], object]) -> Callable[[int], object]:
    """Steps by twos, behind which arrays are in their places again, as one graph each."""
    two = world.record(lambda: work(2))
    return lambda steps: [two() for _ in range(steps // 2)]


def cube(world: qdist.World, options: argparse.Namespace) -> None:
    """Seven points, f32: slabs of per_rank^3 cells, closed but along the axis that is cut. Also beside the exchange."""
    n, cut = options.per_rank, options.cut
    along = [axis == cut for axis in range(3)]
    dims = tuple(world.size if here else 1 for here in along)
    grid = qdist.Grid(tuple(n * d for d in dims), halo=tuple(map(int, along)), periodic=tuple(along), dims=dims)
    arrays = pair(grid)
    box = [end for here in along for end in ((1, n + 1) if here else (1, n - 1))]
    inner = [end for here in along for end in ((2, n) if here else (1, n - 1))]

    def kernels(steps: int) -> None:
        for _ in range(steps):
            step_3d(*arrays, *box)
            arrays.reverse()

    def exchanges(steps: int) -> None:
        for _ in range(steps):
            grid.exchange_halo(arrays[0], axes=cut)

    def work(steps: int) -> None:
        for _ in range(steps):
            grid.exchange_halo(arrays[0], axes=cut)
            step_3d(*arrays, *box)
            arrays.reverse()

    def beside(steps: int) -> None:
        for _ in range(steps):
            waiting = grid.exchange_halo(arrays[0], axes=cut, wait=False)
            step_3d(*arrays, *inner)
            waiting.wait()
            ends_3d(*arrays, n, cut)
            arrays.reverse()

    cases = [("kernel alone", kernels), ("exchange", exchanges), ("stencil", work), ("beside", beside)]
    if options.arch == "cuda":
        cases += [("stencil, recorded", recorded(world, work)), ("beside, recorded", recorded(world, beside))]
    for what, run in cases:
        report(world, f"{what}, {world.size} ranks of {n}^3, axis {cut}", measured(world, run, options.steps))


def layer(world: qdist.World, options: argparse.Namespace) -> None:
    """Five points, f32, in turns: an array of the package and kernels alone, then one of a closed grid and an exchange
    before each kernel, which has nothing to move."""
    n = options.per_rank
    grid = qdist.Grid((n, n), halo=1)
    arrays = pair(grid)
    kernels, _ = five_points(grid, [qd.ndarray(qd.f32, grid.local), qd.ndarray(qd.f32, grid.local)])
    _, work = five_points(grid, arrays)

    def exchanges(steps: int) -> None:
        for _ in range(steps):
            grid.exchange_halo(arrays[0])

    turns = [(measured(world, kernels, options.steps), measured(world, work, options.steps)) for _ in range(RUNS)]
    alone, with_layer = ([seconds for turn in turns for seconds in turn[k]] for k in (0, 1))
    report(world, f"kernel alone, {n}^2", alone)
    report(world, "with the layer", with_layer)
    report(world, "exchange_halo without a neighbour", measured(world, exchanges, 1000))
    ratio, best = statistics.median(with_layer) / statistics.median(alone), min(with_layer) / min(alone)
    print(f"ratio: {ratio:.4f} by median, {best:.4f} by best")


def halo(world: qdist.World, options: argparse.Namespace) -> None:
    """The exchange alone, and what of it is the engine's: the same messages without the layer."""
    grid = square(world, options)
    u = grid.ndarray(qd.f32)
    for corners in (True, False):

        def work(steps: int, corners: bool = corners) -> None:
            for _ in range(steps):
                grid.exchange_halo(u, corners=corners)

        report(world, f"exchange_halo, corners={corners}, faces of {grid.size}", measured(world, work, options.steps))
    view = spaces.of(world.engine).view(u)
    low, high = grid.blocks.neighbour(0, 0), grid.blocks.neighbour(0, 1)
    if low != world.rank:
        moves = [(low, view[1], None), (high, None, view[-1]), (high, view[-2], None), (low, None, view[0])]
        bare = measured(world, lambda steps: [world.engine.exchange(moves) for _ in range(steps)], options.steps)
        report(world, f"engine {world.engine.name} alone, faces of axis 0", bare)

        def one_axis(steps: int) -> None:
            for _ in range(steps):
                grid.exchange_halo(u, axes=0)

        report(world, "exchange_halo, axes=0", measured(world, one_axis, options.steps))


def mpm(world: qdist.World, options: argparse.Namespace) -> None:
    """A fluid of 8 * per_rank^3 particles a rank, f32, that migrate every tenth step."""
    fluid = Fluid(world, options.per_rank)
    what = f"{world.size} ranks of {PER_CELL * options.per_rank**3:,} particles"
    report(world, f"kernels alone, {what}", measured(world, lambda n: fluid.step(n, ranks=False), options.steps))
    report(world, f"steps, {what}", measured(world, fluid.step, options.steps))
    report(world, f"migration, {what}", measured(world, lambda n: [fluid.p.migrate(fluid.p.x) for _ in range(n)], 10))
    counts, came = world.allgather(fluid.p.count), world.sum(fluid.came)
    if world.rank == 0:
        print(f"particles of the ranks {counts}, {came} came from others in {fluid.steps} steps")


def model(world: qdist.World, options: argparse.Namespace) -> None:
    """Constants of T = C + X, X = a + m / b, and what they say of a step beside what it takes. The fastest of many
    short runs, as others may use the processors."""
    if world.size < 2:
        raise SystemExit("the model is of messages between ranks: mpiexec -n 2 python bench/distributed.py model")
    a, b = line(world, options.steps)
    one = np.ones(1)
    reduce = fastest(world, lambda steps: [world.allreduce(one) for _ in range(steps)], options.steps)
    grid = qdist.Grid((options.per_rank * world.size, options.per_rank), periodic=True, dims=(world.size, 1))
    alone, taken = (fastest(world, work, options.steps) for work in five_points(grid, pair(grid), axes=0))
    face = 4 * options.per_rank
    if world.rank == 0:
        print(f"a = {a * 1e6:.1f} us, b = {b / 1e9:.2f} GB/s a direction and rank, all-reduce {reduce * 1e6:.1f} us")
        print(f"C = {alone * 1e6:.1f} us, {np.prod(grid.size) / alone / 1e9:.2f} Gcell/s, faces of {face} B")
        print(f"T = {taken * 1e6:.1f} us, C + X = {(alone + a + 2 * face / b) * 1e6:.1f} us", flush=True)


def fastest(world: qdist.World, work: Callable[[int], object], steps: int) -> float:
    """Seconds a step of the fastest run."""
    return min(measured(world, work, max(1, steps), 10 * RUNS))


def line(world: qdist.World, steps: int) -> tuple[float, float]:
    """a, seconds, and b, bytes a second: the line through exchanges with two neighbours, of several sizes."""
    low, high = (world.rank - 1) % world.size, (world.rank + 1) % world.size
    sizes, found = [2**k for k in range(3, 23)], []
    for size in sizes:
        sent, came = np.zeros((2, size), np.uint8), np.zeros((2, size), np.uint8)
        moves = [(low, sent[0], None), (high, None, came[1]), (high, sent[1], None), (low, None, came[0])]
        run = world.engine.prepare(moves)
        enough = min(steps, 2**22 * 10 // size)  # large messages take long by themselves
        found.append(fastest(world, lambda steps, run=run: [run() for _ in range(steps)], enough))
        if world.rank == 0:
            print(f"two messages of {size} B each way: {found[-1] * 1e6:.1f} us", flush=True)
    # Relative errors count, so that small messages weigh as much as large ones.
    weight = 1 / np.array(found)
    slope, a = np.polyfit(2 * np.array(sizes), found, 1, w=weight)
    return a, 1 / slope


CASES = {"stencil": stencil, "cube": cube, "layer": layer, "halo": halo, "mpm": mpm, "model": model}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(CASES))
    parser.add_argument("--per-rank", type=int, default=1024, help="edge of the square of cells of a rank")
    parser.add_argument("--arch", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--total", type=int, default=0, help="edge of the square of all cells, instead")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--slabs", action="store_true", help="cut the first axis alone")
    parser.add_argument("--cut", type=int, default=0, choices=[0, 1, 2], help="the axis of a cube that is cut")
    options = parser.parse_args()
    world = qdist.init(arch=getattr(qd, options.arch))
    CASES[options.what](world, options)


if __name__ == "__main__":
    main()
