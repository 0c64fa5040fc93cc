"""User-facing type objects of small vectors and matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quadrants import caller
from quadrants.errors import QuadrantsSyntaxError
from quadrants.ir import types as ir
from quadrants.lang import containers, kernel_hook
from quadrants.lang.primitive_types import DefaultDType, kept_dtype, to_numpy_type
from quadrants.lang.store import cast_integer


class CompoundType:
    """Base of the types that are made of several scalars."""

    __slots__ = ()

    def ir_type(self) -> ir.TensorType | ir.StructType | None:
        """The IR type this stands for under the current `qd.init`, or None if a size or the dtype is open."""
        raise NotImplementedError


class TensorTypeBase(CompoundType):
    """What VectorType and MatrixType share. `n`, `m`, `dtype` are None where an annotation leaves them open."""

    __slots__ = ("n", "m", "_dtype")

    ndim = 0

    def __init__(self, n: int | None, m: int | None, dtype: Any):
        self.n = _extent(n, "n")
        self.m = _extent(m, "m")
        self._dtype = dtype if dtype is None or isinstance(dtype, DefaultDType) else kept_dtype(dtype)

    @property
    def dtype(self) -> ir.DType | None:
        """Element dtype, or None. That of the `qd.math` types follows the last `qd.init`."""
        dtype = self._dtype
        return dtype.resolve() if isinstance(dtype, DefaultDType) else dtype

    def get_shape(self) -> tuple:
        """(n,) of a vector type, (n, m) of a matrix type."""
        raise NotImplementedError

    def ir_type(self) -> ir.TensorType | None:
        """IR type under the current `qd.init`; None if an extent or the dtype is open."""
        shape, dtype = self.get_shape(), self.dtype
        if dtype is None or None in shape:
            return None
        return ir.tensor_type(shape, dtype)

    def to_string(self) -> str:
        """E.g. 'VectorType[3, f32]'."""
        return str(self)

    def __call__(self, *args: Any) -> Any:
        """A value of this type from one scalar (for all elements), or from pieces flattened left to right.

        Pieces are numbers, lists and tuples (one level), NumPy arrays, vectors and matrices. Reals are truncated for
        an integer dtype and integers wrap to its width; surplus elements are ignored. Raises QuadrantsSyntaxError
        without arguments, IndexError if elements are missing, TypeError for an integer beyond 64 bits.
        """
        if kernel_hook.has_value(args) or kernel_hook.in_kernel():
            return kernel_hook.dispatch("compound_type", (self, *args))
        return self._instantiate(args)

    def _instantiate(self, args: tuple) -> Any:
        from quadrants.lang.matrix import Matrix, wrap

        shape = self.get_shape()
        if not args:
            raise QuadrantsSyntaxError("Custom type instances need to be created with an initial value.")
        if None in shape:
            raise QuadrantsSyntaxError(f"{self} has no size; give n (and m) to create instances of it.")
        count = int(np.prod(shape))
        if len(args) == 1:
            (only,) = args
            if not isinstance(only, (list, tuple, np.ndarray, Matrix)):
                args = (only,) * count
            elif isinstance(only, (list, tuple)):
                args = tuple(only)
        flat = flatten(args)
        if len(flat) < count:
            raise IndexError(f"{self} needs {count} elements, but only {len(flat)} are given.")
        if len(flat) > count:
            caller.warn(f"{self} needs {count} elements, and {len(flat)} are given; the last ones are dropped.")
        return wrap(_cast_list(flat[:count], self.dtype).reshape(shape))

    def field(self, **kwargs: Any) -> Any:
        """A field of this element type: see `qd.Matrix.field` for `shape`, `order`, `needs_grad`, `layout`, ..."""
        return containers.factories().matrix_field(self.n, self.m, self._container_dtype(), ndim=self.ndim, **kwargs)

    def ndarray(self, shape: Any, needs_grad: bool = False) -> Any:
        """An ndarray of this element type with that shape (an int or a sequence of ints)."""
        return containers.factories().matrix_ndarray(
            self.n, self.m, self._container_dtype(), shape, needs_grad=needs_grad, ndim=self.ndim
        )

    def _container_dtype(self) -> ir.DType:
        dtype = self.dtype
        if dtype is None or None in self.get_shape():
            raise QuadrantsSyntaxError(f"{self} leaves its size or dtype open; containers need both.")
        return dtype


class VectorType(TensorTypeBase):
    """Type of vectors with `n` elements: `ndim == 1`, `m == 1`.

    With `unpacked=True` it is a storage hint, valid only as the annotation of a `@qd.dataclass` member: the member
    `r` becomes `n` scalar members `_r0`, `_r1`, ...

        v = qd.math.vec3(1.0, 2.0, 3.0)  # qd.math.vec3 is qd.types.vector(3, float)
    """

    __slots__ = ("unpacked",)

    ndim = 1

    def __init__(self, n: int | None = None, dtype: Any = None, unpacked: bool = False):
        super().__init__(n, 1, dtype)
        self.unpacked = bool(unpacked)

    def get_shape(self) -> tuple:
        return (self.n,)

    def __str__(self) -> str:
        hint = ", unpacked=True" if self.unpacked else ""
        return f"VectorType[{self.n}, {self.dtype or ''}{hint}]"

    __repr__ = __str__

    def reject_unpacked(self, action: str) -> None:
        """Raise QuadrantsSyntaxError if this is an unpacked vector type; `action` says what was tried with it."""
        if self.unpacked:
            raise QuadrantsSyntaxError(
                f"cannot {action} a vector declared with unpacked=True: it is only a storage hint for members of a "
                "@qd.dataclass. Drop unpacked=True here."
            )

    def __call__(self, *args: Any) -> Any:
        self.reject_unpacked("instantiate")
        return super().__call__(*args)

    __call__.__doc__ = TensorTypeBase.__call__.__doc__

    def field(self, **kwargs: Any) -> Any:
        self.reject_unpacked("make a field of")
        return super().field(**kwargs)

    field.__doc__ = TensorTypeBase.field.__doc__

    def ndarray(self, shape: Any, needs_grad: bool = False) -> Any:
        self.reject_unpacked("make an ndarray of")
        return super().ndarray(shape, needs_grad)

    ndarray.__doc__ = TensorTypeBase.ndarray.__doc__


class MatrixType(TensorTypeBase):
    """Type of `n` x `m` matrices: `ndim == 2`, also when `m == 1`.

    m = qd.math.mat2([[1.0, 0.0], [0.0, 1.0]])  # qd.math.mat2 is qd.types.matrix(2, 2, float)
    """

    __slots__ = ()

    ndim = 2

    def __init__(self, n: int | None = None, m: int | None = None, dtype: Any = None):
        super().__init__(n, m, dtype)

    def get_shape(self) -> tuple:
        return (self.n, self.m)

    def __str__(self) -> str:
        return f"MatrixType[{self.n},{self.m}, {self.dtype or ''}]"

    __repr__ = __str__


def _extent(value: Any, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if value < 0:
        raise ValueError(f"{name} must not be negative, but is {value}")
    return int(value)


def flatten(pieces: Sequence) -> list:
    """Elements of numbers, lists (one level), arrays, vectors and matrices, left to right, rows first."""
    from quadrants.lang.matrix import Matrix

    flat: list = []
    for piece in pieces:
        if isinstance(piece, Matrix):
            flat.extend(piece._data.ravel().tolist())
        elif isinstance(piece, np.ndarray):
            flat.extend(piece.ravel().tolist())
        elif isinstance(piece, (list, tuple)):
            flat.extend(piece)
        else:
            flat.append(piece)
    return flat


def _cast_list(flat: list, dtype: ir.DType | None) -> np.ndarray:
    if dtype is None:
        return np.array([float(x) for x in flat])
    numbers = [float(x) if dtype.is_real else cast_integer(x, dtype) for x in flat]
    with np.errstate(over="ignore"):
        return np.array(numbers, dtype=to_numpy_type(dtype))
