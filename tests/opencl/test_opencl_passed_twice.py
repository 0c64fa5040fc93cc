"""An array of pyopencl that a kernel is passed to twice is one array there, also where it is copied."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.cpu_only
cl = pytest.importorskip("pyopencl", reason="needs pyopencl: pip install pyopencl")
from arrays_of_others import ROUNDS, SLOW, noting, shared  # noqa: E402
from pyopencl import array as cl_array  # noqa: E402


@qd.kernel
def add_then_scale(x: qd.types.ndarray(dtype=qd.f32, ndim=1), y: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in x:
        x[i] += 1
    for i in y:
        y[i] *= 10


@dataclass
class Both:
    x: qd.types.ndarray(dtype=qd.f32, ndim=1)
    y: qd.types.ndarray(dtype=qd.f32, ndim=1)


@qd.kernel
def add_then_scale_members(both: Both):
    for i in both.x:
        both.x[i] += 1
    for i in both.y:
        both.y[i] *= 10


@qd.kernel
def write_then_read(
    x: qd.types.ndarray(dtype=qd.f32, ndim=1),
    y: qd.types.ndarray(dtype=qd.f32, ndim=1),
    z: qd.types.ndarray(dtype=qd.f32, ndim=1),
):
    for i in x:
        x[i] = 5
    for i in y:
        z[i] = y[i]


@pytest.fixture(params=["given queue", "own context", "metal", "cpu"])
def anywhere(request, opencl, queue):
    """A queue of pyopencl, and kernels there or elsewhere."""
    if request.param == "given queue":
        opencl(external_opencl_command_queue=queue.int_ptr)
    elif request.param == "own context":
        opencl()
    else:
        qd.init(arch=qd.metal, emulate=True) if request.param == "metal" else qd.init(arch=qd.cpu)
    yield queue
    qd.reset()


@pytest.mark.parametrize("memory", ["buffer", "shared"])
def test_an_array_that_is_passed_twice_is_one(anywhere, monkeypatch, memory):
    values = np.ones(8, np.float32)
    x = shared(anywhere, values) if memory == "shared" else cl_array.to_device(anywhere, values)
    stored: list = []
    monkeypatch.setattr(cl_array.Array, "set", noting(cl_array.Array.set, stored))
    add_then_scale(x, x)
    assert x.get().tolist() == [20] * 8 and len(stored) <= 1
    add_then_scale(x[2:4], x[2:4])
    assert x.get().tolist() == [20] * 2 + [210] * 2 + [20] * 4
    add_then_scale(x, x.reshape(8))
    assert x.get().tolist() == [210] * 2 + [2110] * 2 + [210] * 4
    z = cl_array.zeros(anywhere, 8, np.float32)
    write_then_read(x, x, z)
    assert x.get().tolist() == z.get().tolist() == [5] * 8


def test_members_that_are_one_array(anywhere):
    x = cl_array.to_device(anywhere, np.ones(4, np.float32))
    add_then_scale_members(Both(x, x))
    assert x.get().tolist() == [20] * 4


def test_regions_of_a_buffer_are_told_by_their_place(anywhere):
    x = cl_array.zeros(anywhere, 1024, np.float32)
    origin = anywhere.device.mem_base_addr_align // 8
    region = [
        cl_array.Array(anywhere, 16, np.float32, data=x.base_data.get_sub_region(begin, 64)) for begin in (origin,) * 2
    ]
    part = x[origin // 4 : origin // 4 + 16]
    for pair in (region, (region[0], part), (part, region[1])):
        part.fill(1)
        add_then_scale(*pair)
        assert part.get().tolist() == [20] * 16
    assert x.get().sum() == 320


def test_the_work_of_all_queues_of_an_array_comes_first(anywhere):
    """Of an array that is passed twice, and has another queue each time."""
    fill = cl.Program(anywhere.context, SLOW).build().fill_late
    x = cl_array.zeros(anywhere, 1, np.float32)
    x.finish()
    late = x.with_queue(cl.CommandQueue(anywhere.context))
    fill(late.queue, (1,), None, x.base_data, np.float32(8), np.int32(ROUNDS))
    add_then_scale(x, late)
    assert x.get().tolist() == [90]
