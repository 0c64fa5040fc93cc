"""Memory of the runtime in force, for the layer of containers."""

from __future__ import annotations

from typing import Any

from quadrants._ext.core import Buffer
from quadrants.backends import registry


def allocate(nbytes: int) -> Any:
    """Zeroed memory that kernels work on: a `Buffer` of the host, or a `DeviceBuffer`.

    QuadrantsRuntimeError naming the bytes when there is not that much.
    """
    return Buffer(nbytes) if registry.current().device is None else registry.with_device().allocate(nbytes)


def borrow(nbytes: int) -> Any:
    """Memory for the time of a launch; see `DeviceBackend.borrow`. Needs a device."""
    return registry.with_device().borrow(nbytes)


def borrowed(array: Any) -> Any:
    """What has the `address` of an array of pyopencl, see `DeviceBackend.borrowed`. Needs a device."""
    return registry.with_device().borrowed(array)


def dlpack_device() -> tuple[int, int] | None:
    """DLPack's (device type, number) of that memory, None where no other package can address it."""
    return registry.current().dlpack_device


def owner(address: int) -> int:
    """The number of the device that this memory is on; -1 where it is on all of them, or nobody knows."""
    return registry.device().owner(address)


def stream_handle() -> int:
    """The stream of containers as `__cuda_array_interface__` numbers streams: 1 is the legacy default stream."""
    return 1
