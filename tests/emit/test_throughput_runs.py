"""Batches, tiles and whole vectors on an emulated device: every iteration once, also where arrays are the same."""

from __future__ import annotations

import numpy as np
import pytest
import throughput_shapes as shapes

import quadrants as qd
from quadrants.emit import batches


@pytest.fixture(params=["cuda", "amdgpu"])
def device(runtime, request):
    qd.init(arch=getattr(qd, request.param), emulate=True)


@pytest.mark.parametrize("n", [0, 1, 127, 128, 511, 512, 513, 1300])
def test_ends_of_arrays(device, n):
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    shapes.saxpy(2.0, x, y)
    assert (y == 2 * np.arange(n) + 1).all()
    shapes.filled(y)
    assert (y == np.arange(n) % 7).all()


def test_one_array_as_both_arguments(device):
    y = qd.ndarray(qd.f32, 1000)
    y.from_numpy(np.arange(1000, dtype=np.float32))
    shapes.saxpy(2.0, y, y)
    assert (y.to_numpy() == 3 * np.arange(1000)).all()


def test_several_axes_and_iterations_that_continue(device):
    rng = np.random.default_rng(3)
    x, y = rng.random((37, 29)), rng.random((37, 29))
    want = np.where(x > y, y, 1.0)
    shapes.wide(x, y)
    assert (y == want).all()


def test_updates_of_own_cells(device):
    x = np.arange(700, dtype=np.float32) % 13
    y = np.full(700, 3, np.float32)
    want = y.copy()
    want[3:] += x[1:-2] ** 2
    shapes.own(x, y)
    assert (y == want).all()


def test_batches_over_fields(device):
    x = qd.field(qd.f32, shape=batches.FEWEST + 3)

    @qd.kernel
    def fill(x: qd.template()):
        for i in x:
            x[i] += 1.0

    fill(x)
    fill(x)
    assert (x.to_numpy() == 2).all()


def test_functions_that_change_a_variable_of_the_loop(device):
    x, y = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    shapes.through_reference(x, y)
    assert (y[:-1] == x[1:]).all()


@pytest.mark.parametrize("n", [batches.FEWEST_OF_HEAVIER + 3])
def test_batches_that_call_functions(device, n):
    x, y = qd.field(qd.f32, shape=n), qd.field(qd.f32, shape=n)
    x.from_numpy((np.arange(n) % 12).astype(np.float32))
    y.fill(1.0)
    shapes.through_function(x, y)
    want = (np.arange(n) % 12).astype(np.float32)
    assert (y.to_numpy() == 1 + np.where(want > 9, 81, want * want)).all()


@pytest.mark.parametrize("shape", [(21, 66, 160), (20, 70, 98)])
def test_every_cell_of_every_tile(device, shape):
    a, b = qd.field(qd.f32, shape=shape), qd.field(qd.f32, shape=shape)
    x = np.random.default_rng(5).integers(0, 99, shape).astype(np.float32)
    a.from_numpy(x)
    b.fill(-1)
    shapes.blur(a, b)
    want = np.full(shape, -1, np.float32)
    inner = x[:-2, 2:-2, 1:-1] + x[2:, 2:-2, 1:-1] + x[1:-1, :-4, 1:-1] + x[1:-1, 4:, 1:-1]
    want[1:-1, 2:-2, 1:-1] = inner + x[1:-1, 2:-2, :-2] + x[1:-1, 2:-2, 2:]
    assert (b.to_numpy() == want).all()


def test_tiles_of_two_axes(device):
    a, b = qd.field(qd.f32, shape=(300, 257)), qd.field(qd.f32, shape=(300, 257))
    x = np.random.default_rng(5).integers(0, 99, (300, 257)).astype(np.float32)
    a.from_numpy(x)
    shapes.blur_grouped(a, b)
    want = np.zeros_like(x)
    want[1:-1] = x[2:] - x[:-2]
    assert (b.to_numpy() == want).all()


def test_vectors_are_added_once(device):
    x, into = qd.Vector.field(2, qd.f32, shape=64), qd.Vector.field(2, qd.f32, shape=3)
    wide = qd.Vector.field(4, qd.f32, shape=3)
    data = np.random.default_rng(1).integers(0, 9, (64, 2)).astype(np.float32)
    x.from_numpy(data)
    shapes.scattered(x, into, wide)
    want, want_wide = np.zeros((3, 2), np.float32), np.zeros((3, 4), np.float32)
    for i, value in enumerate(data):
        want[i % 3] += value
        want[i % 2] -= value
        want_wide[i % 3] += (1, 2, 3, value[0])
    assert (into.to_numpy() == want).all() and (wide.to_numpy() == want_wide).all()
