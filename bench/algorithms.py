"""Measure `qd.algorithms` beside NumPy on the CPU, and beside CuPy (which calls CUB) on CUDA: ratios of one run.

    python bench/algorithms.py [--quick] [--only sort]
    python bench/algorithms.py --arch cuda --sizes 24 26 28

Both take turns, and the fastest turn of each counts. Every result is compared first. A ratio above 1 means that ours
is faster. Sorting needs unsorted keys: they are copied first, and the time of the copy alone is taken off, for both.
On CUDA a turn is several launches and one wait. What CuPy does for pairs is an argsort, whose indices have 64 bits;
its selection reads the number of elements back.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import quadrants as qd

al = qd.algorithms
D = 4


class Case(NamedTuple):
    """bytes: that the least of reads and writes takes, of an element. ours, theirs: prepare(size) gives two functions:
    one run, and what of it is not measured. Both return nothing; `result` of ours and theirs are compared.
    """

    name: str
    bytes: float
    size: dict[str, int]
    ours: Callable
    theirs: Callable


class Side(NamedTuple):
    run: Callable[[], object]
    overhead: Callable[[], object] | None
    result: Callable[[], np.ndarray]


# ---------------------------------------------------------------- ours


@qd.kernel
def sort_keys(k: qd.types.ndarray(), t: qd.types.ndarray(), s: qd.types.ndarray(), n: qd.types.ndarray()):
    al.sort(k, t, k, t, s, n, qd.u32, False, 32, D)


@qd.kernel
def sort_wide(k: qd.types.ndarray(), t: qd.types.ndarray(), s: qd.types.ndarray(), n: qd.types.ndarray()):
    al.sort(k, t, k, t, s, n, qd.u64, False, 64, D)


@qd.kernel
def sort_pairs(
    k: qd.types.ndarray(), t: qd.types.ndarray(), v: qd.types.ndarray(), w: qd.types.ndarray(), s: qd.types.ndarray(),
    n: qd.types.ndarray(),
):  # fmt: skip
    al.sort(k, t, v, w, s, n, qd.u32, True, 32, D)


@qd.kernel
def scan(x: qd.types.ndarray(), y: qd.types.ndarray(), s: qd.types.ndarray(), n: qd.i32):
    al.exclusive_scan_add(x, y, s, n, qd.f32, D)


@qd.kernel
def reduce(x: qd.types.ndarray(), y: qd.types.ndarray(), s: qd.types.ndarray(), n: qd.i32):
    al.reduce_add(x, y, s, n, qd.f32, D)


@qd.kernel
def pick(
    x: qd.types.ndarray(), f: qd.types.ndarray(), y: qd.types.ndarray(), c: qd.types.ndarray(), s: qd.types.ndarray(),
    n: qd.i32,
):  # fmt: skip
    al.select(x, f, y, c, s, n, D)


@qd.kernel
def copy(x: qd.types.ndarray(), y: qd.types.ndarray()):
    for i in range(x.shape[0]):
        y[i] = x[i]


def array(dtype, content):
    result = qd.ndarray(dtype, content.shape)
    result.from_numpy(content)
    return result


def our_sort(dtype, kernel, pairs=False):
    def prepare(n: int) -> Side:
        start = array(dtype, keys_of(n, dtype))
        k, t = (qd.ndarray(dtype, n) for _ in range(2))
        s, count = qd.ndarray(qd.u32, al.sort_scratch_slots(n, D)), array(qd.i32, np.array(n, np.int32))
        values = [array(qd.u32, np.arange(n, dtype=np.uint32)), qd.ndarray(qd.u32, n)] if pairs else []
        if pairs:
            order = array(qd.u32, np.arange(n, dtype=np.uint32))

        def overhead():
            copy(start, k)
            if pairs:
                copy(order, values[0])

        def run():
            overhead()
            kernel(k, t, *values, s, count)

        return Side(run, overhead, (lambda: values[0].to_numpy()) if pairs else k.to_numpy)

    return prepare


def our_scan(n: int) -> Side:
    x, y = array(qd.f32, reals_of(n)), qd.ndarray(qd.f32, n)
    s = qd.ndarray(qd.u32, al.exclusive_scan_scratch_slots(n, D))
    return Side(lambda: scan(x, y, s, n), None, lambda: y.to_numpy()[1:])


def our_sum(n: int) -> Side:
    x, y = array(qd.f32, reals_of(n)), qd.ndarray(qd.f32, 1)
    s = qd.ndarray(qd.u32, al.reduce_scratch_slots(n, D))
    return Side(lambda: reduce(x, y, s, n), None, y.to_numpy)


def our_select(n: int) -> Side:
    x, f = array(qd.f32, reals_of(n)), array(qd.i32, flags_of(n).astype(np.int32))
    y, c, s = qd.ndarray(qd.f32, n), qd.ndarray(qd.i32, 1), qd.ndarray(qd.u32, al.select_scratch_slots(n))
    return Side(lambda: pick(x, f, y, c, s, n), None, lambda: y.to_numpy()[: c[0]])


# ---------------------------------------------------------------- theirs: `xp` is numpy or cupy


def their_sort(dtype, pairs=False):
    def prepare(n: int, xp) -> Side:
        start = xp.asarray(keys_of(n, dtype))
        k, order = xp.empty_like(start), []

        def overhead():
            k[...] = start

        def run():
            overhead()
            if pairs:
                order[:] = [xp.argsort(k, kind="stable")]
            else:
                k.sort()

        return Side(run, overhead, lambda: host(order[0] if pairs else k))

    return prepare


def their_scan(n: int, xp) -> Side:
    x = xp.asarray(reals_of(n))
    y = xp.empty_like(x)
    return Side(lambda: xp.cumsum(x, out=y), None, lambda: host(y)[:-1])


def their_sum(n: int, xp) -> Side:
    x = xp.asarray(reals_of(n))
    found = []
    return Side(lambda: found.__setitem__(slice(None), [x.sum()]), None, lambda: host(found[0]).reshape(1))


def their_select(n: int, xp) -> Side:
    x, f, found = xp.asarray(reals_of(n)), xp.asarray(flags_of(n)), []
    return Side(lambda: found.__setitem__(slice(None), [x[f]]), None, lambda: host(found[0]))


def host(x) -> np.ndarray:
    return np.asarray(x.get() if hasattr(x, "get") else x)


# ---------------------------------------------------------------- the work


def keys_of(n: int, dtype) -> np.ndarray:
    bits = 64 if dtype is qd.u64 else 32
    return np.random.default_rng(1).integers(0, 2**bits, n, dtype=f"u{bits // 8}")


def reals_of(n: int) -> np.ndarray:
    return np.random.default_rng(2).random(n, dtype=np.float32)


def flags_of(n: int) -> np.ndarray:
    return np.random.default_rng(3).random(n, dtype=np.float32) < 0.3


CASES = (
    Case("sort u32", 36, {"cpu": 24, "cuda": 26}, our_sort(qd.u32, sort_keys), their_sort(qd.u32)),
    Case("sort u64", 136, {"cpu": 23, "cuda": 26}, our_sort(qd.u64, sort_wide), their_sort(qd.u64)),
    Case("sort pairs", 68, {"cpu": 23, "cuda": 26}, our_sort(qd.u32, sort_pairs, True), their_sort(qd.u32, True)),
    Case("scan f32", 8, {"cpu": 24, "cuda": 28}, our_scan, their_scan),
    Case("reduce f32", 4, {"cpu": 24, "cuda": 28}, our_sum, their_sum),
    Case("select f32", 9.2, {"cpu": 24, "cuda": 28}, our_select, their_select),
)


def seconds(run: Callable, wait: Callable, times: int) -> float:
    wait()
    begin = time.perf_counter()
    for _ in range(times):
        run()
    wait()
    return (time.perf_counter() - begin) / times


def measure(sides: list[tuple[Side, Callable]], turns: int, times: int) -> list[float]:
    """The fastest turn of each side, without what is not measured."""
    best, overheads = [float("inf")] * len(sides), [0.0] * len(sides)
    for side, wait in sides:
        seconds(side.run, wait, 1)
    for index, (side, wait) in enumerate(sides):
        if side.overhead is not None:
            overheads[index] = min(seconds(side.overhead, wait, times) for _ in range(turns))
    for _ in range(turns):
        for index, (side, wait) in enumerate(sides):
            best[index] = min(best[index], seconds(side.run, wait, times))
    return [total - overhead for total, overhead in zip(best, overheads, strict=True)]


def agree(case: str, ours: np.ndarray, theirs: np.ndarray) -> None:
    if ours.dtype.kind == "f":
        # NumPy sums in order, so that its scans are off by more than ours.
        scale = np.abs(theirs).max() if "scan" in case or "reduce" in case else 0
        good = ours.shape == theirs.shape and np.abs(ours - theirs).max() <= 2e-2 * scale
    else:
        good = np.array_equal(ours, theirs)
    if not good:
        raise SystemExit(f"{case}: results differ")


def peer_of(arch: str):
    """(name, module, wait) of whom to compare with; None where it is not installed."""
    if arch == "cpu":
        return "NumPy", np, lambda: None
    os.environ.setdefault("CUPY_ACCELERATORS", "cub")
    try:
        import cupy
    except ImportError:
        print("no CuPy: ours alone (pip install cupy-cuda13x)", file=sys.stderr)
        return None
    return "CuPy", cupy, cupy.cuda.Device().synchronize


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--sizes", type=int, nargs="*", help="logarithms of numbers of elements, such as 20 24")
    parser.add_argument("--only", default="", help="part of the name of cases")
    parser.add_argument("--quick", action="store_true", help="2**20 elements, three turns")
    options = parser.parse_args()
    qd.init(arch=getattr(qd, options.arch), enable_fallback=False, log_level=qd.ERROR)
    peer = peer_of(options.arch)
    against = f"ratio to {peer[0]}" if peer else ""
    print(f"{'case':<12}{'elements':>10}{'ours ms':>11}{'theirs ms':>11}{'ours GB/s':>11}  {against}")
    for case in CASES:
        if options.only not in case.name:
            continue
        for log in options.sizes or ([20] if options.quick else [case.size[options.arch]]):
            sides = [(case.ours(1 << log), qd.sync)]
            if peer is not None:
                sides.append((case.theirs(1 << log, peer[1]), peer[2]))
            times = measure(sides, 3 if options.quick else 7, 1 if options.arch == "cpu" else 10)
            if peer is not None:
                agree(case.name, sides[0][0].result(), sides[1][0].result())
            shown = f"{times[1] * 1e3:>11.3f}" if peer else f"{'-':>11}"
            ratio = f"{times[1] / times[0]:>7.2f}" if peer else ""
            rate = case.bytes * (1 << log) / times[0] / 1e9
            print(
                f"{case.name:<12}{'2**' + str(log):>10}{times[0] * 1e3:>11.3f}{shown}{rate:>11.1f}  {ratio}", flush=True
            )
            del sides


if __name__ == "__main__":
    main()
