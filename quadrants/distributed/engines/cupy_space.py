"""Memory of a CUDA device, as CuPy sees it."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from quadrants.backends.exchange import own_stream


class CupySpace:
    """The space of engines that carry arrays of a device."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = self.numpy = cupy
        self._stream = functools.cache(self._made)

    def view(self, array: Any) -> Any | None:
        """Where the memory of the container is one strided array."""
        return self._cupy.asarray(array) if hasattr(array, "__cuda_array_interface__") else None

    def is_carried(self, values: Any) -> bool:
        """Without gaps: kernels pack the others."""
        return bool(values.flags.c_contiguous)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Of CuPy."""
        return self._cupy.zeros(shape, dtype)

    def on_host(self, values: Any) -> np.ndarray[Any, Any]:
        """The host waits for what the stream of launches has."""
        return np.asarray(self._cupy.asnumpy(values))

    def in_order(self) -> Any:
        """On the stream of launches: the host waits for nothing."""
        return self._stream(own_stream())

    def _made(self, handle: int) -> Any:
        cuda = self._cupy.cuda
        return cuda.ExternalStream(handle) if handle else cuda.Stream.null
