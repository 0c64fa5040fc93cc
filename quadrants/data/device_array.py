"""Live arrays over device memory: as much of NumPy's interface as containers use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quadrants.data import transfer


class DeviceArray:
    """A strided window of device memory. What is read is fetched at that moment, what is written is stored at once.

    `shape`, `strides` (bytes, none negative) and `dtype` as of a NumPy array; `offset`: bytes from the beginning of
    `buffer`, which the window keeps alive. Indexing with ints gives a smaller window, or a number when all axes are
    indexed; `np.asarray(window)` fetches.
    """

    __slots__ = ("buffer", "offset", "shape", "strides", "dtype")

    def __init__(self, buffer, offset: int, shape: tuple, strides: tuple, dtype):
        self.buffer = buffer
        self.offset = offset
        self.shape = tuple(shape)
        self.strides = tuple(strides)
        self.dtype = np.dtype(dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without what lies between them."""
        return self.size * self.dtype.itemsize

    @property
    def pointer(self) -> int:
        """Address of the first element on the device."""
        return self.buffer.ptr + self.offset

    # -- reading

    def fetch(self) -> np.ndarray:
        """The values, as an array of their own; its strides are those of the window where that saves a copy."""
        return transfer.read(self)

    def item(self, key: Any = ()) -> Any:
        """One element as a Python number; `key` indexes all axes."""
        at, rest = self._locate(key)
        if rest != len(self.shape):
            raise ValueError(f"{key} is not the index of one element of shape {self.shape}")
        return self.buffer.fetch(at, self.dtype.itemsize).view(self.dtype).item()

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        if copy is False:
            raise ValueError("memory of a device cannot be seen by NumPy; a copy is needed")
        return self.fetch() if dtype is None else self.fetch().astype(dtype, copy=False)

    def astype(self, dtype) -> np.ndarray:
        """The values, cast."""
        return self.fetch().astype(dtype, copy=False)

    def copy(self) -> np.ndarray:
        """The values, row by row."""
        return np.ascontiguousarray(self.fetch())

    def reshape(self, shape: tuple):
        """The window itself if the shape is the same, else the values in that shape."""
        return self if tuple(shape) == self.shape else self.fetch().reshape(shape)

    # -- windows

    def __getitem__(self, key):
        at, rest = self._locate(key)
        if rest == len(self.shape) and not _has_ellipsis(key):
            return self.item(key)
        return DeviceArray(self.buffer, at, self.shape[rest:], self.strides[rest:], self.dtype)

    def along(self, axis: int, k: int) -> DeviceArray:
        """The window without `axis`, at index `k` of it."""
        shape, strides = self.shape, self.strides
        return DeviceArray(
            self.buffer,
            self.offset + k * strides[axis],
            shape[:axis] + shape[axis + 1 :],
            strides[:axis] + strides[axis + 1 :],
            self.dtype,
        )

    def view(self, dtype) -> DeviceArray:
        """The same bytes as another dtype of the same size."""
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self
        if dtype.itemsize != self.dtype.itemsize:
            raise TypeError(f"{self.dtype} and {dtype} differ in size")
        return DeviceArray(self.buffer, self.offset, self.shape, self.strides, dtype)

    def element(self) -> DeviceElement:
        """The window as the element views of the language take it."""
        return DeviceElement(self)

    def _locate(self, key) -> tuple:
        """Where the window of `key` begins, and how many axes the key takes away."""
        if key is Ellipsis:
            return self.offset, 0
        if type(key) is not tuple:
            key = (key,)
        if _has_ellipsis(key):
            key = key[:-1]
        if len(key) > len(self.shape):
            raise IndexError(f"{len(key)} indices for {len(self.shape)} axes")
        at = self.offset
        for k, n, step in zip(key, self.shape, self.strides):
            if not 0 <= k < n:
                raise IndexError(f"index {key} is outside of shape {self.shape}")
            at += int(k) * step
        return at, len(key)

    # -- writing

    def __setitem__(self, key, value) -> None:
        at, rest = self._locate(key)
        if rest:
            DeviceArray(self.buffer, at, self.shape[rest:], self.strides[rest:], self.dtype).assign(value)
        else:
            self.assign(value)

    def assign(self, value) -> None:
        """Store a number, an array that broadcasts to the shape, or another window. Casts without a check."""
        if isinstance(value, DeviceArray):
            transfer.copy(self, value)
            return
        with np.errstate(invalid="ignore", over="ignore"):
            values = np.asarray(value, dtype=self.dtype)
        if values.shape == self.shape:
            transfer.write(self, values)
        else:
            transfer.fill(self, values)

    def __repr__(self) -> str:
        return f"<DeviceArray of shape {self.shape}, {self.dtype}, at {self.pointer:#x}>"


class DeviceElement:
    """One number, vector or matrix on a device, where the language expects the NumPy view of an element.

    Reading gives NumPy values, not windows.
    """

    __slots__ = ("_window",)

    def __init__(self, window: DeviceArray):
        self._window = window

    @property
    def shape(self) -> tuple:
        """Extents."""
        return self._window.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._window.shape)

    @property
    def dtype(self) -> np.dtype:
        """Type of the numbers."""
        return self._window.dtype

    def view(self, dtype) -> DeviceElement:
        """The same bytes as another dtype of the same size."""
        return DeviceElement(self._window.view(dtype))

    def astype(self, dtype) -> np.ndarray:
        """The values, cast."""
        return self._window.astype(dtype)

    def __getitem__(self, key):
        if _is_index(key, self._window.shape):
            return self._window.dtype.type(self._window.item(key))
        return self._window.fetch()[key]

    def __setitem__(self, key, value) -> None:
        if key is Ellipsis or _is_index(key, self._window.shape):
            self._window[key] = value
            return
        values = self._window.fetch()
        values[key] = value
        self._window.assign(values)

    def get(self) -> Any:
        """The number of a scalar element."""
        value = self._window.item()
        return int(value) if isinstance(value, bool) else value

    def set(self, value) -> None:
        """Store the number of a scalar element."""
        from quadrants.data import host_values

        self._window.assign(host_values.store_value(value, self._window.dtype))


def _has_ellipsis(key) -> bool:
    return key is Ellipsis or (type(key) is tuple and len(key) > 0 and key[-1] is Ellipsis)


def _is_index(key, shape: tuple) -> bool:
    """True for ints that index every axis without wrap-around."""
    key = key if type(key) is tuple else (key,)
    return len(key) == len(shape) and all(isinstance(k, (int, np.integer)) and 0 <= k < n for k, n in zip(key, shape))
