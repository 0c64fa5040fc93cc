"""What is stored in a narrower type is rounded to it, also where it is read again at once."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

VALUES = np.float32(0.37) * np.arange(1, 801, dtype=np.float32)


def rounded(values, *divisors):
    for divisor in divisors:
        values = (values.astype(np.float64) / divisor).astype(np.float32)
    return values


@pytest.mark.parametrize("fast_math", [False, True])
def test_vectors_of_f32_divided_by_f64(init, fast_math):
    """Twice in a row, and in a loop; gcc keeps such vectors in registers."""
    init(fast_math=fast_math)
    twice, looped = (qd.Vector.ndarray(4, qd.f32, len(VALUES)) for _ in range(2))
    single = qd.field(qd.f32, shape=(len(VALUES), 4))

    @qd.kernel
    def run(twice: qd.types.ndarray(), looped: qd.types.ndarray(), a: qd.f64, b: qd.f64, count: qd.i32):
        for i in twice:
            twice[i] = twice[i] / a
            twice[i] = twice[i] / b
        for i in looped:
            for _ in range(count):
                looped[i] = looped[i] / a
        for i in range(twice.shape[0]):
            for k in qd.static(range(4)):
                single[i, k] /= a
            for k in qd.static(range(4)):
                single[i, k] /= b

    before = np.repeat(VALUES[:, None], 4, axis=1)
    for x in (twice, looped, single):
        x.from_numpy(before)
    run(twice, looped, 3.1, 0.7123, 3)
    allowed = 4 if fast_math else 0  # a product with the reciprocal may be rounded to the other side
    for found, wanted in (
        (twice, rounded(before, 3.1, 0.7123)), (looped, rounded(before, 3.1, 3.1, 3.1)),
        (single, rounded(before, 3.1, 0.7123)),
    ):  # fmt: skip
        assert np.count_nonzero(found.to_numpy() != wanted) <= allowed


def test_a_vector_that_is_divided_by_one_of_its_elements(init):
    """Loaded, widened, divided, rounded and stored in every round: gcc 12 left the rounding out."""
    init(fast_math=False)
    x = qd.Vector.field(4, qd.f32, shape=4)

    @qd.kernel
    def run():
        for i in qd.ndrange(4):
            for k in range(i - -1):
                x[i] /= qd.Matrix([x[i][k], 1.0], qd.f64).min()

    for seed in range(100):  # most quotients are the same with and without the rounding
        before = np.random.default_rng(seed).uniform(-100, 100, (4, 4)).astype(np.float32)
        x.from_numpy(before)
        run()
        for i, row in enumerate(before):
            for k in range(i + 1):
                row[:] = (row.astype(np.float64) / min(np.float64(row[k]), 1.0)).astype(np.float32)
        assert x.to_numpy().tolist() == before.tolist()
