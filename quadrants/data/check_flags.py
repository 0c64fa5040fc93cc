"""One flag for each number of a field or array: whether kernels under a tape have read it.

Kernels compiled for validation set and test them. Those of a field live in a tree of their own, made when first asked
for, so that the layout of the field does not depend on them; those of an array are an ndarray.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator

import numpy as np

from quadrants.data import memory, snode
from quadrants.data.field import Field, ScalarField, new_leaf
from quadrants.data.matrix_field import MatrixField, new_leaves
from quadrants.data.ndarray import Ndarray, make
from quadrants.ir.types import u8

# What has flags: fields and ndarrays while they live, foreign arrays (by id) while a tape may ask for them.
_owners: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
_foreign: dict = {}


def flags_of(field: Field) -> Field:
    """The field of u8 flags of a scalar or matrix field: same shape, offset and elements."""
    found = field._companions.get("flags")
    if found is None or found._dead:
        field._check_usable()
        found = field._companions["flags"] = _make(field)
    return found


def of_ndarray(array: Ndarray) -> Ndarray:
    """The ndarray of u8 flags of an ndarray: same shape, layout and elements."""
    found = _owners.get(array)
    if found is None or found.arr is None:
        array._check_usable()
        found = _owners[array] = make(u8, array._element_shape, array.shape, False, array.layout)
    return found


def of_foreign(array) -> Ndarray:
    """The flags of a NumPy array, torch tensor or the like, in C order; they last until `forget_foreign`."""
    found = _foreign.get(id(array))
    if found is None or found[1].arr is None:
        found = _foreign[id(array)] = (array, make(u8, (), tuple(array.shape), False, None))
    return found[1]


def forget_foreign() -> None:
    """Let go of foreign arrays and their flags."""
    _foreign.clear()


def owners() -> Iterator[tuple]:
    """(field, ndarray or foreign array, its flags) of everything that has flags."""
    for owner, flags in list(_owners.items()):
        if not (flags.arr is None if isinstance(flags, Ndarray) else flags._dead):
            yield owner, flags
    yield from list(_foreign.values())


def buffer_of(flags):
    """The memory of flags."""
    return flags.arr if isinstance(flags, Ndarray) else flags._leaves[0].cell.tree.buffer


def fetch(flags) -> np.ndarray:
    """The bytes of flags, in order of memory: live on the CPU, a copy on a device."""
    buffer = buffer_of(flags)
    if memory.is_device(buffer):
        return np.frombuffer(buffer.fetch(0, buffer.nbytes), np.uint8).copy()
    return np.frombuffer(buffer, np.uint8)


def store(flags, content: np.ndarray) -> None:
    """Set the bytes of flags."""
    buffer = buffer_of(flags)
    if memory.is_device(buffer):
        buffer.store(0, content)
    else:
        np.frombuffer(buffer, np.uint8)[...] = content


def clear() -> None:
    """Zero all flags."""
    for _, flags in owners():
        buffer = buffer_of(flags)
        if memory.is_device(buffer):
            buffer.fill(0, 0, buffer.nbytes)
        else:
            np.frombuffer(buffer, np.uint8)[...] = 0


def _whole(field: Field) -> MatrixField | None:
    """The field that a scalar field is a component of."""
    owners = [] if isinstance(field, MatrixField) else [owner() for owner in field._leaves[0].owners]
    return next((owner for owner in owners if isinstance(owner, MatrixField)), None)


def _make(field: Field) -> Field:
    whole = _whole(field)
    if whole is not None:
        return flags_of(whole).get_scalar_field(*divmod(whole._leaves.index(field._leaves[0]), whole.m))
    tree = snode.SNodeTree()
    shape, name = field.shape, f"{field._name}.flags"
    node = tree.root._add_child("dense", tuple(range(len(shape))), shape) if shape else tree.root
    if isinstance(field, MatrixField):
        leaves = new_leaves(field._element_shape, [u8] * len(field._leaves), name, None)
        made: Field = MatrixField(leaves, field.n, field.m, len(field._element_shape))
    else:
        made = ScalarField(new_leaf(u8, name, None))
    made._is_primal = False
    for leaf in made._leaves:
        leaf.role = "flags"
        node.attach(leaf, field._offset)
    tree.allocate()
    _owners[field] = made
    return made
