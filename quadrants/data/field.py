"""Fields: named components in a field tree. This file holds the base class and the scalar field."""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from quadrants._ext.core import TokenBase, intern_token
from quadrants.data import bulk, context, dtypes, exhaustion, host_access, host_values, layout, refusals, shapes, snode
from quadrants.data.field_methods import FieldMethods
from quadrants.data.interop_numpy import NumpyExchange
from quadrants.data.node import Leaf
from quadrants.data.sites import caller_site
from quadrants.errors import QuadrantsRuntimeError

if TYPE_CHECKING:
    from typing_extensions import Self  # the gradient of a class is of that class; None where there is none


_serial = itertools.count()

NO_ALLOCATION = (
    "Field has no allocation. Allocate via `qd.field(..., needs_grad=True)` / `needs_dual=True`, "
    "`qd.root.lazy_grad()` / `qd.root.lazy_dual()`, or `qd.root.dense(...).place(field)` before using its data."
)


NO_COMPANION = (
    "Field has no allocation. `{name}` belongs to a field that was made without `needs_{which}=True`: add that, or "
    "call `qd.root.lazy_{which}()` before any field is used."
)


class Field(FieldMethods, TokenBase):
    """Base of `ScalarField`, `MatrixField` and `StructField`.

    A field names data in a field tree. Its `token` identifies it for kernels; -1 once its runtime is gone, from when
    on every use of the data raises `QuadrantsRuntimeError`. Instances take any further attributes.

        x = qd.field(qd.f32, 8)  # a qd.Field
        x.fill(1.0)
    """

    _is_primal = True
    _role = ""  # "grad" or "dual" of one that was declared with another field

    def __init__(self, leaves: tuple, name: str):
        self._leaves = leaves
        self._name = name
        self._dead = False
        self._why_dead = ""  # what kept its tree from getting memory, if that is how it died
        self._companions: dict = {}
        self.token = intern_token(("field", next(_serial)))

    # -- life

    def _check_alive(self) -> None:
        if self._dead:
            name = f" {self._name}" if self._name else ""
            if self._why_dead:
                raise QuadrantsRuntimeError(exhaustion.of_field(name, self._why_dead))
            raise QuadrantsRuntimeError(
                f"This field{name} is dead: its memory went with qd.reset(), a new qd.init() or "
                "SNodeTree.destroy(). Declare it again."
            )

    def _kill(self, why: str = "") -> None:
        self._dead, self._why_dead = True, self._why_dead or why
        self.token = -1
        self._forget_views()

    def _forget_views(self) -> None:
        raise NotImplementedError

    def _own(self) -> None:
        """Follow the fate of the components: they tell this object when their storage goes."""
        me = weakref.ref(self)
        for leaf in self._leaves:
            leaf.owners.append(me)

    def _placeable(self) -> list:
        """The fields that `place` should place for this one."""
        return [self]

    def _is_placed(self) -> bool:
        return all(leaf.snode is not None for leaf in self._leaves)

    def _check_usable(self) -> None:
        """Make sure that the data has memory, or raise why it has none."""
        self._check_alive()
        if self._leaves[-1].cell is not None:
            return
        if self._is_primal or self._is_placed():
            context.materialize()
            # A client's hook may have run kernels; the field can have died in it.
            self._check_alive()
        if any(leaf.cell is None for leaf in self._leaves):
            raise QuadrantsRuntimeError(self._no_allocation())

    def _no_allocation(self) -> str:
        if self._is_primal:
            return NO_ALLOCATION
        return NO_COMPANION.format(name=self._name, which="dual" if self._name.endswith("dual") else "grad")

    def _activate_all(self) -> None:
        """Make every cell active, where the field is sparse."""
        self._check_usable()
        withins = [leaf.cell.within for leaf in self._leaves if leaf.cell.within is not None]
        for node in {id(within.node): within.node for within in withins}.values():
            from quadrants.data.sparse.active import activate_all

            activate_all(node)

    # -- who has to know of writes

    def _written(self) -> None:
        """The host wrote components of this field."""
        for leaf in self._leaves:
            if leaf.writes is not None:
                leaf.writes.advance()

    def _expose(self) -> None:
        """A view of the data is given away, through which it may be written at any time."""
        for leaf in self._leaves:
            if leaf.writes is not None:
                leaf.writes.expose()

    # -- what it is

    def _leaf(self) -> Leaf:
        leaf = self._leaves[0]
        if leaf.snode is None:
            self._check_alive()
            raise QuadrantsRuntimeError(self._no_allocation())
        return leaf

    @property
    def shape(self) -> tuple:
        """Canonical extents, without element axes."""
        return self._leaf().shape

    @property
    def dtype(self):
        """Scalar dtype of every component."""
        return self._leaves[0].dtype

    @property
    def layout(self) -> tuple | None:
        """Canonical axis per storage axis, outermost first; None for the identity."""
        return self._leaves[0].order

    @property
    def snode(self):
        """The place node of the first component."""
        return self._leaf().snode

    def parent(self, n: int = 1):
        """The n-th ancestor node of the first component."""
        return self.snode.parent(n)

    def _label(self) -> str:
        """What messages about elements call the field."""
        return self._name or f"of {self.dtype}, made without a name"

    def _memory(self):
        return self._leaves[0].cell.tree.buffer

    @property
    def _offset(self) -> tuple | None:
        return self._leaves[0].offset

    # -- companions

    @property
    def grad(self) -> Self | Any:
        """The field of gradients; None for integer fields. It has memory only if asked for (`has_grad`)."""
        return self._companion("grad")

    @property
    def dual(self) -> Self | Any:
        """The field of forward-mode duals; None for integer fields."""
        return self._companion("dual")

    def has_grad(self) -> bool:
        """True if the gradient has a place in a tree."""
        return self._has_companion("grad")

    def has_dual(self) -> bool:
        """True if the dual has a place in a tree."""
        return self._has_companion("dual")

    @property
    def _flags(self):
        """The u8 flags that validation keeps for this field, made when first asked for."""
        from quadrants.data import check_flags

        return check_flags.flags_of(self)

    def _has_companion(self, which: str) -> bool:
        companion = self._companions.get(which)
        return companion is not None and companion._is_placed()

    def _companion(self, which: str):
        if not self._is_primal or not self.dtype.is_real:
            return None
        found = self._companions.get(which)
        if found is None:
            found = self._companions[which] = self._make_companion(which)
            found._is_primal = False
            for leaf, own in zip(found._leaves, self._leaves):
                leaf.role, leaf.primal = which, own
            if self._dead:
                found._kill(self._why_dead)
        return found

    def _make_companion(self, which: str) -> Field:
        raise NotImplementedError

    # -- Python protocols

    def __iter__(self):
        raise NotImplementedError(
            "Struct for is only available in Quadrants scope. Write `for i in field` in a kernel, without zip or "
            "enumerate; in Python scope loop over field.to_numpy()."
        )

    def __reduce_ex__(self, protocol):
        raise TypeError(
            f"cannot pickle or copy a {type(self).__name__}: it names memory of a running program. "
            "Pickle to_numpy(), or a qd.Tensor."
        )

    def __str__(self) -> str:
        if not self._is_placed():
            return "<Field: Definition of this field is incomplete>"
        if self._dead:
            from quadrants.data import shown

            return f"{self!r} {shown.description(self)}"
        return str(self.to_numpy())


