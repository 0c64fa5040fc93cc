"""What drivers of Vulkan keep of the pipelines they made: one file of the disk cache for each device and driver.

Its content is the driver's own. It reaches the driver only as the disk cache gives it, after owner, mode and seal, and
where its head names the device.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from quadrants.toolchain.cache import DiskCache, make_key

SUFFIX = ".pipes"
_HEAD = struct.Struct("<IIII16s")  # its bytes, version 1, vendor, device, what the driver calls itself
_MOST = 32 << 20  # bytes: a larger one is begun anew


class Pipelines:
    """The file of one device. about: as `_ext.vulkan.devices` tells it. merged(more): what the driver has now, after it
    took that too."""

    def __init__(self, cache: DiskCache, about: dict[str, Any], merged: Callable[[bytes], bytes]):
        self.cache = cache
        self.merged = merged
        self.head = _HEAD.pack(_HEAD.size, 1, about["vendor"], about["device"], about["cache_id"])
        self.key = make_key("pipelines of vulkan", self.head.hex(), f"{about['driver']:#x}", about["name"])
        kept = self._kept()
        self.begun = len(merged(kept)) if kept else _HEAD.size

    def keep(self) -> None:
        """Write what the driver has where that grew, with what other processes wrote meanwhile."""
        if not self.cache.usable or len(self.merged(b"")) <= self.begun:
            return
        data = self.merged(self._kept())
        if self._fits(data):
            self.cache.put(self.key, data, SUFFIX)
            self.begun = len(data)

    def _kept(self) -> bytes:
        data = self.cache.get(self.key, SUFFIX) or b""
        return data if self._fits(data) else b""

    def _fits(self, data: bytes) -> bool:
        return data[: len(self.head)] == self.head and len(data) <= _MOST
