"""`qd.Tensor`: one face for fields and ndarrays, so that a program can choose the storage by a parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quadrants._ext.core import WrapperBase
from quadrants.data.field import Field
from quadrants.data.matrix_field import MatrixField
from quadrants.data.ndarray import Ndarray
from quadrants.data.struct_field import StructField
from quadrants.errors import QuadrantsRuntimeError

if TYPE_CHECKING:
    from typing_extensions import Self  # the gradient of a class is of that class; None where there is none


class Tensor(WrapperBase):
    """Wrapper of one `Ndarray` or field. All shapes, indices and exported arrays are canonical.

    Take `qd.tensor` or `qd.wrap` to make one; `Tensor(impl)` accepts bare ndarrays and fields only (`TypeError`).
    Equality and hash are by identity.

        t = qd.tensor(qd.f32, shape=(4, 4))  # a qd.Tensor
    """

    def __init__(self, impl):
        if isinstance(impl, Tensor):
            raise TypeError("a Tensor cannot be wrapped again")
        if not isinstance(impl, (Ndarray, Field)) or isinstance(impl, StructField):
            raise TypeError(f"qd.Tensor wraps an Ndarray or a Field of numbers, not {type(impl).__name__}")
        self._impl = impl
        self._grad = None

    def _unwrap(self):
        """The ndarray or field behind the wrapper."""
        return self._impl

    @property
    def shape(self) -> tuple:
        """Canonical extents, without element axes."""
        return self._impl.shape

    @property
    def dtype(self):
        """Scalar dtype."""
        return self._impl.dtype

    @property
    def layout(self) -> tuple | None:
        """Canonical axis per storage axis, outermost first; None for row-major order."""
        return self._impl.layout

    @property
    def grad(self) -> Self | Any:
        """The wrapped gradient, always the same object. None for integers, and for ndarrays made without one."""
        impl = self._impl.grad
        if impl is None:
            return None
        if self._grad is None:
            self._grad = wrap(impl)
        return self._grad

    @property
    def _flags(self):
        """The flags that validation keeps for an ndarray."""
        return self._impl._flags

    def has_grad(self) -> bool:
        """True if a gradient has memory or a place for it."""
        return self._impl.has_grad()

    def has_dual(self) -> bool:
        """True if a dual has memory or a place for it; never for ndarrays."""
        return self._impl.has_dual()

    def __getitem__(self, key) -> Any:
        """One element as of the container; a slice of a 1-d ndarray tensor gives a `BufferView`."""
        return self._impl[self._checked_key(key)]

    def __setitem__(self, key, value) -> None:
        self._impl[self._checked_key(key)] = value

    def _checked_key(self, key):
        if self.layout is not None and isinstance(key, (int, np.integer)):
            raise TypeError(f"a tensor with layout={self.layout} requires a full tuple key, not {key!r}")
        return key

    __iter__ = None

    def fill(self, value) -> None:
        """Set every element; rules of the container."""
        self._impl.fill(value)

    def copy_from(self, other) -> None:
        """Take over the values of a tensor or container of the same backend and shape."""
        self._impl.copy_from(other)

    def to_numpy(self, dtype=None, *, copy=True) -> np.ndarray:
        """The content as an array of shape `shape + element shape`; see the container."""
        return self._impl.to_numpy(dtype=dtype, copy=copy)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        """For `np.asarray(x)`; see the container."""
        return self._impl.__array__(dtype, copy)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from quadrants.data import shown

        return shown.table(self._impl, repr(self))

    def from_numpy(self, arr) -> None:
        """Take over an array of shape `shape + element shape`."""
        self._impl.from_numpy(arr)

    def to_torch(self, device=None, *, copy=True):
        """The content as a torch tensor; see the container."""
        return self._impl.to_torch(device=device, copy=copy)

    def from_torch(self, arr) -> None:
        """Take over a torch tensor of shape `shape + element shape`."""
        self._impl.from_torch(arr)

    def to_dlpack(self, versioned: bool = False):
        """A DLPack capsule that shares memory; see the container."""
        return self._impl.to_dlpack(versioned)

    def _backend(self):
        from quadrants.lang.enums import Backend

        return Backend.NDARRAY if isinstance(self._impl, Ndarray) else Backend.FIELD

    def __deepcopy__(self, memo: dict) -> Tensor:
        """An independent tensor of the same backend and layout, without the gradient."""
        made = _restore(*self.__reduce_ex__(2)[1])
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol):
        """Keeps data, dtype, shape, element shape, backend and layout; drops the gradient."""
        impl = self._impl
        impl._check_usable()
        state = (impl.dtype.name, impl.shape, impl._element_shape, int(self._backend()), impl.layout)
        return _restore, (PICKLE_VERSION, *state, self._impl._export().copy())

    def __repr__(self) -> str:
        impl = self._impl
        placed = isinstance(impl, Ndarray) or impl._is_placed()
        shape = impl.shape if placed else "unallocated"
        layout = "" if impl.layout is None else f", layout={impl.layout}"
        return f"{type(self).__name__}(shape={shape}, dtype={impl.dtype}, backend={self._backend().name}{layout})"


class VectorTensor(Tensor):
    """A tensor of vectors.

    t = qd.Vector.tensor(3, qd.f32, shape=8)  # a qd.VectorTensor
    """

    @property
    def element_shape(self) -> tuple:
        """`(n,)`."""
        return self._impl.element_shape


class MatrixTensor(Tensor):
    """A tensor of matrices.

    t = qd.Matrix.tensor(3, 3, qd.f32, shape=8)  # a qd.MatrixTensor
    """

    @property
    def element_shape(self) -> tuple:
        """`(n, m)`."""
        return self._impl.element_shape


_CLASSES = (Tensor, VectorTensor, MatrixTensor)

PICKLE_VERSION = 1


def wrap(impl) -> Tensor:
    """The wrapper class that fits a field or ndarray: `Tensor`, `VectorTensor` or `MatrixTensor`.

    t = qd.wrap(x)
    """
    if not isinstance(impl, (Ndarray, Field)) or isinstance(impl, StructField):
        raise TypeError(f"qd.wrap takes an Ndarray or a Field of numbers, not {type(impl).__name__}")
    rank = len(impl._element_shape) if isinstance(impl, (Ndarray, MatrixField)) else 0
    return _CLASSES[rank](impl)


def _restore(version: int, dtype_name: str, shape, element_shape, backend: int, layout, values) -> Tensor:
    from quadrants.data import context, tensor_factories
    from quadrants.ir.types import primitive, tensor_type

    if version != PICKLE_VERSION:
        raise ValueError(f"pickled tensor has version {version!r}, this package reads version {PICKLE_VERSION}")
    if not context.initialised():
        raise QuadrantsRuntimeError("qd.init() must be called before unpickling tensors")
    dtype = primitive(dtype_name)
    element = tensor_type(tuple(element_shape), dtype) if element_shape else dtype
    made = tensor_factories.tensor(element, shape, backend=backend, layout=layout)
    made._impl._store_all(values)
    return made
