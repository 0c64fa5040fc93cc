"""Memory with the interface of a device's, in host memory, that counts what is moved and that NumPy cannot look into.

Its addresses are those of the host, so kernels of the CPU backend run on it.
"""

from __future__ import annotations

import ctypes
import types

import numpy as np

from quadrants._ext.core import Buffer
from quadrants.data import memory
from quadrants.errors import QuadrantsRuntimeError


class FakeDevice:
    """Where buffers come from. `most`: bytes that one allocation may have."""

    def __init__(self):
        self.fetched: list = []
        self.stored: list = []
        self.filled: list = []
        self.copied: list = []
        self.waited: list = []
        self.most = None

    def allocate(self, nbytes):
        if self.most is not None and nbytes > self.most:
            raise QuadrantsRuntimeError(f"cannot allocate {nbytes} bytes of fake device memory")
        return FakeBuffer(self, nbytes)

    def copy(self, target, source, nbytes):
        assert target + nbytes <= source or source + nbytes <= target
        ctypes.memmove(target, source, nbytes)
        self.copied.append(nbytes)

    def synchronize(self, stream):
        self.waited.append(stream)

    def forget(self):
        for log in (self.fetched, self.stored, self.filled, self.copied, self.waited):
            log.clear()


class FakeBuffer:
    def __init__(self, device, nbytes):
        assert nbytes > 0
        self.device = device
        self.nbytes = nbytes
        self._host = Buffer(nbytes)
        self.ptr = self._host.ptr

    def _part(self, offset, nbytes):
        assert offset >= 0 and nbytes > 0 and offset + nbytes <= self.nbytes
        return np.frombuffer(self._host, np.uint8)[offset : offset + nbytes]

    def fetch(self, offset, nbytes, /):
        self.device.fetched.append(nbytes)
        return self._part(offset, nbytes).copy()

    def store(self, offset, source, /):
        source = memoryview(source)
        assert source.c_contiguous
        self.device.stored.append(source.nbytes)
        self._part(offset, source.nbytes)[:] = np.frombuffer(source, np.uint8)

    def fill(self, value, offset, nbytes, /):
        self.device.filled.append(nbytes)
        self._part(offset, nbytes)[:] = value


def install(monkeypatch, dlpack=None) -> FakeDevice:
    """Have containers made from now on use a fake device. dlpack: what `memory.dlpack_device` says."""
    device = FakeDevice()
    monkeypatch.setattr(memory, "on_device", lambda: True)
    monkeypatch.setattr(memory, "allocate", device.allocate)
    monkeypatch.setattr(memory, "borrow", lambda nbytes: types.SimpleNamespace(buffer=device.allocate(nbytes)))
    monkeypatch.setattr(memory, "dlpack_device", lambda: dlpack)
    monkeypatch.setattr(memory, "owner", lambda address: -1)
    monkeypatch.setattr(memory, "stream", lambda: 1)
    return device


class _Uncounted:
    """Stands for the device of the arch under test, which does not tell what is moved."""

    def forget(self):
        pass


def device_of(arch_name, monkeypatch):
    """The device of the arch under test; on the CPU a fake one."""
    return install(monkeypatch) if arch_name == "cpu" else _Uncounted()
