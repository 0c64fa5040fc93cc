"""Exchange of whole containers with NumPy, torch and DLPack: copies, views, and when a view is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quadrants.data import bulk, context, dlpack, dtypes, memory
from quadrants.data.device_exchange import DeviceExchange
from quadrants.errors import QuadrantsRuntimeError


class NumpyExchange(DeviceExchange):
    """Mixin of every container with one dtype.

    The container supplies `_check_usable()` (it has memory, or an error says why not), `_content()` (an array with one
    axis per storage level), `_strided()` (a live canonical array, or None), `_store_all(array)`,
    `_check_import(array)`, `_no_view_reason()`, `_memory()` (what holds the bytes), `_expose()` and `_written()` (which
    hear of views that are given away, and of writes past the container), `dtype`, `shape` and `_element_shape`. Live
    arrays are NumPy's on the host and `DeviceArray` on a device.
    """

    dtype: Any
    shape: Any
    _element_shape: tuple
    _check_usable: Callable[[], None]
    _memory: Callable[[], Any]
    _expose: Callable[[], None]
    _written: Callable[[], None]

    def _content(self) -> np.ndarray:
        raise NotImplementedError

    def _strided(self) -> np.ndarray | None:
        raise NotImplementedError

    def _store_all(self, array: np.ndarray) -> None:
        raise NotImplementedError

    def _check_import(self, array: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _export(self) -> np.ndarray:
        """Canonical array of the content: a view where there is one, else a copy."""
        return self._content().reshape(self.shape + self._element_shape)

    def _no_view_reason(self) -> str | None:
        """Why NumPy cannot alias the storage, or None."""
        raise NotImplementedError

    def _live_view(self) -> np.ndarray:
        """The content as an array that shares memory; `ValueError` (`Zero-copy not available`) if there is none."""
        reason = self._no_view_reason()
        if reason is not None:
            raise ValueError(f"Zero-copy not available for dtype={self.dtype}: {reason}; pass copy=True")
        self._expose()
        return self._export()

    def _to_numpy(self, dtype, copy) -> np.ndarray:
        self._check_usable()
        own = dtypes.numpy_dtype(self.dtype)
        wanted = bulk.requested_dtype(dtype, own)
        if copy is False and wanted != own:
            raise ValueError(f"copy=False is incompatible with dtype conversion ({own} -> {dtype})")
        out = self._take(copy, wanted == own)
        if out is None:
            content = self._export()
            out = np.array(bulk.cast(content, wanted), order="C")
        return out

    def _take(self, copy, same_dtype: bool):
        """The live view if `copy` allows one, None if a copy has to be made."""
        if copy not in (True, False, None):
            raise ValueError(f"copy must be True, False or None, not {copy!r}")
        on_host = not memory.is_device(self._memory())
        if copy is False and not on_host:
            raise ValueError("Zero-copy numpy requires a CPU backend: this data is on a device; pass copy=True")
        if copy is False:
            return self._live_view()
        if copy is None and on_host and same_dtype and self._no_view_reason() is None:
            self._expose()
            return self._export()
        return None

    def to_numpy(self, dtype: Any = None, *, copy: Any = True) -> np.ndarray:
        """The content as an array of shape `shape + element shape`, in canonical order, zero-based.

        dtype: a NumPy dtype to cast to (as C casts do). copy: True gives an independent array; False gives a view
        that shares memory or raises `ValueError`; None gives a view where there is one, else a copy.
        """
        return self._to_numpy(dtype, copy)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        """What `np.asarray(x)`, matplotlib and pandas call: a copy, unless `copy=False` asks for a view."""
        array = self._to_numpy(None, copy is not False)
        if dtype is None or np.dtype(dtype) == array.dtype:
            return array
        if copy is False:
            raise ValueError(f"a view has the dtype of the container, {array.dtype}, not {np.dtype(dtype)}")
        return array.astype(dtype)

    def _repr_html_(self) -> str:
        """What notebooks show: what it is, and its first elements."""
        from quadrants.data import shown

        return shown.table(self, repr(self))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What the console of IPython shows; `repr` is the short form that other programs know."""
        from quadrants.data import shown

        printer.text(f"{self!r} {shown.description(self)}")

    def from_numpy(self, arr: np.ndarray) -> None:
        """Take over an array of shape `shape + element shape`, cast as C casts do.

        Raises `TypeError` for other objects or for dtypes without counterpart, `ValueError` for another shape.
        """
        source = bulk.source_array(arr, "from_numpy")
        self._store_all(self._check_import(source))

    def to_torch(self, device: Any = None, *, copy: Any = True) -> Any:
        """The content as a torch tensor on `device`. `copy` as in `to_numpy`.

        device: None is torch's default device for a copy, the CPU unless a program chose another one, and where the
        data is for a view.

        `ValueError` if `copy=False` and there is no view, or the device is another one.
        """
        from quadrants.data import interop_torch

        return interop_torch.export(self, lambda array: array, device, copy)

    def from_torch(self, arr: Any) -> None:
        """Take over a torch tensor from any device; rules as in `from_numpy`."""
        from quadrants.data import interop_torch

        interop_torch.store(self, arr)

    def to_dlpack(self, versioned: bool = False) -> Any:
        """A DLPack capsule that shares memory and keeps it alive: `dltensor`, or `dltensor_versioned`.

        `RuntimeError` where the storage is no strided array. The caller synchronises.
        """
        self._check_usable()
        context.materialize()
        content = self._strided()
        if content is None:
            raise QuadrantsRuntimeError("DLPack needs one strided array, which the storage of this field is not")
        self._expose()
        return dlpack.capsule(content, versioned)
