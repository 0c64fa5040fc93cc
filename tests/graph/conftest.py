"""Helpers of the tests of graphs: ndarrays with given content, and counting kernels."""

import numpy as np
import pytest

import quadrants as qd


@pytest.fixture
def flag(arch):
    """`flag(v)`: a 0-d i32 ndarray that holds v."""

    def make(value=0):
        made = qd.ndarray(qd.i32, ())
        made.from_numpy(np.array(value, np.int32))
        return made

    return make


@pytest.fixture
def counters(arch):
    """`counters(n)`: n integers, all 0."""
    return lambda n=8: qd.ndarray(qd.i32, (n,))


@pytest.fixture
def prog(arch):
    """The counters of the runtime."""
    return qd.lang.impl.get_runtime().prog
