"""Kernels of several tasks, and loops around tasks: what a launch of all of them takes."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

import numpy as np

from . import Work, case, differs

N = 128
TASKS = 20
SHAPE = {"rows": "gpu", "unit": "us", "target": 1.0, "rounds": 5}


def _steps(qd):
    """A kernel of TASKS tasks that each add `by` to an array."""
    arr = qd.types.ndarray(dtype=qd.f32, ndim=1)

    @qd.kernel(graph=True)
    def steps(x: arr, by: qd.f32):
        for _ in qd.static(range(TASKS)):
            for i in range(N):
                x[i] += by

    return steps


@case("gpu_20_tasks", "launch, 20 tasks, to its end", **SHAPE)
def twenty_tasks(qd) -> Work:
    steps, x = _steps(qd), qd.ndarray(qd.f32, shape=(N,))

    def run(n: int) -> None:
        for _ in range(n):
            steps(x, 1.0)
        qd.sync()

    def check() -> str | None:
        x.fill(0.0)
        run(1)
        return differs("x", x.to_numpy(), np.full(N, float(TASKS), np.float32))

    return Work(run, check)


@case("gpu_20_tasks_changed", "the same, another array and number each time", **SHAPE)
def twenty_tasks_changed(qd) -> Work:
    steps, arrays = _steps(qd), [qd.ndarray(qd.f32, shape=(N,)) for _ in range(2)]

    def run(n: int) -> None:
        for k in range(n):
            steps(arrays[k & 1], float(1 + (k & 1)))
        qd.sync()

    def check() -> str | None:
        for x in arrays:
            x.fill(0.0)
        run(2)
        wrong = differs("x", arrays[0].to_numpy(), np.full(N, float(TASKS), np.float32))
        return wrong or differs("y", arrays[1].to_numpy(), np.full(N, 2.0 * TASKS, np.float32))

    return Work(run, check)


def _countdown(qd):
    arr, flag = qd.types.ndarray(dtype=qd.f32, ndim=1), qd.types.ndarray(dtype=qd.i32, ndim=0)

    @qd.kernel(graph=True)
    def countdown(x: arr, left: flag, passes: qd.i32):
        for _ in range(1):
            left[None] = passes
        while qd.graph.do_while(left):
            for i in range(N):
                x[i] += 1.0
            for _ in range(1):
                left[None] -= 1

    return countdown


def _loop(qd, passes: int) -> Work:
    countdown, x, left = _countdown(qd), qd.ndarray(qd.f32, shape=(N,)), qd.ndarray(qd.i32, shape=())

    def run(n: int) -> None:
        for _ in range(n):
            countdown(x, left, passes)
        qd.sync()

    def check() -> str | None:
        x.fill(0.0)
        run(1)
        return differs("x", x.to_numpy(), np.full(N, float(passes), np.float32))

    return Work(run, check)


@case("gpu_loop_1", "do_while of two tasks, one pass", **SHAPE)
def loop_of_one(qd) -> Work:
    return _loop(qd, 1)


@case("gpu_loop_100", "do_while of two tasks, 100 passes", **SHAPE)
def loop_of_hundred(qd) -> Work:
    return _loop(qd, 100)
