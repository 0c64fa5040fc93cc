"""Ndarrays: dense arrays of numbers, vectors or matrices with memory of their own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quadrants import caller
from quadrants._ext.core import ArrayBase, Writes, intern_token, members
from quadrants.data import bulk, context, dtypes, host_access, host_values, memory, refusals, shapes
from quadrants.data.interop_numpy import NumpyExchange
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.types import tensor_type


class NdarrayTypeMetadata:
    """What an annotation is checked against: `element_type`, `shape` (canonical) and `needs_grad`."""

    __slots__ = ("element_type", "shape", "needs_grad")

    def __init__(self, element_type, shape: tuple | None, needs_grad: bool):
        self.element_type, self.shape, self.needs_grad = element_type, shape, needs_grad


class Family:
    """What an ndarray and its gradient have in common, as long as one of them lives."""

    __slots__ = ("__weakref__",)


class Ndarray(NumpyExchange, ArrayBase):
    """Base of `ScalarNdarray`, `VectorNdarray` and `MatrixNdarray`.

    `shape` is canonical, without element axes; `dtype` is the scalar type, `element_type` the type of an element;
    `layout` gives the canonical axis per storage axis (None: row-major); `arr` is the native memory; `grad` is the
    ndarray of gradients or None. After `qd.reset()` all but `layout` are None and use raises `QuadrantsRuntimeError`.
    Instances take any further attributes.

        a = qd.ndarray(qd.f32, 8)  # a qd.Ndarray
        a.fill(1.0)
    """

    grad: Any  # kept by the launch core, like the next
    shape: Any
    _role = ""  # "grad" of gradients

    __iter__ = None  # else Python would iterate by index for ever; this gives a TypeError

    def __init__(self, dtype, element_shape: tuple, shape, needs_grad: bool = False, layout=None):
        context.require()
        generation = context.generation()
        dtype = dtypes.ndarray_dtype(dtype)
        shape = shapes.ndarray_shape(shape)
        layout = shapes.tensor_layout(layout, len(shape))
        if needs_grad and not dtype.is_real:
            raise QuadrantsRuntimeError(
                f"{dtype} is not supported for ndarray with `needs_grad=True` or `needs_dual=True`; "
                "gradients need f16, f32 or f64."
            )
        physical = tuple(shape[axis] for axis in layout) if layout else shape
        buffer = memory.allocate(math.prod(physical) * dtypes.element_bytes(dtype, element_shape))
        grad = type(self)._blank(dtype, element_shape, shape, False, layout) if needs_grad else None
        self._family = Family()
        if grad is not None:
            grad._role, grad._family = "grad", self._family
        self.shape = shape
        self.dtype = dtype
        self.element_type = tensor_type(element_shape, dtype) if element_shape else dtype
        self.layout = layout
        self.arr = buffer
        self._element_shape = element_shape
        self._writes = Writes() if dtype.is_integral else None
        self._bind(buffer, buffer.ptr, shape, grad)  # canonical: kernels know the layout
        self._items: Any = _canonical_view(buffer, dtype, physical + element_shape, layout)
        self.token = intern_token(("ndarray", str(self.element_type), len(shape), needs_grad, layout))
        context.live_ndarrays().add(self)
        if generation != context.generation():  # a thread ended the runtime meanwhile, and may not have seen the array
            self._kill()
        if math.prod(shape + element_shape) > shapes.MAX_EXTENT:
            caller.warn(f"Ndarray index might be out of int32 boundary: shape {shape + element_shape}")

    @classmethod
    def _blank(cls, dtype, element_shape: tuple, shape, needs_grad: bool = False, layout=None) -> Ndarray:
        """An array of this class by the arguments of the base class, whatever the constructor of `cls` takes."""
        made = cls.__new__(cls)
        Ndarray.__init__(made, dtype, element_shape, shape, needs_grad, layout)
        return made

    def _kill(self) -> None:
        """Detach from the memory; views that users still hold keep it alive."""
        self._items = None
        self.shape = self.dtype = self.element_type = self.arr = None
        self._bind(None, 0, (), None)
        ArrayBase._kill(self)

    def _live(self) -> np.ndarray:
        items = self._items
        if items is None:
            raise QuadrantsRuntimeError(
                "This ndarray is dead: its memory went with qd.reset() or a new qd.init(). Create it again."
            )
        return items

    def _check_usable(self) -> None:
        if self._items is None:
            self._live()

    # -- what it is

    @property
    def element_shape(self) -> tuple:
        """`()`, `(n,)` or `(n, m)`."""
        return self._element_shape

    @property
    def n(self) -> int:
        """Rows of an element; 1 for scalars."""
        return (*self._element_shape, 1)[0]

    @property
    def m(self) -> int:
        """Columns of an element; 1 for scalars and vectors."""
        return (*self._element_shape, 1, 1)[1]

    def has_grad(self) -> bool:
        """True if the array owns a gradient."""
        return self.grad is not None

    def has_dual(self) -> bool:
        """Ndarrays have no duals: False."""
        return False

    def get_type(self) -> NdarrayTypeMetadata:
        """What annotations are checked against."""
        return NdarrayTypeMetadata(self.element_type, self.shape, self.has_grad())

    def _get_element_size(self) -> int:
        """Bytes per element."""
        self._live()
        return dtypes.element_bytes(self.dtype, self._element_shape)

    def _get_nelement(self) -> int:
        """Number of elements."""
        self._live()
        return math.prod(self.shape)

    # -- elements

    def __getitem__(self, key) -> Any:
        """`a[i, j]`: an int, a float, or a live vector or matrix. A slice of a 1-d array gives a `BufferView`.

        `QuadrantsIndexError` for a wrong number of indices or out of range, `TypeError` for other keys.
        """
        if isinstance(key, slice):
            from quadrants.data.buffer_view import BufferView

            self._live()
            return BufferView._from_slice(self, key, 0, None)
        return self._read(self._position(key))

    def _position(self, key) -> tuple:
        self._live()
        index = host_access.ndarray_index(key, len(self.shape))
        host_access.check_ndarray_bounds(index, self.shape)
        return index

    def _read(self, index: tuple):
        self._expose()
        return host_values.live_matrix(self._items[index], self.dtype)

    def __setitem__(self, key, value) -> None:
        """Write a whole element from a sequence. `IndexError` if it is too short, `TypeError` for a scalar."""
        index = self._position(key)
        values = host_access.element_values(value, self._element_shape, self.dtype)
        self._items[index] = host_values.store_value(values, dtypes.numpy_dtype(self.dtype))
        self._written()

    @property
    def _flags(self) -> Ndarray:
        """The u8 flags that validation keeps for this array, made when first asked for."""
        from quadrants.data import check_flags

        return check_flags.of_ndarray(self)

    # -- who has to know of writes

    def _written(self) -> None:
        """The host wrote elements."""
        if self._writes is not None:
            self._writes.advance()

    def _expose(self) -> None:
        """A view of the data is given away, through which it may be written at any time."""
        if self._writes is not None:
            self._writes.expose()

    # -- whole content

    def _content(self) -> np.ndarray:
        dtype = self.dtype  # first: another thread's qd.init takes it last
        return self._live().view(dtypes.numpy_dtype(dtype))

    def _strided(self) -> np.ndarray:
        return self._content()

    def _memory(self):
        self._live()
        return self.arr

    def _no_view_reason(self) -> None:
        return None

    def _store_all(self, array: np.ndarray) -> None:
        content = self._content()
        content[...] = bulk.cast(array, content.dtype)
        self._written()

    def _check_import(self, array: np.ndarray) -> np.ndarray:
        self._live()
        expected = self.shape + self._element_shape
        if array.shape != expected:
            raise ValueError(f"Mismatch shape: {expected} expected, but {array.shape} provided")
        return array

    def fill(self, val) -> None:
        """Set every element to a number, or for compound elements to a nested list, vector or matrix. Casts as C."""
        dtype, content = self.dtype, self._content()
        if self._element_shape and hasattr(val, "__len__"):
            values = host_access.element_values(val, self._element_shape, dtype)
            flat = [bulk.number(x, dtype) for x in values.ravel()]
            content[...] = np.array(flat, content.dtype).reshape(self._element_shape)
        else:
            content[...] = bulk.number(val, dtype)
        self._written()

    def copy_from(self, other: Ndarray) -> None:
        """Take over the values of an ndarray of equal shape and element shape, cast to this dtype.

        `AssertionError` for anything else.
        """
        other = other._unwrap() if hasattr(other, "_unwrap") else other
        if not isinstance(other, Ndarray):
            raise AssertionError(f"copy_from needs a qd.ndarray, not {refusals.not_a_source(other)}")
        self._live(), other._live()
        if self.shape != other.shape or self._element_shape != other._element_shape:
            mine, theirs = self.shape + self._element_shape, other.shape + other._element_shape
            raise AssertionError(f"copy_from shape mismatch: destination {mine} vs source {theirs}")
        self._store_all(other._content())

    # -- copies and pickles

    def __deepcopy__(self, memo: dict) -> Ndarray:
        """An independent array with the same layout, without the gradient."""
        content = self._content()
        made = type(self)._blank(self.dtype, self._element_shape, self.shape, False, self.layout)
        made._content()[...] = content
        memo[id(self)] = made
        return made

    def __copy__(self) -> Ndarray:
        """As `copy.deepcopy`: an ndarray cannot share its memory with a copy."""
        return self.__deepcopy__({})

    def __reduce_ex__(self, protocol):
        """Keeps dtype, shape, element shape and values; drops gradient and layout."""
        values = self.to_numpy()
        return restore, (PICKLE_VERSION, self.dtype.name, self.shape, self._element_shape, values)

    def __str__(self) -> str:
        from quadrants.data import shown

        return f"{self!r} {shown.description(self)}"


class ScalarNdarray(Ndarray):
    """An ndarray of numbers.

    a = qd.ndarray(qd.f32, 8)  # a qd.ScalarNdarray
    """

    def __init__(self, dtype, arr_shape, needs_grad: bool = False, layout=None):
        Ndarray.__init__(self, dtype, (), arr_shape, needs_grad, layout)

    def __getitem__(self, key) -> Any:
        items = self._items
        if items is not None and host_access.is_plain_index(key, self.shape):
            return items.item(key)
        return Ndarray.__getitem__(self, key)

    __getitem__.__doc__ = Ndarray.__getitem__.__doc__

    def _read(self, index: tuple):
        return self._items.item(index)

    def __setitem__(self, key, value) -> None:
        """Write one element: integers wrap to the width, a real number into an integer array is a `TypeError`."""
        items = self._items
        if items is None or not host_access.is_plain_index(key, self.shape):
            key = self._position(key)
        self._items[key] = host_access.stored(value, self.dtype)
        if self._writes is not None:
            self._writes.advance()

    def __repr__(self) -> str:
        return "<qd.ndarray>"


class VectorNdarray(Ndarray):
    """An ndarray of vectors with `n` components.

    v = qd.Vector.ndarray(3, qd.f32, shape=8)  # a qd.VectorNdarray
    """

    def __init__(self, n: int, dtype, shape, needs_grad: bool = False):
        Ndarray.__init__(self, dtype, (int(n),), shape, needs_grad)

    def __repr__(self) -> str:
        return f"<{self.n} Layout.AOS qd.Vector.ndarray>"


class MatrixNdarray(Ndarray):
    """An ndarray of `n` x `m` matrices.

    m = qd.Matrix.ndarray(3, 3, qd.f32, shape=8)  # a qd.MatrixNdarray
    """

    def __init__(self, n: int, m: int, dtype, shape, needs_grad: bool = False):
        Ndarray.__init__(self, dtype, (int(n), int(m)), shape, needs_grad)

    def __repr__(self) -> str:
        return f"<{self.n}x{self.m} Layout.AOS qd.Matrix.ndarray>"


CLASSES = (ScalarNdarray, VectorNdarray, MatrixNdarray)

PICKLE_VERSION = 1


def make(dtype, element_shape: tuple, shape, needs_grad: bool, layout=None) -> Ndarray:
    """An ndarray of the class that fits `element_shape`."""
    return CLASSES[len(element_shape)]._blank(dtype, element_shape, shape, needs_grad, layout)


def restore(version: int, dtype_name: str, shape: tuple, element_shape: tuple, values: np.ndarray) -> Ndarray:
    """Unpickle. `RuntimeError` without a runtime, `ValueError` for a version this package does not know."""
    from quadrants.ir.types import primitive

    if version != PICKLE_VERSION:
        raise ValueError(f"pickled ndarray has version {version!r}, this package reads version {PICKLE_VERSION}")
    if not context.initialised():
        raise QuadrantsRuntimeError("qd.init() must be called before unpickling ndarrays")
    made = make(primitive(dtype_name), tuple(element_shape), tuple(shape), False)
    made.from_numpy(values)
    return made


def _canonical_view(buffer, dtype, physical: tuple, layout: tuple | None):
    kind = dtypes.storage_dtype(dtype)
    strides = tuple(math.prod(physical[axis + 1 :]) * kind.itemsize for axis in range(len(physical)))
    axes = range(len(physical))
    if layout is not None:
        rank = len(layout)
        axes = [*(layout.index(axis) for axis in range(rank)), *range(rank, len(physical))]
    return memory.array(buffer, tuple(physical[k] for k in axes), kind, 0, tuple(strides[k] for k in axes))


def clear() -> None:
    """Kill every live ndarray; called when the runtime goes."""
    for array in members(context.live_ndarrays()):
        array._kill()


context.on_first_container(lambda session: session.on_clear(clear))
