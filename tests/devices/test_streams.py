"""Streams and events: order, life, errors. On the CPU they are there and do nothing."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import quadrants as qd

GPUS = ("cuda", "amdgpu", "metal", "vulkan", "opencl")


@qd.kernel
def produce(x: qd.types.ndarray(qd.i32, ndim=1), n: qd.i32):
    for i in range(x.shape[0]):
        x[i] = i + n


@qd.kernel
def consume(x: qd.types.ndarray(qd.i32, ndim=1), y: qd.types.ndarray(qd.i32, ndim=1)):
    for i in range(x.shape[0]):
        y[i] = 2 * x[i]


@qd.kernel
def total(x: qd.types.ndarray(qd.i32, ndim=1)) -> qd.i32:
    s = 0
    for i in range(x.shape[0]):
        s += x[i]
    return s


def test_an_event_orders_two_streams(arch):
    x, y = qd.ndarray(qd.i32, (5000,)), qd.ndarray(qd.i32, (5000,))
    with qd.create_stream() as first, qd.create_stream() as second, qd.create_event() as done:
        assert (first.handle != 0) == (arch.name in GPUS) and (done.handle != 0) == (arch.name in GPUS)
        for n in range(50):
            produce(x, n, qd_stream=first)
            done.record(first)
            done.wait(second)
            consume(x, y, qd_stream=second)
            done.record(second)
            done.wait(first)
        second.synchronize()
        assert (y.to_numpy() == 2 * (np.arange(5000) + 49)).all()


def test_the_host_waits_for_an_event(arch):
    x, stream, event = qd.ndarray(qd.i32, (100,)), qd.create_stream(), qd.create_event()
    produce(x, 3, qd_stream=stream)
    event.record(stream)
    event.synchronize()
    event.wait()
    assert x[99] == 102


def test_values_come_back_from_a_stream(arch):
    """A kernel with a result waits for its own stream; launches on two streams share nothing."""
    x, y = qd.ndarray(qd.i32, (1000,)), qd.ndarray(qd.i32, (1000,))
    first, second = qd.create_stream(), qd.create_stream()
    for n in range(20):
        produce(x, n, qd_stream=first)
        produce(y, -n, qd_stream=second)
        assert total(x, qd_stream=first) == 499500 + 1000 * n
        assert total(y, qd_stream=second) == 499500 - 1000 * n
    assert total(x, qd_stream=None) == 499500 + 19000


def test_host_arrays_go_along_on_the_stream(arch):
    x = np.zeros(1000, np.int32)
    stream = qd.create_stream()
    produce(x, 7, qd_stream=stream)
    assert (x == np.arange(1000) + 7).all()


def test_what_is_no_stream(arch):
    x = qd.ndarray(qd.i32, (4,))
    with pytest.raises(TypeError, match="qd_stream must be a qd.Stream or None, not int"):
        produce(x, 1, qd_stream=5)
    with pytest.raises(TypeError, match="qd.Stream"):
        qd.create_event().record("s")


def test_destroyed_streams(arch):
    x, stream, event = qd.ndarray(qd.i32, (4,)), qd.create_stream(), qd.create_event()
    stream.destroy()
    stream.destroy()
    event.destroy()
    event.destroy()
    assert stream.handle == 0 and event.handle == 0
    for use in (stream.synchronize, event.record, event.wait, lambda: produce(x, 1, qd_stream=stream)):
        with pytest.raises(RuntimeError, match="was destroyed"):
            use()
    produce(x, 1)
    assert x[3] == 4


def test_a_reset_ends_streams(arch, init):
    stream, event = qd.create_stream(), qd.create_event()
    init()
    x = qd.ndarray(qd.i32, (4,))
    for use in (stream.synchronize, event.record, event.wait, lambda: produce(x, 1, qd_stream=stream)):
        with pytest.raises(RuntimeError, match="owning Program has been destroyed"):
            use()
    stream.destroy()
    event.destroy()


def test_streams_of_others(arch):
    """A wrapped handle is used, and never destroyed."""
    own = qd.create_stream()
    wrapped = qd.Stream(own.handle)
    x = qd.ndarray(qd.i32, (10,))
    produce(x, 2, qd_stream=wrapped)
    wrapped.synchronize()
    assert x[9] == 11
    wrapped.destroy()
    produce(x, 3, qd_stream=own)
    own.synchronize()
    assert x[9] == 12


def test_collected_with_their_last_reference(arch):
    for _ in range(200):
        qd.create_stream()
        qd.create_event()
    gc.collect()
    qd.sync()


@pytest.mark.cpu_only
def test_there_must_be_a_runtime():
    qd.reset()
    for make in (qd.create_stream, qd.create_event):
        with pytest.raises(qd.QuadrantsRuntimeError, match="forgot to call"):
            make()
