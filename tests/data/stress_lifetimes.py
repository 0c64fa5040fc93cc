"""A short program for memory checkers: allocates, views, launches, fails, resets and frees, from several threads.

Run: python tests/data/stress_lifetimes.py [arch] [turns]. The page on testing says how to run it under a checker. Needs
neither pytest nor torch, which checkers are slow with; ends with an error if memory is left.
"""

import dataclasses
import gc
import random
import sys
import threading

import numpy as np

import quadrants as qd
from quadrants._ext.core import live_buffers

ARRAY = qd.types.ndarray(dtype=qd.f32, ndim=1)


@dataclasses.dataclass(frozen=True)
class State:
    x: ARRAY
    v: qd.BufferView[qd.f32]
    n: qd.i32


@qd.kernel
def add(a: ARRAY, by: qd.f32):
    for i in a:
        a[i] += by


@qd.kernel
def add_in_state(s: State):
    for i in range(s.v.size):
        s.v[i] += s.x[i] * s.n


@qd.kernel
def total(a: ARRAY) -> qd.f32:
    out = 0.0
    for i in a:
        out += a[i]
    return out


@qd.kernel
def fails_at(a: ARRAY, k: qd.i32):
    for i in a:
        assert i != k, "index %d" % i


@qd.kernel
def shift(a: ARRAY, by: qd.types.vector(3, qd.f32)) -> qd.types.vector(3, qd.f32):
    for i in a:
        a[i] += by[0]
    return by + 1.0


def one_turn(rng: random.Random, foreign: bool) -> None:
    n = rng.choice((0, 3, 64, 3000))
    array = qd.ndarray(qd.f32, (n + 4,))
    add(array, 1.5)
    ones = qd.ndarray(qd.f32, (2,))
    ones.fill(1)
    state = State(ones, array[1:3], 2)
    add_in_state(state)
    add_in_state(State(ones, state.v[:1], 1))
    assert total(array) == 1.5 * (n + 4) + 5.0
    try:
        fails_at(array, 2)
        raise SystemExit("an assertion in a kernel was not heard")
    except AssertionError:
        pass
    assert shift(array, [1.0, 2.0, 3.0]).to_numpy().tolist() == [2.0, 3.0, 4.0]
    numbers = np.zeros(n, np.float32)
    add(numbers, 2.0)
    assert numbers.sum() == 2.0 * n
    for wrong in ("text", None, array):
        try:
            add(array, wrong)
            raise SystemExit(f"{wrong!r} was taken for a number")
        except (TypeError, RuntimeError):
            pass
    if not foreign:
        view, capsules = array.to_numpy(copy=False), [array.to_dlpack(), array.to_dlpack()]
        del array, state, capsules[0]
        assert view[-1] == 2.5


def one_life(arch, turns: int) -> None:
    qd.init(arch=arch, debug=True, cpu_max_num_threads=3, enable_fallback=False, log_level=qd.ERROR)
    foreign = arch is not qd.cpu
    field = qd.field(qd.f32, shape=32)
    field.fill(3)

    failures: list = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(turns):
            one_turn(rng, foreign)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    threading.excepthook = lambda failure: failures.append(failure.exc_value)
    for thread in threads:
        thread.start()
    work(9)
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    dead = qd.ndarray(qd.f32, 8)
    view = None if foreign else dead.to_numpy(copy=False)
    qd.reset()
    assert view is None or view.sum() == 0
    try:
        add(dead, 1.0)
        raise SystemExit("a dead array was used")
    except RuntimeError:
        pass


def main() -> None:
    arch = getattr(qd, sys.argv[1]) if len(sys.argv) > 1 else qd.cpu
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    for _ in range(2):
        one_life(arch, turns)
    gc.collect()
    if live_buffers() > 0:
        raise SystemExit(f"{live_buffers()} buffers are left")
    print("all memory is back")


if __name__ == "__main__":
    main()