class ScalarField(NumpyExchange, Field):
    """A field with one number per cell.

    x = qd.field(qd.f32, 8)  # a qd.ScalarField
    x[0] = 1.0
    """

    _element_shape = ()

    def __init__(self, leaf: Leaf):
        Field.__init__(self, (leaf,), leaf.name)
        self._writes = leaf.writes
        self._forget_views()
        self._own()

    def _forget_views(self) -> None:
        self._items: Any = None
        self._plain: Any = None

    @property
    def cell(self):
        """`CellLayout` of the field; None before materialization."""
        return self._leaves[0].cell

    def _make_companion(self, which: str) -> ScalarField:
        leaf = self._leaves[0]
        return ScalarField(new_leaf(leaf.dtype, f"{leaf.name}.{which}", leaf.order))

    # `_items` is the storage as the host reads it; `_plain` is the same where the user's index is the array's index.

    def _open(self) -> np.ndarray:
        self._check_usable()
        cell = self._leaves[0].cell
        if cell.within is not None:
            from quadrants.data.sparse.array import SparseArray  # few programs have sparse trees

            items: Any = SparseArray(cell, dtypes.storage_dtype(cell.dtype))
        else:
            items = layout.view((cell,), (), cell.dtype.size, dtypes.storage_dtype(cell.dtype))
        if not cell.blocked and not any(cell.index_offset):
            self._plain = items
            self._extents = cell.shape
        self._items = items
        return items

    def _position(self, key) -> tuple:
        cell = self._leaves[0].cell
        index = host_access.field_index(key, len(cell.shape))
        index = host_access.zero_based(index, cell, self)
        return layout.split_index(cell, index) if cell.blocked else index

    def __getitem__(self, key) -> Any:
        """`f[i, j]`, `f[[i, j]]`; `f[None]` for rank 0. Gives an int, or a float for real dtypes.

        `TypeError` for slices, `AssertionError` for a wrong number of indices, `IndexError` out of range
        (`QuadrantsAssertionError` in debug mode). Negative indices are coordinates, they never wrap around.
        """
        plain = self._plain
        if plain is not None and host_access.is_plain_index(key, self._extents):
            return plain.item(key)
        items = self._items
        if items is None:
            items = self._open()
        return items.item(self._position(key))

    def __setitem__(self, key, value) -> None:
        """Write one element: integers wrap to the width, a real number into an integer field is a `TypeError`.

        Index errors are those of reading.
        """
        plain = self._plain
        if plain is not None and host_access.is_plain_index(key, self._extents):
            plain[key] = host_access.stored(value, self._leaves[0].dtype)
        else:
            items = self._items
            if items is None:
                items = self._open()
            items[self._position(key)] = host_access.stored(value, self._leaves[0].dtype)
        if self._writes is not None:
            self._writes.advance()

    def _cell_view(self, key):
        """A live 0-d array over one element, or what stands for one on a device."""
        content = self._content()
        at = (*self._position(key), ...)
        self._expose()
        return host_values.element(content[at])

    # -- whole content

    def _content(self) -> np.ndarray:
        """A live array over the storage, with one axis per storage level."""
        if self._items is None:
            self._open()
        return self._items.view(dtypes.numpy_dtype(self.dtype))

    def _strided(self) -> np.ndarray | None:
        content = self._content()
        cell = self._leaves[0].cell
        return None if cell.blocked or cell.within is not None else content

    def _store_all(self, array: np.ndarray) -> None:
        content = self._content()
        content[...] = bulk.cast(array, content.dtype).reshape(content.shape)
        self._written()

    def fill(self, val) -> None:
        """Set every element to the number `val`, cast as in C."""
        value = bulk.number(val, self.dtype)
        self._content()[...] = value
        self._written()

    def copy_from(self, other: Field) -> None:
        """Take over the values of a scalar field of equal shape, cast to this dtype."""
        copy_field(self, other)

    def _no_view_reason(self) -> str | None:
        return layout.shared_cell_reason(self._leaves)

    def _check_import(self, array: np.ndarray) -> np.ndarray:
        if array.shape != self.shape:
            raise ValueError(f"qd.field shape {self.shape} does not match the numpy array shape {array.shape}")
        return array

    def __repr__(self) -> str:
        return "<qd.field>"


