"""`qd.BufferView`: a window on a 1-d ndarray, passed to kernels without a copy."""

from __future__ import annotations

from typing import Any

from quadrants._ext.core import ViewBase, intern_token
from quadrants.data import shapes
from quadrants.data.ndarray import Ndarray


class BufferView(ViewBase):
    """The elements `offset .. offset + size - 1` of a 1-d ndarray of scalars, vectors or matrices.

    Made by slicing an ndarray or a view, by `subview`, or directly; `BufferView[dtype]` annotates kernel parameters.
    `arr`, `offset` and `size` may be changed in place and count from the next launch on. The view keeps `arr` alive.

    Raises `TypeError` for other objects, for other ranks and for arrays with a gradient, `ValueError`
    (`out of range`) if the window leaves the array.

        a = qd.ndarray(qd.f32, shape=8)
        v = a[2:6]  # a qd.BufferView
    """

    def __init__(self, arr: Ndarray, offset: int, size: int):
        arr = _checked_array(arr)
        offset, size = shapes.window(offset, size)
        length = arr.shape[0]
        if offset < 0 or size < 0 or offset + size > length:
            raise ValueError(f"BufferView out of range: offset={offset}, size={size}, ndarray length={length}")
        self.arr = arr
        self.offset = offset
        self.size = size
        self.token = intern_token(("bufferview", str(arr.element_type)))

    @classmethod
    def __class_getitem__(cls, dtype):
        """The annotation `BufferView[dtype]` or `BufferView[dtype, "clamp"]`."""
        from quadrants.lang.annotations import BufferViewType

        return BufferViewType(*dtype) if isinstance(dtype, tuple) else BufferViewType(dtype)

    @classmethod
    def _from_slice(cls, arr: Ndarray, key: slice, base: int, length: int | None) -> BufferView:
        """The window `key` of the `length` elements of `arr` from `base` on; the whole array if `length` is None."""
        if key.step not in (None, 1):
            raise ValueError(f"BufferView slicing requires step=1, got step={key.step}")
        if length is None:
            _checked_array(arr)
            length = arr.shape[0]
        start, stop, _ = key.indices(length)
        return cls(arr, base + start, max(0, stop - start))

    @property
    def shape(self) -> tuple:
        """`(size,)`."""
        return (self.size,)

    def get_ndarray(self) -> Ndarray:
        """The ndarray that the window is on."""
        return self.arr

    def subview(self, offset: int, size: int) -> BufferView:
        """The window of `size` elements from element `offset` of this one. `ValueError` if it leaves this view."""
        offset, size = shapes.window(offset, size)
        if offset < 0 or size < 0 or offset + size > self.size:
            raise ValueError(f"subview out of range: offset={offset}, size={size}, parent size={self.size}")
        return BufferView(self.arr, self.offset + offset, size)

    def __getitem__(self, key) -> BufferView:
        """`v[a:b]` with the rules of Python slices, step 1 only. Elements are read in kernels or from `arr`."""
        if not isinstance(key, slice):
            raise TypeError(
                f"BufferView host-side indexing requires a slice, not {key!r}; read elements from get_ndarray()"
            )
        return self._from_slice(self.arr, key, self.offset, self.size)

    def subscript(self, *indices: Any) -> Any:
        """TypeError: elements are read in kernels, as `v[i]`, or from `arr`."""
        raise TypeError(
            f"A BufferView has no elements in Python scope: write v[{', '.join(map(str, indices))}] in a kernel"
        )

    __iter__ = None

    def __reduce__(self):
        return BufferView, (self.arr, self.offset, self.size)

    def __repr__(self) -> str:
        return f"BufferView(offset={self.offset}, size={self.size}, arr={self.arr!r})"


def _checked_array(arr) -> Ndarray:
    arr = arr._unwrap() if hasattr(arr, "_unwrap") else arr
    if isinstance(arr, BufferView):
        raise TypeError("Cannot nest BufferView: take a window of a view with view.subview(offset, size) or view[a:b]")
    if not isinstance(arr, Ndarray):
        raise TypeError(f"BufferView requires a 1D ndarray, not {type(arr).__name__}")
    arr._live()
    if len(arr.shape) != 1:
        raise TypeError(f"BufferView requires a 1D ndarray; slicing requires a 1D array, got {len(arr.shape)} axes")
    if arr.grad is not None:
        raise TypeError("BufferView does not support ndarrays with gradients")
    return arr
