"""A loop through a buffer view beside the same loop on the whole array: the window must cost nothing."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

import time

import numpy as np

from . import Work, case, differs

TURNS = 16
LIMIT = {"unit": "x", "target": None, "limit_seconds": 1.02}


@case("scale_view", "scale(view) / scale(array), 4 Mi f32", size=1 << 22, **LIMIT)
@case("scale_view_cached", "scale(view) / scale(array), 256 Ki f32", size=1 << 18, **LIMIT)
@case("gpu_scale_view", "scale(view) / scale(array), 2^28 f32", rows="gpu", rounds=5, batch_seconds=0.1, size=1 << 28,
      tiny=1 << 12, **LIMIT)  # fmt: skip
def scale_view(qd, n_items: int) -> Work:
    x = qd.ndarray(qd.f32, shape=(n_items,))
    arr = qd.types.ndarray(dtype=qd.f32, ndim=1)

    @qd.kernel
    def scale_array(x: arr, k: qd.f32):
        for i in range(x.shape[0]):
            x[i] = k * x[i]

    @qd.kernel
    def scale_window(x: qd.BufferView[qd.f32], k: qd.f32):
        for i in range(x.size):
            x[i] = k * x[i]

    @qd.kernel
    def start(x: arr):
        for i in range(x.shape[0]):
            x[i] = i & 1023

    @qd.kernel
    def probe(x: arr, out: arr, stride: qd.i32):
        for k in range(out.shape[0]):
            out[k] = x[k * stride]

    view = x[:]

    def seconds(step, on, n: int) -> float:
        begin = time.perf_counter()
        for _ in range(n):
            step(on, 1.0)
        qd.sync()
        return time.perf_counter() - begin

    def quotient(n: int) -> float:
        # Turns about, and the best of each: what disturbs one of the two would be taken for its cost.
        turn = -(-n // TURNS)
        turns = [(seconds(scale_window, view, turn), seconds(scale_array, x, turn)) for _ in range(TURNS)]
        return min(t for t, _ in turns) / min(t for _, t in turns)

    def run(n: int) -> None:
        quotient(n)

    def check() -> str | None:
        stride = n_items >> 20 | 1
        index = np.arange(0, n_items, stride)
        seen = qd.ndarray(qd.f32, shape=index.shape)
        for scale, on in ((scale_window, x[:]), (scale_array, x)):
            start(x)
            scale(on, 2.0)
            probe(x, seen, stride)
            problem = differs("x", seen.to_numpy(), 2.0 * (index & 1023))
            if problem is not None:
                return problem
        return None

    return Work(run, check, difference=quotient)
