"""Where the data of containers lives: in host memory under NumPy arrays, or on a device behind `DeviceArray`."""

from __future__ import annotations

import sys
from typing import Any, Protocol

import numpy as np

from quadrants._ext.core import Buffer
from quadrants.data import context
from quadrants.data.device_array import DeviceArray
from quadrants.errors import QuadrantsRuntimeError


class DeviceMemory(Protocol):
    """What containers need of memory on a device. Offsets and sizes are in bytes. Freed with its last reference."""

    ptr: int
    nbytes: int
    device: Any  # `copy(target, source, nbytes)` between two addresses, after the work that was started before

    def fetch(self, offset: int, nbytes: int) -> np.ndarray:
        """A copy of these bytes as uint8, after the work that was started before."""

    def store(self, offset: int, source: Any) -> None:
        """Write the bytes of a contiguous buffer, which may change once this returns, after the work before."""

    def fill(self, value: int, offset: int, nbytes: int) -> None:
        """Set these bytes to `value`, after the work that was started before."""


def on_device() -> bool:
    """True if kernels of the runtime in force see other memory than the host does."""
    return context.on_device()


def allocate(nbytes: int):
    """Zeroed memory for kernels of the runtime in force: a `Buffer`, or on a device a `DeviceMemory`.

    `QuadrantsRuntimeError` naming the bytes if there is not that much.
    """
    if not on_device():
        return Buffer(nbytes)
    if nbytes > sys.maxsize:
        raise QuadrantsRuntimeError(f"cannot allocate {nbytes} bytes of device memory; use smaller fields")
    from quadrants.backends import memory

    return memory.allocate(nbytes)


def borrow(nbytes: int):
    """Device memory of at least that size, with anything in it: `buffer` of what comes back, while that is kept."""
    from quadrants.backends import memory

    return memory.borrow(nbytes)


def borrowed(array) -> Any:
    """What has the `address` of an array of pyopencl, while that is kept; None where kernels do not reach it."""
    if not on_device():
        return None
    from quadrants.backends import memory

    return memory.borrowed(array)


def is_device(buffer) -> bool:
    """True for what `allocate` gives on a device."""
    return not isinstance(buffer, Buffer)


def dlpack_device() -> tuple | None:
    """DLPack's (device type, number) of the memory of the runtime in force; None if no one else can address it."""
    if not on_device():
        return 1, 0
    from quadrants.backends import memory

    return memory.dlpack_device()


def owner(address: int) -> int:
    """The number of the device that this memory is on; -1 where it is on all of them, or nobody knows."""
    from quadrants.backends import memory

    return memory.owner(address)


def stream() -> int:
    """Handle of the stream that containers are read and written on, as other packages number streams."""
    from quadrants.backends import memory

    return memory.stream_handle()


def synchronize() -> None:
    """Wait for all work on the device."""
    context.synchronize()


def array(buffer, shape: tuple, dtype: np.dtype, offset: int, strides: tuple):
    """A live array over a part of `buffer`: NumPy's, or a `DeviceArray`."""
    if buffer is None:  # since it was asked whether its owner lives
        raise QuadrantsRuntimeError("The memory of this field went with qd.reset() or a new qd.init() meanwhile.")
    if is_device(buffer):
        return DeviceArray(buffer, offset, shape, strides, dtype)
    return np.ndarray(shape, dtype, buffer, offset, strides)
