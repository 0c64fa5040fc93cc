"""Fields, ndarrays, views, trees: named cells, whatever their layout in memory."""

from __future__ import annotations

import copy
import itertools
import math

import numpy as np

from .errors import Undefined, Unmodelled
from .numbers import DType, Num, convert, literal, wrap
from .operations import scalar_type
from .places import Memory, StructPlace
from .values import StructType, Tensor, TensorType


def as_shape(shape) -> tuple:
    return (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape)


def check_layout(options: dict) -> None:
    """What says nothing about values is still checked: a program that is none has no result."""
    known = {"layout": ("aos", "soa"), "order": None, "needs_grad": (False, True), "name": None}
    for name, value in options.items():
        if name not in known or known[name] is not None and value not in known[name] or value == 1:
            raise Unmodelled(f"{name}={value!r} of a field")


class Field:
    """A field or ndarray of numbers, vectors or matrices. `data`: Python numbers, row-major, components innermost."""

    def __init__(self, dtype, element_shape=(), shape=None, offset=None, **layout):
        check_layout(layout)
        self.dtype: DType = scalar_type(dtype)
        self.element_shape = tuple(element_shape)
        self.count = math.prod(self.element_shape)
        self.type = TensorType(self.element_shape, self.dtype) if self.element_shape else self.dtype
        self.shape: tuple = ()
        self.offset: tuple = ()
        self.clamped = False
        self.data: list = []
        if shape is not None:
            self.allocate(as_shape(shape), as_shape(offset) if offset is not None else None)

    def allocate(self, shape: tuple, offset: tuple | None = None) -> None:
        self.shape, self.offset = shape, offset or (0,) * len(shape)
        self.data = [0.0 if self.dtype.real else 0] * (math.prod(shape) * self.count)

    def cell(self, indices: tuple) -> int:
        if len(indices) != len(self.shape):
            raise Unmodelled("a wrong number of indices")
        flat = 0
        for i, extent, start in zip(indices, self.shape, self.offset):
            if not start <= i < start + extent:
                raise Undefined("an index out of range")
            flat = flat * extent + (i - start)
        return flat

    def clamping(self) -> Field:
        """The same cells; an index out of range stands for the nearest one in range."""
        other = copy.copy(self)
        other.clamped = True
        return other

    def place(self, indices: tuple) -> Memory:
        if self.clamped:
            indices = tuple(min(max(i, 0), n - 1) for i, n in zip(indices, self.shape))
        return Memory(self, self.cell(indices) * self.count, self.element_shape)

    def indices(self):
        return itertools.product(*(range(start, start + n) for start, n in zip(self.offset, self.shape)))

    def value(self, position: int) -> Num:
        return Num(self.dtype, self.data[position])

    # ------------------------------------------------------------ host

    def to_numpy(self, *_, **__) -> np.ndarray:
        shape = (*self.shape, *self.element_shape)
        return np.array(self.data, self.dtype.numpy).reshape(shape)

    def from_numpy(self, a) -> None:
        shape = (*self.shape, *self.element_shape)
        if tuple(a.shape) != shape:
            raise Unmodelled("from_numpy of another shape")
        self.data = [self._converted(x) for x in np.ascontiguousarray(a).reshape(-1).tolist()]

    def fill(self, x) -> None:
        values = np.array(x).reshape(-1).tolist() if isinstance(x, (list, tuple)) else [x] * self.count
        self.data = [self._converted(v) for v in values] * math.prod(self.shape)

    def _converted(self, x):
        if isinstance(x, float):
            return convert(literal(x, self.dtype), self.dtype).value if self.dtype.real else wrap(int(x), self.dtype)
        if self.dtype.bits == 1:
            return int(x != 0)
        return float(x) if self.dtype.real else wrap(int(x), self.dtype)

    def copy_from(self, other) -> None:
        self.data = [self._converted(x) for x in other.data]

    def _key(self, key) -> tuple:
        return () if key is None else key if isinstance(key, tuple) else (key,)

    def __getitem__(self, key):
        if isinstance(key, slice):
            start, stop, _ = key.indices(self.shape[0])
            return View(self, start, stop - start)
        place = self.place(self._key(key))
        if self.element_shape:
            raise Unmodelled("elements of tensor containers on the host")
        return place.load().value

    def __setitem__(self, key, x) -> None:
        if isinstance(x, float) and not self.dtype.real:  # NumPy's narrower real numbers are none, and truncate
            raise TypeError(f"{x!r} is no integer")
        x = float(x) if self.dtype.real else int(x)
        self.data[self.place(self._key(key)).position] = self._converted(x)


