"""Sparse fields against the reference package, in one run: `python bench/sparse.py --reference PATH/TO/python`.

The second interpreter has quadrants 1.3.3. Both run the same programs, one after the other, and the ratio of their
times is printed: more than 1 is faster than the reference. `--arch cuda`: there, with a million particles, and memory
is that of the whole device, as its driver tells. `--fill` prints the time of a loop by the share of blocks that is
active, and `--plot FILE` draws it (matplotlib).
"""

import argparse
import json
import os
import subprocess
import sys
import time

PROGRAM = __file__


def best(qd, run, repeat: int, before=None) -> float:
    """Milliseconds of the fastest of some runs, to their end."""
    run()
    found = []
    for _ in range(repeat):
        if before is not None:
            before()
        qd.sync()
        started = time.perf_counter()
        run()
        qd.sync()
        found.append(time.perf_counter() - started)
    return 1e3 * min(found)


def memory(arch: str) -> float:
    """MiB of this process, or of the device."""
    if arch == "cuda":
        import pynvml

        pynvml.nvmlInit()
        return pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).used / 2**20
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def blocks(qd, arch: str, out: dict) -> None:
    x = qd.field(qd.f32)
    node = qd.root.pointer(qd.ijk, 16)
    node.dense(qd.ijk, 8).place(x)
    count = qd.field(qd.i32, ())

    @qd.kernel
    def write():
        for i, j, k in qd.ndrange(100, 100, 100):
            x[i, j, k] = 1.0

    @qd.kernel
    def loop():
        for i, j, k in x:
            x[i, j, k] += 1.0

    @qd.kernel
    def visit():
        for at in qd.grouped(node):
            count[None] += at[0]

    @qd.kernel
    def stencil():
        for i, j, k in x:
            if 0 < i < 127 and 0 < j < 127:
                x[i, j, k] = 0.25 * (x[i + 1, j, k] + x[i - 1, j, k] + x[i, j + 1, k] + x[i, j - 1, k])

    out["activate 1 M cells in blocks of 8^3"] = best(qd, write, 5, node.deactivate_all)
    out["write 1 M active cells"] = best(qd, write, 5)
    out["loop over 1 M active cells"] = best(qd, loop, 20)
    out["list of 2197 blocks, and count them"] = best(qd, visit, 20)
    out["stencil on 1 M active cells"] = best(qd, stencil, 10)

    def clear():
        node.deactivate_all()

    out["deactivate 2197 blocks"] = best(qd, clear, 5, write)


def lists(qd, arch: str, out: dict, many: int) -> None:
    item = qd.field(qd.i32)
    node = qd.root.dynamic(qd.i, many, chunk_size=4096)
    node.place(item)

    @qd.kernel
    def fill():
        for i in range(many):
            qd.append(node, [], i)

    out[f"append {many} items to one list"] = best(qd, fill, 3, node.deactivate_all)


