"""Helpers for tests of `qd.math` and the small dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

NUMPY = {"f32": np.float32, "f64": np.float64}


@pytest.fixture(autouse=True)
def fresh_runtime(init):
    init(random_seed=7)


class Batch:
    """A 1-D ndarray of n x m matrices (m=0: vectors) that starts from, and is read back as, NumPy."""

    def __init__(self, dt: str, n: int, m: int, count: int, data=None):
        dtype = getattr(qd, dt)
        self.array = qd.Matrix.ndarray(n, m, dtype, count) if m else qd.Vector.ndarray(n, dtype, count)
        if data is not None:
            self.array.from_numpy(np.ascontiguousarray(data, dtype=NUMPY[dt]))

    def numpy(self) -> np.ndarray:
        return self.array.to_numpy().astype(np.float64)


@pytest.fixture
def batch():
    return Batch


@pytest.fixture
def compile_error():
    """Checks that a kernel cannot be compiled, with this text in the message."""

    def check(kernel, text: str):
        with pytest.raises(qd.QuadrantsCompilationError) as info:
            kernel()
        assert text in str(info.value)

    return check
