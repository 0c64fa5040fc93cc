"""Memory of a device by itself: reads, writes, fills, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd
from quadrants.backends import registry

pytestmark = pytest.mark.runtime(exclude=("cpu",))  # its memory is the host's


@pytest.fixture
def buffer(arch):
    return registry.current().allocate(1000)


def test_it_begins_cleared(buffer):
    assert buffer.ptr != 0 and len(buffer) == 1000 and not buffer.fetch(0, 1000).any()


def test_parts(buffer):
    buffer.store(10, np.arange(5, dtype=np.int32))
    buffer.fill(7, 30, 4)
    assert buffer.fetch(10, 20).view(np.int32).tolist() == [0, 1, 2, 3, 4]
    assert buffer.fetch(28, 8).tolist() == [0, 0, 7, 7, 7, 7, 0, 0]
    buffer.fill(255)
    assert (buffer.fetch(0, 1000) == 255).all() and buffer.fetch(1000, 0).size == 0


@pytest.mark.parametrize("offset, nbytes", [(-1, 2), (0, 1001), (999, 2), (1001, 0), (0, -1)])
def test_ranges(buffer, offset, nbytes):
    with pytest.raises(ValueError, match="outside a buffer of 1000 bytes"):
        buffer.fetch(offset, nbytes)
    with pytest.raises(ValueError, match="outside a buffer of 1000 bytes"):
        buffer.fill(0, offset, nbytes)


def test_what_is_no_buffer(buffer):
    with pytest.raises(TypeError, match="bytes-like"):
        buffer.store(0, 5)
    with pytest.raises((ValueError, BufferError)):
        buffer.store(0, np.zeros((4, 4))[:, ::2])


def test_borrowed_memory_is_lent_again(buffer):
    backend = registry.current()
    first = backend.borrow(3000)
    address = first.buffer.ptr
    assert first.buffer.nbytes == 4096
    second = backend.borrow(3000)
    assert second.buffer.ptr != address
    del first
    assert backend.borrow(4000).buffer.ptr == address


def test_too_much(buffer):
    with pytest.raises(qd.QuadrantsRuntimeError, match="cannot allocate 1125899906842624 bytes"):
        registry.current().allocate(1 << 50)
