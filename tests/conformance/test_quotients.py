"""Quotients of real numbers are the nearest ones, with fast_math too: what is cut off behind them depends on it."""

import numpy as np
import pytest

import quadrants as qd
from quadrants.backends import registry

pytestmark = pytest.mark.runtime(exclude=["cuda", "amdgpu"])  # they divide f32 approximately, unless emulated


@pytest.fixture
def exact_device(arch):
    if not getattr(registry.current(), "is_cpu", True):
        pytest.skip("a GPU, which divides f32 approximately")


@pytest.mark.usefixtures("exact_device")
@pytest.mark.parametrize("dtype", [qd.f32, qd.f64], ids=str)
def test_of_several_numbers_by_one(arch, dtype):
    """Compilers would take the reciprocal once for three quotients."""
    vec3 = qd.types.vector(3, dtype)

    @qd.kernel
    def cells(v: vec3, h: dtype) -> qd.types.vector(3, qd.i32):
        return qd.cast(v / h, qd.i32)

    for h in range(1, 400):
        assert list(cells([h, 2 * h, 3 * h], h)) == [1, 2, 3], h


@pytest.mark.usefixtures("exact_device")
def test_by_a_constant(arch):
    @qd.kernel
    def cells(x: qd.types.ndarray(dtype=qd.i32, ndim=1), y: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        for i in x:
            for k in qd.static(range(1, 32)):
                if x[i] == k:
                    y[i] = qd.cast(x[i] * 7 / k, qd.i32)

    x, y = np.arange(1, 32, dtype=np.int32), np.zeros(31, np.int32)
    cells(x, y)
    assert (y == 7).all()


def test_by_large_numbers(arch):
    """The reciprocal would be subnormal, and so zero."""

    @qd.kernel
    def one(x: qd.f32) -> qd.f32:
        return x / 3e38

    @qd.kernel
    def unit(v: qd.math.vec3) -> qd.math.vec3:
        return v / v.max()

    assert one(3e38) == 1
    assert list(unit([2e38, 1e38, 1e38])) == [1, 0.5, 0.5]
