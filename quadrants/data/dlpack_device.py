"""DLPack capsules of device memory, which no package makes for us."""

from __future__ import annotations

from quadrants._ext.core import dlpack_capsule
from quadrants.data.device_array import DeviceArray

_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


def capsule(array: DeviceArray, home: tuple, versioned: bool):
    """A capsule of `array`, whose memory DLPack names by `home`, (device type, number). It keeps the memory alive."""
    size = array.dtype.itemsize
    steps = tuple(step // size for step in array.strides)
    code = _CODES[array.dtype.kind]
    return dlpack_capsule(array.buffer, array.pointer, home, code, 8 * size, array.shape, steps, versioned)
