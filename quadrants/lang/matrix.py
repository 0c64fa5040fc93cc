"""`qd.Matrix` and `qd.Vector`: small matrices as Python scope sees them, backed by a NumPy array."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from quadrants.errors import QuadrantsRuntimeError, QuadrantsTypeError
from quadrants.ir.conversion import cast
from quadrants.ir.types import DType
from quadrants.lang import kernel_hook, scope, swizzle, tensor_like
from quadrants.lang.matrix_containers import MatrixContainers, VectorContainers
from quadrants.lang.matrix_factories import MatrixFactories
from quadrants.lang.matrix_methods import MatrixMethods
from quadrants.lang.matrix_ops import MatrixOperators, operand
from quadrants.lang.primitive_types import from_numpy_type, resolve_dtype, to_numpy_type
from quadrants.lang.store import cast_integer
from quadrants.lang.tensor_like import TensorLike

MAX_SUGGESTED_ENTRIES = 144


class Matrix(MatrixContainers, MatrixFactories, MatrixMethods, MatrixOperators, TensorLike):
    """A small matrix (or vector: the rank follows the nesting of `arr`) with one element dtype.

    Args:
        arr: list, tuple or NumPy array, nested once (vector) or twice (matrix). Python ints become int64 and floats
            float64, as NumPy does.
        dt: primitive type of the elements; for an integer type reals are truncated and integers wrap to its width.

    In Python scope values are NumPy's: operators return new values, item and swizzle assignment write in place, where
    integers wrap.
    In kernels `qd.Matrix` and `qd.Vector` build values of kernel scope.

    Raises QuadrantsTypeError if `arr` is not array-like, ValueError for rows of unequal length.

        m = qd.Matrix([[1.0, 0.0], [0.0, 1.0]])
    """

    __slots__ = ("_data", "__weakref__")

    # Read by the frontend, which must know host matrices without importing this module.
    _qd_host_matrix = True

    def __new__(cls, arr: Any, dt: Any = None, **kwargs: Any):
        if kernel_hook.in_kernel() or kernel_hook.has_value((arr,)):
            return kernel_hook.dispatch(cls.__name__, (arr, dt), kwargs)
        return object.__new__(cls)

    def __init__(self, arr: Any, dt: Any = None):
        object.__setattr__(self, "_data", as_entries(arr, dt))
        warn_if_large(self._data.shape)

    @staticmethod
    def _wrap(data: Any) -> Any:
        return wrap(data)

    @staticmethod
    def _view(cell: np.ndarray, dtype: DType | None = None) -> Matrix:
        """A live element of a container on memory that NumPy aliases: see `element_view.view`."""
        from quadrants.lang import element_view

        return element_view.view(cell, dtype)

    @staticmethod
    def _view_through(read: Callable[[], np.ndarray], write: Callable[[np.ndarray], None]) -> Matrix:
        """A live element of a container behind two callables: see `element_view.view_through`."""
        from quadrants.lang import element_view

        return element_view.view_through(read, write)

    # Shape

    @property
    def _shape(self) -> tuple:
        return self._data.shape

    @property
    def n(self) -> int:
        """Number of rows; length of a vector."""
        return self._shape[0]

    @property
    def m(self) -> int:
        """Number of columns; 1 for a vector."""
        return self._shape[1] if len(self._shape) == 2 else 1

    @property
    def ndim(self) -> int:
        """1 for a vector, 2 for a matrix."""
        return len(self._shape)

    def get_shape(self) -> tuple:
        """(n,) of a vector, (n, m) of a matrix."""
        return self._shape

    def __len__(self) -> int:
        return self._shape[0]

    # Elements

    def __getitem__(self, indices: Any) -> Any:
        """`v[i]`, `m[i, j]`: a NumPy scalar; with slices a NumPy array. AssertionError for a wrong index count."""
        if kernel_hook.has_value(_index_tuple(indices)):
            return kernel_hook.dispatch("Matrix.__getitem__", (self, indices))
        return self._element(self._checked(indices))

    def __setitem__(self, indices: Any, item: Any) -> None:
        self._store(self._checked(indices), operand(item))

    def _checked(self, indices: Any) -> tuple:
        indices = _index_tuple(indices)
        if len(indices) != len(self._shape):
            raise AssertionError(f"Expected {len(self._shape)} indices, got {len(indices)}")
        for i in indices:
            if i is None or i is Ellipsis:
                raise IndexError(f"{i} is no index of a matrix; use an int or a slice")
        return indices

    def _element(self, indices: Any) -> Any:
        return self._data[indices]

    def _store(self, indices: Any, item: Any) -> None:
        data = self._data
        if data.dtype.kind in "iu" and not isinstance(item, (int, np.integer)):
            item = _whole(item, data.dtype)
        try:
            data[indices] = item
        except OverflowError:
            data[indices] = _converted(item, from_numpy_type(data.dtype))

    def _assign(self, value: Any) -> None:
        """Write all elements from a sequence of this shape; surplus elements are ignored.

        Raises TypeError for a number or another rank, IndexError if elements are missing.
        """
        if isinstance(value, Matrix):
            value = value._data
        elif not isinstance(value, np.ndarray):
            if not isinstance(value, (list, tuple)):
                raise TypeError(f"a sequence is expected for a value of shape {self.get_shape()}, not {value!r}")
            value = np.array([x._data if isinstance(x, Matrix) else x for x in value], dtype=object)
        shape = self._shape
        if value.ndim != len(shape):
            raise TypeError(f"a sequence of shape {shape} is expected, not one of rank {value.ndim}")
        if any(have < need for have, need in zip(value.shape, shape, strict=True)):
            raise IndexError(f"{shape} elements are expected, but only {value.shape} are given")
        self._store(..., value[tuple(slice(0, extent) for extent in shape)])

    def __iter__(self) -> Iterator:
        data = self._data
        return iter(data) if data.ndim == 1 else (list(row) for row in data)

    def __getattr__(self, name: str) -> Any:
        # Dunder probes (copy, pickle, NumPy protocols) arrive before `_data` is set.
        found = None if name.startswith("_") else swizzle.indices(name, self._shape)
        if found is None:
            return tensor_like.attribute(self, name)
        return self._element(found[0]) if len(found) == 1 else wrap(self._data[list(found)])

    def __setattr__(self, name: str, value: Any) -> None:
        found = swizzle.indices(name, self._shape)
        if found is None:
            raise AttributeError(
                f"'{type(self).__name__}' object has no attribute '{name}' to assign; write to elements or swizzles"
            )
        if len(found) == 1:
            self._store(found[0], operand(value))
            return
        values = list(value) if hasattr(value, "__len__") else [value]
        if len(values) != len(found):
            raise QuadrantsRuntimeError(f"value len does not match the swizzle pattern={name}")
        for i, x in zip(found, values, strict=True):
            self._store(i, x)

    # Conversion

    def to_list(self) -> list:
        """The elements as Python numbers, nested for a matrix."""
        return self._data.tolist()

    def to_numpy(self) -> np.ndarray:
        """The backing array of a plain value (no copy), a copy of a live element of a field or ndarray."""
        return self._data

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        data = self._data
        if dtype is not None and np.dtype(dtype) != data.dtype:
            if copy is False:
                raise ValueError(f"converting {data.dtype} to {np.dtype(dtype)} needs a copy")
            return data.astype(dtype)
        return data.copy() if copy else data

    def __str__(self) -> str:
        return str(self._data)

    def __repr__(self) -> str:
        return str(self._data)

    def __copy__(self) -> Matrix:
        return wrap(np.array(self._data), Vector if isinstance(self, Vector) else Matrix)

    def __deepcopy__(self, memo: dict) -> Matrix:
        return self.__copy__()

    def __reduce__(self):
        return (wrap, (np.array(self._data), Vector if isinstance(self, Vector) else Matrix))


Matrix.__new__.__qualname__ = "Matrix"  # the name in Python's own errors


class Vector(VectorContainers, Matrix):  # type: ignore[misc]  # the doors of a vector take no m
    """A small vector: `qd.Vector([x, y, z], dt=None)`. See `qd.Matrix`; a vector has rank 1 and swizzles (`v.xy`).

    v = qd.Vector([1.0, 2.0, 3.0])
    """

    __slots__ = ()


def wrap(data: Any, cls: Any = None) -> Any:
    """A Vector or Matrix that owns the array `data`; a NumPy scalar for rank 0."""
    if not isinstance(data, np.ndarray):
        return data
    if data.ndim == 0:
        return data[()]
    if cls is None:
        cls = Vector if data.ndim == 1 else Matrix
    out = object.__new__(cls)
    object.__setattr__(out, "_data", data)
    return out


def _index_tuple(indices: Any) -> tuple:
    if isinstance(indices, Matrix):
        return tuple(indices._data.tolist())
    if isinstance(indices, (list, tuple)):
        return tuple(indices)
    return (indices,)


def as_entries(arr: Any, dt: Any) -> np.ndarray:
    """The array behind `Matrix(arr, dt)`: always a copy, rank 1 or 2."""
    if not isinstance(arr, (list, tuple, np.ndarray)) or (isinstance(arr, np.ndarray) and arr.ndim == 0):
        raise QuadrantsTypeError(
            "An Matrix/Vector can only be initialized with an array-like object: a list, a tuple or a NumPy array, "
            f"not {type(arr).__name__}"
        )
    if len(arr) and isinstance(arr[0], Matrix):
        raise Exception("cols/rows required when using list of vectors")
    data = _untyped(arr) if dt is None else _converted(arr, _element_type(dt))
    if data.dtype.kind not in "biuf":
        raise QuadrantsTypeError(
            f"Element type of the matrix is invalid. Got {data.dtype} from {arr!r}; use numbers that fit in 64 bits."
        )
    if data.ndim > 2:
        raise QuadrantsTypeError(f"Matrices have 1 or 2 axes, but the given entries have {data.ndim}")
    return data


def _untyped(arr: Any) -> np.ndarray:
    data = np.array(arr)
    if data.dtype.kind != "f" or isinstance(arr, np.ndarray):
        return data
    # NumPy takes integers of 64 bits beside smaller ones for real numbers.
    exact = np.array(arr, object)
    if not exact.size or not all(isinstance(x, (int, np.integer)) for x in exact.flat):
        return data
    return exact.astype(np.uint64) if exact.min() >= 0 else exact


def _whole(item: Any, dtype: np.dtype) -> Any:
    """What integers of `dtype` take of real numbers; of others NumPy takes what it takes."""
    array = np.asarray(item)
    if array.dtype.kind == "O":
        return _converted(array, from_numpy_type(dtype))
    return cast(array, dtype) if array.dtype.kind == "f" else item


def _converted(arr: Any, dtype: DType) -> np.ndarray:
    target = to_numpy_type(dtype)
    if not dtype.is_real and np.array(arr).dtype not in (np.dtype(bool), target):
        exact = np.array(arr, object)  # else large integers beside reals would be rounded
        arr = np.array([cast_integer(x, dtype) for x in exact.flat], target).reshape(exact.shape)
    with np.errstate(over="ignore"):
        return np.array(arr, target)


def _element_type(dt: Any) -> Any:
    if dt in (int, float, bool):
        raise AssertionError(f"dt={dt.__name__} is not accepted in Python scope; name a primitive type such as qd.f32")
    return resolve_dtype(dt)


def warn_if_large(shape: tuple) -> None:
    """Warn once per place about values whose elementwise code would be long."""
    if math.prod(shape) > MAX_SUGGESTED_ENTRIES and _warnings_wanted():
        size = "x".join(map(str, shape if len(shape) == 2 else (*shape, 1)))
        scope.warn(
            f"Quadrants matrices/vectors with {size} > {MAX_SUGGESTED_ENTRIES} entries are not suggested. "
            "Prefer a field or an ndarray, or a vector or matrix element inside one, for data of this size.",
            UserWarning,
        )


def _warnings_wanted() -> bool:
    from quadrants import _logging

    return _logging.is_logging_effective(_logging.WARN)
