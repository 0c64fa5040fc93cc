"""Where an engine wants the arrays that it carries: how the layer sees, makes and orders them there."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np


class Space(Protocol):
    """A kind of memory. Its arrays have the methods of NumPy's that the layer uses.

    numpy: the module that computes with them by NumPy's names.
    """

    numpy: Any

    def view(self, array: Any) -> Any | None:
        """The content of a field or ndarray as an array that shares memory; None where there is no such array."""
        ...

    def is_carried(self, values: Any) -> bool:
        """Whether an engine takes this part of a view as it is, so that nobody has to pack it."""
        ...

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """A new array."""
        ...

    def on_host(self, values: Any) -> np.ndarray[Any, Any]:
        """The content, once it is computed."""
        ...

    def in_order(self) -> AbstractContextManager[Any]:
        """What is computed inside comes behind launches of this thread, and later launches behind it."""
        ...


class Host:
    """Memory that NumPy sees. Engines carry parts of any strides."""

    numpy: Any = np

    def view(self, array: Any) -> Any | None:
        """As `to_numpy(copy=False)`."""
        try:
            return array.to_numpy(copy=False)
        except ValueError:  # its way to say that there is no view
            return None

    def is_carried(self, values: Any) -> bool:
        """Always."""
        return True

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Of NumPy."""
        return np.zeros(shape, dtype)

    def on_host(self, values: Any) -> np.ndarray[Any, Any]:
        """The array itself."""
        return np.asarray(values)

    def in_order(self) -> AbstractContextManager[Any]:
        """Launches have ended where NumPy looks."""
        return nullcontext()


HOST = Host()


def of(engine: Any) -> Space:
    """That of an engine; those that say nothing carry arrays of the host."""
    found: Space = getattr(engine, "space", HOST)
    return found
