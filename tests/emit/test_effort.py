"""How hard the C compiler tries: only kernels whose whole work is known to be small are compiled with less effort."""

import re

import numpy as np
import pytest

import quadrants as qd


@qd.kernel
def small(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in range(64):
        x[i] = x[i] * 0.5 + i


@qd.kernel
def any_size(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in range(x.shape[0]):
        x[i] = x[i] * 0.5 + i


@qd.kernel
def many_trips(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in range(64):
        for j in range(10000):
            x[i] += x[i] * j


@qd.kernel
def until(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in range(64):
        while x[i] > 1.0:
            x[i] *= 0.5


@qd.func
def wander(v: qd.f32) -> qd.f32:
    w = v
    while w > 1.0:
        w *= 0.5
    return w


@qd.kernel
def through_a_func(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in range(64):
        x[i] = wander(x[i])


@pytest.mark.parametrize(
    ("kernel", "level"),
    [(small, 1), (any_size, 3), (many_trips, 3), (until, 2), (through_a_func, 2)],
)
def test_effort_follows_the_work(arch, kernel, level):
    text = kernel.source(np.ones(64, np.float32), arch="c")
    assert re.findall(r'#pragma GCC optimize\("O(\d)"\)', text) == ([str(level)] if level < 3 else [])


def test_results_do_not_depend_on_the_effort(arch):
    a, b = np.arange(64, dtype=np.float32), np.arange(64, dtype=np.float32)
    small(a)
    any_size(b)
    assert (a == b).all()
