"""Times of the Vulkan arch by itself: each line names what is measured, the figure and what is aimed at.

    python bench/vulkan.py [NAME ...]

Figures are the best of several rounds. Aims are those of software Vulkan (llvmpipe) on two cores that do nothing else;
`gpu` behind a figure is what a GPU shall reach.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

import quadrants as qd
from quadrants.backends import registry
from quadrants.toolchain import glslang

CASES: dict[str, tuple[str, Callable[[], float]]] = {}


def case(aim: str) -> Callable[[Callable[[], float]], Callable[[], float]]:
    """Register a function that returns its figure, in the unit that its name ends with."""

    def add(run: Callable[[], float]) -> Callable[[], float]:
        CASES[run.__name__] = aim, run
        return run

    return add


def best(rounds: int, work: Callable[[], object]) -> float:
    """Seconds of the fastest of some rounds."""
    least = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - begin)
    return least


@qd.kernel
def nothing():
    pass


@qd.kernel
def empty(x: qd.types.ndarray(qd.i32, ndim=1)):
    for i in range(1):
        x[i] = 1


@qd.kernel
def four(a: qd.types.ndarray(), b: qd.types.ndarray(), c: qd.types.ndarray(), d: qd.types.ndarray()):
    for i in range(8):
        a[i] = b[i] + c[i] + d[i]


@qd.kernel
def value(x: qd.types.ndarray(qd.i32, ndim=1)) -> qd.i32:
    return x[0] + 1


def start(**options: object) -> None:
    qd.init(arch=qd.vulkan, enable_fallback=False, log_level="error", **options)


@case("20 (gpu 25)")
def launch_and_wait_us() -> float:
    start()
    x = qd.ndarray(qd.i32, (1,))

    def once() -> None:
        empty(x)
        qd.sync()

    once()
    return best(3000, once) * 1e6


@case("8 (gpu 5)")
def launch_in_a_stream_us() -> float:
    start()
    arrays = [qd.ndarray(qd.f32, (8,)) for _ in range(4)]

    def all_of_them() -> None:
        for _ in range(10_000):
            four(*arrays)
        qd.sync()

    four(*arrays)
    return best(5, all_of_them) * 1e2


@case("2")
def launch_on_the_host_us() -> float:
    """A launch behind others, without those whose turn it is to submit: the middle of all."""
    start()
    arrays = [qd.ndarray(qd.f32, (8,)) for _ in range(4)]
    four(*arrays)
    times = []
    for _ in range(10_000):
        begin = time.perf_counter()
        four(*arrays)
        times.append(time.perf_counter() - begin)
    qd.sync()
    return float(np.median(times)) * 1e6


@case("30 (gpu 30)")
def value_us() -> float:
    start()
    x = qd.ndarray(qd.i32, (1,))
    assert value(x) == 1
    return best(3000, lambda: value(x)) * 1e6


@case("5000 (gpu 1000)")
def add_65536_to_one_f32_us() -> float:
    return _contended("add", 65536.0)


@case("5000 (gpu 1000)")
def max_65536_of_one_f32_us() -> float:
    return _contended("max", 65536.0)


def _contended(how: str, wanted: float) -> float:
    start()
    x = qd.field(qd.f32, shape=2)

    @qd.kernel
    def run():
        for i in range(65536):
            if x[1] == 0:  # so that it is no reduction of the task
                if qd.static(how == "add"):
                    qd.atomic_add(x[0], 1.0)
                else:
                    qd.atomic_max(x[0], qd.cast(i + 1, qd.f32))

    def once() -> None:
        run()
        qd.sync()

    once()
    assert x[0] == wanted, x[0]
    return best(20, once) * 1e6


@case("1.5 (gpu 3)")
def to_numpy_gb_per_s() -> float:
    start()
    x = qd.ndarray(qd.f32, (64 << 20,))
    x.fill(1)
    qd.sync()
    seconds = best(4, x.to_numpy)
    return (256 << 20) / seconds / 1e9


@case("2500 (gpu 2500)")
def do_while_of_100_passes_us() -> float:
    start()

    @qd.kernel(graph=True)
    def passes(x: qd.types.ndarray(qd.f32, ndim=1), left: qd.types.ndarray(qd.i32, ndim=0)):
        while qd.graph.do_while(left):
            for i in range(8):
                x[i] += 1.0
            for _ in range(1):
                left[None] -= 1

    x, left = qd.ndarray(qd.f32, (8,)), qd.ndarray(qd.i32, ())

    def once() -> None:
        left.fill(100)
        passes(x, left)
        qd.sync()

    once()
    assert x.to_numpy()[0] == 100
    return best(10, once) * 1e6


@case("20")
def kernel_compiled_ms() -> float:
    with tempfile.TemporaryDirectory() as folder:
        return _kernels(folder)


@case("3")
def kernel_from_the_cache_ms() -> float:
    with tempfile.TemporaryDirectory() as folder:
        _kernels(folder)
        return _kernels(folder)


def _kernels(folder: str) -> float:
    """Milliseconds of the first call of each of 100 kernels."""
    start(offline_cache_file_path=folder)
    glslang.compile("#version 460\nlayout(local_size_x = 1) in;\nvoid main() {}", "first")
    x = qd.ndarray(qd.f32, (64,))
    made = [_small(k) for k in range(100)]
    begin = time.perf_counter()
    for one in made:
        one(x)
    qd.sync()
    return (time.perf_counter() - begin) * 10


def _small(k: int):
    @qd.kernel
    def small(x: qd.types.ndarray(qd.f32, ndim=1)):
        for i in x:
            x[i] = x[i] * float(k) + 1.0

    return small


@case("300 (gpu 900)")
def first_init_ms() -> float:
    return _in_a_process("first")


@case("5")
def second_init_ms() -> float:
    return _in_a_process("second")


def _in_a_process(which: str) -> float:
    program = (
        "import time, quadrants as qd\ntimes = []\nfor _ in range(4):\n    begin = time.perf_counter()\n"
        "    qd.init(arch=qd.vulkan, enable_fallback=False, log_level='error')\n"
        "    times.append(time.perf_counter() - begin)\nprint(times[0], min(times[1:]))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    return float(said[-2 if which == "first" else -1]) * 1e3


@case("5")
def memory_that_ten_runtimes_add_mb() -> float:
    def resident() -> float:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    after = []
    for _ in range(10):
        start()
        x = qd.ndarray(qd.f32, (1 << 20,))
        four(x, x, x, x)
        x.to_numpy()
        del x
        qd.reset()
        gc.collect()  # what waits for Python's collector is not lost
        after.append(resident())
    return after[-1] - after[1]


@case("4000 GB/s on a GPU")
def saxpy_gb_per_s() -> float:
    start()
    count = 1 << (22 if registry.current().found.is_cpu else 28)
    x, y = qd.ndarray(qd.f32, (count,)), qd.ndarray(qd.f32, (count,))

    @qd.kernel
    def saxpy(a: qd.f32, x: qd.types.ndarray(qd.f32, ndim=1), y: qd.types.ndarray(qd.f32, ndim=1)):
        for i in x:
            y[i] = a * x[i] + y[i]

    def once() -> None:
        saxpy(0.5, x, y)
        qd.sync()

    once()
    return 12 * count / best(20, once) / 1e9


def copies_gb_per_s(number: int) -> float:
    """Of one array to another, the last one waited for."""
    start()
    count = 1 << (22 if registry.current().found.is_cpu else 28)
    x, y = qd.ndarray(qd.f32, (count,)), qd.ndarray(qd.f32, (count,))

    def some() -> None:
        for _ in range(number):
            y.copy_from(x)
        qd.sync()

    some()
    return number * 8 * count / best(20, some) / 1e9


@case("4000 GB/s on a GPU")
def copy_gb_per_s() -> float:
    return copies_gb_per_s(1)


@case("4000 GB/s on a GPU")
def five_copies_gb_per_s() -> float:
    return copies_gb_per_s(5)


def main() -> None:
    """Print the figures of all cases, each in a process of its own, or of those that are named, in one."""
    if not sys.argv[1:]:
        start()
        print(registry.current().found.chip.split(",")[0], f"load {os.getloadavg()[0]:.1f}", sep=", ", flush=True)
        qd.reset()
        for name in CASES:
            subprocess.run([sys.executable, __file__, name], check=True)
    for name in sys.argv[1:]:
        aim, run = CASES[name]
        print(f"{name:36}{run():12.2f}   aim {aim}", flush=True)
        qd.reset()


if __name__ == "__main__":
    main()