class External(Field):
    """A NumPy array or tensor as an argument, with trailing axes as elements if the annotation says so."""

    def __init__(self, array: np.ndarray, element_shape: tuple):
        dtype = next(t for t in _dtypes() if t.numpy == array.dtype)
        super().__init__(dtype, element_shape)
        self.array = array
        lead = array.shape[: array.ndim - len(element_shape)]
        self.shape, self.offset = lead, (0,) * len(lead)
        self.data = [int(x) if dtype.bits == 1 else x for x in array.reshape(-1).tolist()]

    def write_back(self) -> None:
        self.array[...] = np.array(self.data, self.dtype.numpy).reshape(self.array.shape)


def _dtypes():
    from .numbers import DTYPES

    return DTYPES.values()


class View:
    """`qd.BufferView`: cells `offset` to `offset + size` of a one-dimensional ndarray."""

    def __init__(self, base, offset, size):
        if isinstance(base, View):
            raise Unmodelled("a view of a view by its constructor")
        offset, size = (literal(x).value for x in (offset, size))
        if not (0 <= offset and 0 <= size and offset + size <= base.shape[0]):
            raise Undefined("a view out of range")
        self.base, self.start, self.size, self.shape = base, offset, size, (size,)

    def place(self, indices: tuple) -> Memory:
        (i,) = indices
        if not 0 <= i < self.size:
            raise Undefined("an index out of range")
        return self.base.place((self.start + i,))

    def subview(self, offset, size) -> View:
        offset, size = (literal(x).value for x in (offset, size))
        if not (0 <= offset and 0 <= size and offset + size <= self.size):
            raise Undefined("a view out of range")
        return View(self.base, self.start + offset, size)

    def __getitem__(self, key):
        start, stop, _ = key.indices(self.size)
        return self.subview(start, max(stop - start, 0))


class StructField:
    """A field of structs: one container a member."""

    def __init__(self, type: StructType, shape=None, offset=None, **layout):
        check_layout(layout)
        self.type = type
        self.members = {name: container(t, shape, offset) for name, t in type.members.items()}

    @property
    def shape(self) -> tuple:
        return next(iter(self.members.values())).shape

    @property
    def offset(self) -> tuple:
        return next(iter(self.members.values())).offset

    def allocate(self, shape: tuple, offset=None) -> None:
        for member in self.members.values():
            member.allocate(shape, offset)

    def place(self, indices: tuple) -> StructPlace:
        return StructPlace(self.type, {name: m.place(indices) for name, m in self.members.items()})

    def indices(self):
        return next(iter(self.members.values())).indices()

    def to_numpy(self) -> dict:
        return {name: m.to_numpy() for name, m in self.members.items()}

    def from_numpy(self, arrays: dict) -> None:
        for name, m in self.members.items():
            m.from_numpy(arrays[name])

    def fill(self, x) -> None:
        for m in self.members.values():
            m.fill(x)

    def member(self, name: str):
        return self.members[name]

    def __getattr__(self, name: str):
        try:
            return self.__dict__["members"][name]
        except KeyError:
            raise AttributeError(name) from None


def container(type, shape=None, offset=None):
    """A field of any type."""
    if isinstance(type, StructType):
        return StructField(type, shape, offset)
    if isinstance(type, TensorType):
        return Field(type.dtype, type.shape, shape, offset)
    return Field(type, (), shape, offset)


class Node:
    """A node of the tree above fields: the extents of the axes so far."""

    def __init__(self, extents: dict):
        self.extents = extents

    def dense(self, axes, dims) -> Node:
        dims = (dims,) * len(axes) if isinstance(dims, int) else tuple(dims)
        extents = dict(self.extents)
        for axis, n in zip(axes, dims):
            extents[axis] = extents.get(axis, 1) * n
        return Node(extents)

    def place(self, *fields, offset=None) -> Node:
        shape = tuple(self.extents[axis] for axis in sorted(self.extents))
        for f in fields:
            f.allocate(shape, as_shape(offset) if offset is not None else None)
        return self


def as_tensor(indices: tuple) -> Tensor:
    from .numbers import i32

    return Tensor((len(indices),), [Num(i32, i) for i in indices])
