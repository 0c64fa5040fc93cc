"""Host arrays as kernel arguments on a device: copied there before a launch, and back after it."""

from __future__ import annotations

import ctypes
import threading
import weakref

import numpy as np

from quadrants._ext.core import get_stream
from quadrants.data import memory


class _Copy:
    """Device memory that stands for a piece of host memory while a launch uses it."""

    __slots__ = ("buffer", "_borrowed", "stream", "__weakref__")

    def __init__(self, nbytes: int):
        self._borrowed = memory.borrow(nbytes)
        self.buffer = self._borrowed.buffer
        self.stream = 0


# By address and size on the host: an array that is passed twice is one array on the device, too. Arrays that overlap
# otherwise are copied apart.
_in_use: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
_lock = threading.Lock()


def send(address: int, nbytes: int) -> _Copy:
    """Copy host memory to the device. `buffer.ptr` of what comes back is where kernels find it, while it is kept."""
    with _lock:
        copy = _in_use.get((address, nbytes))
        if copy is None:
            copy = _in_use[(address, nbytes)] = _Copy(max(nbytes, 1))
    copy.stream = get_stream()
    if nbytes:
        copy.buffer.store(0, (ctypes.c_char * nbytes).from_address(address))
        if copy.stream:
            # Buffers are written and read on the default stream, which others do not wait for.
            copy.buffer.device.synchronize(0)
    return copy


def bring_back(copy: _Copy, address: int, nbytes: int) -> None:
    """Copy what a launch left on the device to where it came from. Waits for the launch."""
    if nbytes:
        if copy.stream:
            copy.buffer.device.synchronize(copy.stream)
        values = np.ascontiguousarray(copy.buffer.fetch(0, nbytes))
        ctypes.memmove(address, values.ctypes.data, nbytes)
