"""Memory of a CUDA device, as torch sees it: buffers that kernels pack. torch has none of NumPy's methods that the
layer uses, so it looks at no array itself.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from quadrants.backends.exchange import own_stream


class TorchSpace:
    """The space of an engine that carries buffers of the device of that number."""

    numpy: Any = np

    def __init__(self, torch: Any, ordinal: int) -> None:
        self._torch, self._device = torch, torch.device("cuda", ordinal)

    def view(self, array: Any) -> None:
        """Never."""

    def is_carried(self, values: Any) -> bool:
        """No: there are no views to be carried."""
        return False

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Of torch, which keeps the memory for the stream that fills it."""
        with self.in_order():
            return self._torch.zeros(shape, dtype=getattr(self._torch, np.dtype(dtype).name), device=self._device)

    def on_host(self, values: Any) -> np.ndarray[Any, Any]:
        """The host waits for what the stream of launches has."""
        return np.asarray(values.cpu().numpy())

    def in_order(self) -> AbstractContextManager[Any]:
        """On the stream of launches: the host waits for nothing."""
        cuda, handle = self._torch.cuda, own_stream()
        stream = cuda.ExternalStream(handle, self._device) if handle else cuda.default_stream(self._device)
        found: AbstractContextManager[Any] = cuda.stream(stream)
        return found