def mpm(qd, arch: str, out: dict) -> None:
    n, quality, width = 8192, 1024, 256 if arch == "cpu" else 1024
    particles = n * 8 if arch == "cpu" else 2**20
    dx, dt = 1 / n, 1e-5
    x, v = qd.Vector.field(2, qd.f32, particles), qd.Vector.field(2, qd.f32, particles)
    grid_v, grid_m = qd.Vector.field(2, qd.f32), qd.field(qd.f32)
    node = qd.root.pointer(qd.ij, n // 16)
    node.dense(qd.ij, 16).place(grid_v, grid_m)

    @qd.kernel
    def begin():
        for p in x:
            x[p] = qd.Vector([0.4 + p % width / quality / 4, 0.2 + p // width / quality / 4])
            v[p] = qd.Vector([0.0, -1.0])

    @qd.kernel
    def to_grid():
        for p in x:
            base = qd.cast(x[p] / dx - 0.5, qd.i32)
            fx = x[p] / dx - qd.cast(base, qd.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            for i, j in qd.static(qd.ndrange(3, 3)):
                weight = w[i][0] * w[j][1]
                grid_v[base + qd.Vector([i, j])] += weight * v[p]
                grid_m[base + qd.Vector([i, j])] += weight

    @qd.kernel
    def on_grid():
        for i, j in grid_m:
            if grid_m[i, j] > 0:
                grid_v[i, j] = grid_v[i, j] / grid_m[i, j] + dt * qd.Vector([0.0, -9.8])

    @qd.kernel
    def from_grid():
        for p in x:
            base = qd.cast(x[p] / dx - 0.5, qd.i32)
            fx = x[p] / dx - qd.cast(base, qd.f32)
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            new = qd.Vector([0.0, 0.0])
            for i, j in qd.static(qd.ndrange(3, 3)):
                new += w[i][0] * w[j][1] * grid_v[base + qd.Vector([i, j])]
            v[p] = new
            x[p] += dt * new

    def step():
        node.deactivate_all()
        to_grid()
        on_grid()
        from_grid()

    begin()
    out[f"step of a sparse MPM, {particles} particles, 8192^2 cells"] = best(qd, step, 10)


def loop_over(qd, size: int, some: int) -> float:
    """Time of a loop over `some` blocks of 8^3 cells, among size^3."""
    x = qd.field(qd.f32)
    node = qd.root.pointer(qd.ijk, size)
    node.dense(qd.ijk, 8).place(x)

    @qd.kernel
    def write(some: qd.i32):
        for n in range(some):
            at = n * (size**3 // some)
            x[at // size**2 * 8, at // size % size * 8, at % size * 8] = 1.0

    @qd.kernel
    def loop():
        for i, j, k in x:
            x[i, j, k] += 1.0

    write(some)
    return best(qd, loop, 5)


def fill(qd, arch: str, out: dict) -> None:
    """Time of a loop by the share of blocks that is active: of 2^30 cells in blocks of 8^3, of 2^27 where many are."""
    for share in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0):
        size = 128 if share < 0.1 else 64
        qd.init(arch=getattr(qd, arch), log_level=qd.ERROR)
        name = f"{share:g} of 2^{30 if size == 128 else 27} cells"
        out[name] = loop_over(qd, size, max(1, int(share * size**3)))


def plot(file: str, ours: dict, theirs: dict) -> None:
    """Draw what `fill` found: milliseconds by the share of blocks that is active, both logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "fill"})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for label, found in (("quadrants", ours), ("the reference", theirs)):
        points = [(float(name.split()[0]), value) for name, value in found.items() if value > 0]
        if points:
            axes.loglog(*zip(*points), "o-", label=label)
    axes.set_xlabel("share of blocks that is active (2^30 cells; 2^27 from 0.1 on)")
    axes.set_ylabel("ms for x[i, j, k] += 1.0")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(file, bbox_inches="tight", metadata={"Date": None} if file.endswith("svg") else None)


PARTS = {"blocks": blocks, "mpm": mpm, "lists": lists, "fill": fill}


def run(part: str, arch: str, many: int) -> dict:
    """What one part of the table takes; `MiB` is that of its process from before `qd.init` to its end."""
    import quadrants as qd

    out: dict = {}
    before = memory(arch)
    qd.init(arch=getattr(qd, arch), log_level=qd.ERROR)
    PARTS[part](qd, arch, out, *[many] * (part == "lists"))
    if part == "mpm":
        out["MiB of the sparse MPM, and of what the package needs"] = memory(arch) - before
    return out


def measured(python: str, part: str, arch: str, many: int) -> dict:
    """What another interpreter finds for one part, in a process of its own; nothing, and why, if that fails."""
    command = [python, PROGRAM, "--run", part, "--items", str(many), "--arch", arch]
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        print(f"{part} failed on {python}: {found.stderr.strip()[-400:]}", file=sys.stderr)
        return {}
    return json.loads(found.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", help="Python with the reference package")
    parser.add_argument("--fill", action="store_true", help="time of a loop by the share of active blocks")
    parser.add_argument("--plot", metavar="FILE", help="draw the result of --fill, as .svg or .png")
    parser.add_argument("--items", type=int, default=1 << 24, help="entries that are appended")
    parser.add_argument(
        "--reference-items", type=int, default=1 << 17, help="the same for the reference, which is slow"
    )
    parser.add_argument("--arch", default="cpu", help="where kernels run (default: cpu)")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.run:
        print(json.dumps(run(told.run, told.arch, told.items)))
        return
    parts = ("fill",) if told.fill else ("blocks", "mpm", "lists")
    unit = "ms by share of active blocks" if told.fill else "ms"
    print(f"{unit:62}{'here':>12}{'reference':>12}{'ratio':>9}")
    for part in parts:
        ours = measured(sys.executable, part, told.arch, told.items)
        theirs = measured(told.reference, part, told.arch, told.reference_items) if told.reference else {}
        for name, value in ours.items():
            line, other = f"{name:62}{value:12.3f}", theirs.get(name)
            if name.startswith("append"):
                other = next((v for k, v in theirs.items() if k.startswith("append")), None)
                other = other and other * told.items / told.reference_items
            more = f"{other:12.3f}{other / max(value, 1e-6):9.2f}" if other is not None else ""
            print(line + more, flush=True)
        if told.plot and part == "fill":
            plot(told.plot, ours, theirs)
    if told.reference and not told.fill:
        print(f"Appends of the reference are measured with {told.reference_items} items and counted for {told.items}.")


if __name__ == "__main__":
    main()
