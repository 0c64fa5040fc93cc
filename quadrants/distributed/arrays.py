"""What the layer reads and writes: the parts of one dtype that fields, ndarrays and tensors are made of."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from quadrants.data import dtypes
from quadrants.data.field import Field
from quadrants.data.ndarray import Ndarray
from quadrants.data.struct_field import StructField
from quadrants.distributed.spaces import HOST, Space
from quadrants.errors import QuadrantsRuntimeError

# Begin and end of each axis, in local cells.
Region = tuple[tuple[int, int], ...]


class Part:
    """A field or ndarray of numbers, vectors or matrices of one dtype.

    name: what messages call it. element: shape of an element; shown: that of an element of `to_numpy`. cells: what its
    memory is known by, in common with other objects for the same. view: the content as an array of `space` that shares
    memory, of shape `shape + element`; None where there is none: in other memory, and where fields share cells.
    """

    def __init__(self, array: Any, name: str, space: Space) -> None:
        array._check_usable()
        self._array = weakref.ref(array)  # plans are kept, and must not keep what they are about
        self.name = name
        self.shape: tuple[int, ...] = tuple(array.shape)
        self.element: tuple[int, ...] = tuple(array._element_shape)
        self.dtype = np.dtype(dtypes.numpy_dtype(array.dtype))
        self.space = space
        self.shown = self.element[:1] if isinstance(array, Field) and self.element[1:] == (1,) else self.element
        self.cells = frozenset(map(id, components_of(array)))
        self.view = _with_column(space.view(array), len(self.shape) + len(self.element))

    @property
    def array(self) -> Any:
        """The field or ndarray itself."""
        return self._array()

    def check(self) -> None:
        """QuadrantsRuntimeError if the memory is gone."""
        self.array._check_usable()

    def shape_of(self, region: Region) -> tuple[int, ...]:
        """Shape of the values of a region."""
        return (*(end - begin for begin, end in region), *self.element)

    def seen(self, region: Region) -> Any | None:
        """The values of a region where they are; None without a view."""
        return None if self.view is None else self.view[tuple(slice(begin, end) for begin, end in region)]

    def copy(self) -> np.ndarray[Any, Any]:
        """The content, as an array of its own."""
        return np.array(self.array.to_numpy(), order="C")

    def store(self, values: np.ndarray[Any, Any]) -> None:
        """Overwrite the content."""
        self.array.from_numpy(values)


def unwrapped(array: Any) -> Any:
    """What is behind a `qd.Tensor`."""
    return array._unwrap() if hasattr(array, "_unwrap") else array


def gradient_of(array: Any) -> Any | None:
    """Where the gradients of an array are; None of a constant."""
    inner = unwrapped(array)
    return inner.grad if inner.has_grad() else None


def offset_of(array: Any) -> tuple[int, ...]:
    """The index of the first cell of a field or ndarray."""
    return tuple(getattr(array, "_offset", None) or (0,) * len(array.shape))


def is_array(array: Any) -> bool:
    """Whether `parts_of` takes it."""
    return isinstance(unwrapped(array), (Field, Ndarray))


def is_struct(array: Any) -> bool:
    """Whether it has members, of which each is a part."""
    return isinstance(unwrapped(array), StructField)


def members_of(array: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The members of a struct that are none themselves, by name; anything else is its own, without a name."""
    inner = unwrapped(array)
    if not isinstance(inner, StructField):
        yield name, inner
        return
    for key in inner.keys:
        member = inner.get_member_field(key)
        if member is not None:  # an integer member of a gradient
            yield from members_of(member, f"{name}.{key}" if name else key)


def components_of(array: Any) -> Sequence[Any]:
    """What a field or ndarray is known by, in common with other objects for it: views are made anew at each use."""
    return getattr(array, "_leaves", ()) or (array,)


def parts_of(array: Any, name: str = "", space: Space = HOST) -> list[Part]:
    """The parts of a field (of a struct: of its members), ndarray or tensor. TypeError for anything else."""
    if not is_array(array):
        raise TypeError(f"a field, an ndarray or a tensor is needed, not {type(array).__name__}: {array!r:.60}")
    found = [*members_of(array, name)]
    for _, member in found:
        _refuse_special(member)
    return [Part(member, key or getattr(member, "_name", ""), space) for key, member in found]


def all_parts(arrays: Sequence[Any], space: Space = HOST) -> list[Part]:
    """The parts of several arrays, in order."""
    return [part for array in arrays for part in parts_of(array, space=space)]


def _with_column(view: Any | None, ndim: int) -> Any | None:
    """Fields of matrices with one column are seen without its axis."""
    return view if view is None or view.ndim == ndim else view[..., np.newaxis]


def _refuse_special(array: Any) -> None:
    leaves = getattr(array, "_leaves", ())
    array._check_usable()
    if any(leaf.quant is not None or leaf.cell.within is not None for leaf in leaves):
        raise QuadrantsRuntimeError(
            f"The field {array._name or repr(array)} is quantised or sparse, and only dense ones are moved. "
            "Copy it to a dense field in a kernel."
        )
