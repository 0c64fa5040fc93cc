"""Fields and ndarrays of the python arch: torch tensors that are indexed like containers.

Torch is imported here alone, and this module only when such a container is made.
"""

from __future__ import annotations

import numpy as np
import torch

from quadrants.data import dtypes, interop_torch, shapes
from quadrants.data.python_element import NumberCell, element, live
from quadrants.ir.types import DType
from quadrants.lang.matrix import Matrix


class PythonTensor(torch.Tensor):
    """A zeroed container of numbers, vectors or matrices. `shape` is that of the container, `size()` has the element
    axes too. Elements are NumPy numbers, or live vectors and matrices; torch's own operations give plain tensors.

    More indices than axes go into the elements, `v[i, j, 2]`; with slices the result is a plain tensor on the same
    memory. Raises IndexError for indices outside the container, negative ones included.
    """

    __torch_function__ = torch._C._disabled_torch_function_impl

    _items: np.ndarray  # the same memory
    _batch: tuple
    _kind: DType
    _companions: dict

    @property
    def shape(self) -> tuple:
        """Extents without the element axes."""
        return self._batch

    @property
    def n(self) -> int:
        """Rows of an element; length of a vector."""
        return self._element_shape[0]

    @property
    def m(self) -> int:
        """Columns of an element; 1 for a vector."""
        return self._element_shape[1] if len(self._element_shape) == 2 else 1

    @property
    def _element_shape(self) -> tuple:
        return self._items.shape[len(self._batch) :]

    @property
    def grad(self) -> PythonTensor:
        """A zeroed container like this one; nothing writes gradients on the python arch."""
        return self._companion("grad")

    @property
    def dual(self) -> PythonTensor:
        """As `grad`."""
        return self._companion("dual")

    def _companion(self, name: str) -> PythonTensor:
        if name not in self._companions:
            self._companions[name] = make(self._kind, self._element_shape, self._batch)
        return self._companions[name]

    @property
    def x(self) -> torch.Tensor:
        """First components of all vectors, on the same memory."""
        return self._component(0)

    @property
    def y(self) -> torch.Tensor:
        """Second components."""
        return self._component(1)

    @property
    def z(self) -> torch.Tensor:
        """Third components."""
        return self._component(2)

    def _component(self, k: int) -> torch.Tensor:
        if len(self._element_shape) != 1 or k >= self._element_shape[0]:
            raise AttributeError(f"elements of shape {self._element_shape} have no component {'xyz'[k]}")
        return torch.from_numpy(self._items[..., k])

    def __len__(self) -> int:
        if not self._batch:
            raise TypeError("a container without axes has no length")
        return self._batch[0]

    def __iter__(self):
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key):
        at = self._checked(key)
        found = self._items[at]
        if not isinstance(found, np.ndarray):
            return element(self._items, at)
        if len(at) == len(self._batch) and all(isinstance(i, int) for i in at):
            return live(found)
        return torch.from_numpy(found)

    def __setitem__(self, key, value) -> None:
        if isinstance(value, Matrix):
            value = value.to_numpy()
        self._items[self._checked(key)] = np.asarray(value)

    def _checked(self, key) -> tuple:
        at = tuple(i if isinstance(i, slice) else int(i) for i in _flat(key))
        if not self._batch and at == (0,):
            at = ()
        if len(at) > self._items.ndim:
            raise IndexError(f"Field with dim {len(self._batch)} accessed with indices of dim {len(at)}")
        for i, extent in zip(at, self._items.shape):
            if not isinstance(i, slice) and not 0 <= i < extent:
                raise IndexError(f"indices {at} are outside a container of shape {self._batch}")
        return at

    def number_cell(self, key) -> NumberCell:
        """The place of one number."""
        return NumberCell(self._items, self._checked(key))

    def fill(self, value) -> None:
        """Set every element to a number, or to the entries of a vector or matrix."""
        self._items[...] = value.to_numpy() if isinstance(value, Matrix) else np.asarray(value)

    def from_numpy(self, arr) -> None:
        """Take over an array of shape `shape + element shape`. ValueError for another shape."""
        arr = np.asarray(arr)
        if arr.shape != self._items.shape:
            raise ValueError(f"an array of shape {self._items.shape} is expected, not {arr.shape}")
        self._items[...] = arr

    def to_numpy(self, dtype=None, *, copy: bool = True) -> np.ndarray:
        """The content as an array of shape `shape + element shape`; copy=False shares the memory."""
        items = self._items if dtype is None else self._items.astype(dtype)
        return items.copy() if copy and items is self._items else items

    def to_torch(self, device=None, *, copy: bool = True) -> torch.Tensor:
        """The content as a plain torch tensor."""
        plain = torch.from_numpy(self.to_numpy(copy=copy))
        return plain if device is None else plain.to(device)

    def from_torch(self, tensor) -> None:
        """Take over a torch tensor of shape `shape + element shape`."""
        self.from_numpy(interop_torch.to_numpy(tensor))

    def copy_from(self, other: PythonTensor) -> None:
        """Take over the content of a container of the same shape."""
        self.from_numpy(other.to_numpy(copy=False))

    def __deepcopy__(self, memo: dict) -> PythonTensor:
        made = memo[id(self)] = make(self._kind, self._element_shape, self._batch)
        made.copy_from(self)
        return made

    def __repr__(self, *, tensor_contents=None) -> str:
        return f"PythonTensor(shape={self._batch}, dtype={self._kind}, {np.array2string(self._items, threshold=20)})"


def make(kind: DType, element_shape: tuple, shape: tuple) -> PythonTensor:
    """A zeroed container."""
    items = np.zeros((*shape, *element_shape), kind.numpy_name)
    made = torch.from_numpy(items).as_subclass(PythonTensor)
    made._items, made._batch, made._kind, made._companions = items, tuple(shape), kind, {}
    return made


def make_container(dtype, element_shape: tuple, shape, offset=None) -> PythonTensor:
    """What `qd.field` and `qd.ndarray` return. NotImplementedError for what only compiled archs have."""
    if isinstance(dtype, (list, tuple)):
        raise NotImplementedError("the python arch has no fields with a dtype per component")
    if shape is None or offset is not None:
        raise NotImplementedError("the python arch has no SNodes and no offsets: give the shape, and no offset")
    return make(dtypes.ndarray_dtype(dtype), element_shape, shapes.ndarray_shape(shape))


def _flat(key) -> list:
    """The indices in a key: numbers, vectors and tuples of both; None stands for no index."""
    if key is None:
        return []
    if isinstance(key, Matrix):
        return key.to_list()
    if isinstance(key, (tuple, list)):
        return [i for part in key for i in _flat(part)]
    return [key]
