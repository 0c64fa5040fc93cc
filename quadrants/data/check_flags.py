"""One flag for each number of a field with a gradient: whether the present launch has read it.

Kernels compiled for validation set and test them. They live in trees of their own, made when first asked for, so that
the layout of the field does not depend on them.
"""

from __future__ import annotations

import weakref

import numpy as np

from quadrants.data import memory, snode
from quadrants.data.field import Field, ScalarField, new_leaf
from quadrants.data.matrix_field import MatrixField, new_leaves
from quadrants.ir.types import u8

_trees: weakref.WeakSet = weakref.WeakSet()


def flags_of(field: Field) -> Field | None:
    """The field of u8 flags of a scalar or matrix field: same shape, offset and elements. None without a gradient."""
    if not field.has_grad():
        return None
    found = field._companions.get("flags")
    if found is None or found._dead:
        field._check_usable()
        found = field._companions["flags"] = _make(field)
    return found


def _whole(field: Field) -> MatrixField | None:
    """The field that a scalar field is a component of."""
    owners = [] if isinstance(field, MatrixField) else [owner() for owner in field._leaves[0].owners]
    return next((owner for owner in owners if isinstance(owner, MatrixField)), None)


def clear() -> None:
    """Zero all flags."""
    for tree in list(_trees):
        if tree.buffer is None:
            continue
        if memory.is_device(tree.buffer):
            tree.buffer.fill(0, 0, tree.buffer.nbytes)
        else:
            np.frombuffer(tree.buffer, np.uint8)[...] = 0


def _make(field: Field) -> Field:
    whole = _whole(field)
    flags = flags_of(whole) if whole is not None else None
    if flags is not None:
        return flags.get_scalar_field(*divmod(whole._leaves.index(field._leaves[0]), whole.m))
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
    _trees.add(tree)
    return made
