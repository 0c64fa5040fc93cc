"""Powers with constant exponents that square roots and products give, where fast_math allows them."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

EXPONENTS = (0.5, 1.5, 2.5, -0.5, -1.5, -3.5, 2.0, -3.0)


@qd.kernel
def powers(x: qd.types.ndarray(), y: qd.types.ndarray()):
    for i in range(x.shape[0]):
        for k in qd.static(range(len(EXPONENTS))):
            y[i, k] = qd.pow(x[i], EXPONENTS[k])


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 1e-6), (np.float64, 1e-14)])
def test_values(arch, dtype, tolerance):
    x = np.array([0.25, 1.0, 2.0, 7.3, 1e-3, np.inf, np.nan], dtype)
    y = np.zeros((len(x), len(EXPONENTS)), dtype)
    powers(x, y)
    want = x[:, None] ** np.array(EXPONENTS, dtype)
    assert np.allclose(y, want, rtol=tolerance, equal_nan=True)


def test_a_negative_base(arch):
    x = np.array([-2.0], np.float32)
    y = np.zeros((1, len(EXPONENTS)), np.float32)
    powers(x, y)
    assert np.isnan(y[0, :6]).all() and y[0, 6] == 4 and y[0, 7] == -0.125


def test_text(arch):
    arrays = np.ones(1, np.float32), np.ones((1, len(EXPONENTS)), np.float32)
    assert "powf" not in powers.source(*arrays, arch="cuda")


@pytest.mark.runtime(fast_math=False)
def test_precise(arch):
    arrays = np.ones(1, np.float32), np.ones((1, len(EXPONENTS)), np.float32)
    assert "half" not in powers.source(*arrays, arch="cuda") and "powf(" in powers.source(*arrays, arch="cuda")