def new_leaf(dtype, name: str, order: tuple | None, quant=None) -> Leaf:
    leaf = Leaf(dtype, name, order, quant)
    leaf.group = (leaf,)
    leaf.field_class = ScalarField
    return leaf


def leaf_like(leaf: Leaf, name: str) -> Leaf:
    """The component of a companion."""
    made = new_leaf(leaf.dtype, name, leaf.order, leaf.quant)
    made.field_class = leaf.field_class
    return made


def refuse_array(field: Field, what: str) -> NoReturn:
    """`AssertionError` for a quantised field: there is no array of numbers."""
    leaf, name = field._leaves[0], f" {field._name}" if field._name else ""
    raise AssertionError(
        f"{what} needs an array of {leaf.dtype}, and this field{name} of {leaf.quant} is bits of words. In a kernel, "
        f"copy it to a field of {leaf.dtype}: `for I in qd.grouped(x): y[I] = x[I]`."
    )


def not_a_field(source) -> TypeError:
    """The error of `copy_from` for what is no field."""
    return TypeError(f"Cannot copy from a non-field object: {refusals.not_a_source(source)}")


def copy_field(target: Field, source: Field) -> None:
    """`target.copy_from(source)` for scalar and matrix fields."""
    source = source._unwrap() if hasattr(source, "_unwrap") else source
    if not isinstance(source, Field):
        raise not_a_field(source)
    if getattr(source, "_element_shape", None) != target._element_shape:
        raise ValueError(
            f"a field with elements of shape {target._element_shape} cannot copy from {source!r}, "
            f"whose elements have shape {getattr(source, '_element_shape', None)}"
        )
    if target.shape != source.shape:
        raise ValueError(f"qd.field shape {target.shape} does not match the source field shape {source.shape}")
    target._activate_all()
    target._store_all(source._export())


def tag_unplaced(field: Field, needs_grad: bool, needs_dual: bool) -> None:
    """Remember a field declared without a shape, and the companions asked for, until somebody places them."""
    site = caller_site()
    wanted = [(field, "")]
    wanted += [(field.grad, "grad")] if needs_grad else []
    wanted += [(field.dual, "dual")] if needs_dual else []
    for part, which in wanted:
        exhaustion.keep_site(part, site)
        part._role = which
        snode.declare(part)


def check_companions(dtype, needs_grad: bool, needs_dual: bool, member: str = "") -> None:
    if (needs_grad or needs_dual) and not dtype.is_real:
        where = f" (the member {member}; place fields of their own for members without gradients)" if member else ""
        raise QuadrantsRuntimeError(
            f"{dtype} is not supported for field with `needs_grad=True` or `needs_dual=True`; "
            f"gradients need f16, f32 or f64{where}."
        )


def dense_node(shape: tuple, order: tuple | None):
    """A fresh dense node of `shape` under the tree under construction; the root itself for rank 0."""
    top = snode.current().root
    if not shape:
        return top
    physical = tuple(shape[axis] for axis in order) if order else shape
    return top._add_child("dense", tuple(range(len(shape))), physical)


def parse_placement(shape, order, offset) -> tuple:
    """Checked `(shape, order, offset)`; raises before anything was built."""
    if shape is not None:
        shape = shapes.field_shape(shape)
    return shape, shapes.field_order(order, shape), shapes.field_offset(offset, shape)
