"""How users make fields and ndarrays: `qd.field`, `qd.ndarray` and what `Vector`, `Matrix`, `Struct` forward here."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from quadrants.data import context, dtypes, exhaustion, packing, snode
from quadrants.data import ndarray as ndarrays
from quadrants.data.field import (
    check_companions,
    dense_node,
    parse_placement,
    tag_unplaced,
)
from quadrants.data.matrix_field import MatrixField, new_leaves
from quadrants.data.packed_field import leaf_of, scalar_field
from quadrants.data.struct_field import StructField
from quadrants.errors import QuadrantsRuntimeError, QuadrantsSyntaxError

if TYPE_CHECKING:
    from quadrants.data.field import Field, ScalarField
    from quadrants.data.ndarray import MatrixNdarray, Ndarray, ScalarNdarray
    from quadrants.lang.enums import Layout
    from quadrants.lang.matrix import Matrix

    class _IntegerField(ScalarField):
        def __getitem__(self, key: Any) -> int: ...

    class _RealField(ScalarField):
        def __getitem__(self, key: Any) -> float: ...


_AOS, _SOA = 0, 1


@overload
def field(
    dtype: type[Matrix], shape: int | Sequence[int] | None = None, order: str | None = None, name: str = "",
    offset: int | Sequence[int] | None = None, needs_grad: bool = False, needs_dual: bool = False,
    layout: Layout | int = _AOS,
) -> MatrixField: ...  # fmt: skip
@overload
def field(
    dtype: type[int], shape: int | Sequence[int] | None = None, order: str | None = None, name: str = "",
    offset: int | Sequence[int] | None = None, needs_grad: bool = False, needs_dual: bool = False,
) -> _IntegerField: ...  # fmt: skip
@overload
def field(
    dtype: type[float], shape: int | Sequence[int] | None = None, order: str | None = None, name: str = "",
    offset: int | Sequence[int] | None = None, needs_grad: bool = False, needs_dual: bool = False,
) -> _RealField: ...  # fmt: skip
@overload
def field(
    dtype: Any, shape: int | Sequence[int] | None = None, order: str | None = None, name: str = "",
    offset: int | Sequence[int] | None = None, needs_grad: bool = False, needs_dual: bool = False,
    layout: Layout | int = _AOS,
) -> Field: ...  # fmt: skip
def field(dtype: Any, shape: Any = None, *args: Any, **kwargs: Any) -> Any:
    """A field of numbers, or of vectors or matrices if `dtype` is such a type.

        x = qd.field(qd.f32, shape=(64, 64), needs_grad=True)
        x[0, 0] = 1.0

    dtype: `qd.f32`, `float`, `qd.types.vector(3, float)`, ... shape: int or sequence of ints, `()` for one element,
    None to place the field later. order: storage order of axes such as "ji", outermost first. offset: first valid
    index. needs_grad, needs_dual: allocate companions (real dtypes). name: for messages.

    Raises `ValueError` (`Invalid data type`), `QuadrantsRuntimeError` for extents <= 0, `TypeError` for other shapes,
    `QuadrantsSyntaxError` for order or offset that do not fit the shape.
    """
    context.require()
    compound = dtypes.compound(dtype)
    if compound is None:
        return _field(dtype, shape, *args, **kwargs)
    element_shape, kind = compound
    n, m = (*element_shape, 1)[:2]
    return matrix_field(n, m, kind, shape, *args, ndim=len(element_shape), **kwargs)


def _field(dtype, shape=None, order=None, name="", offset=None, needs_grad=False, needs_dual=False):
    if context.python_arch():
        return _on_python_arch(dtype, (), shape, offset)
    dtype = dtypes.field_dtype(dtype)
    shape, order, offset = parse_placement(shape, order, offset)
    check_companions(dtype, needs_grad, needs_dual)
    made = scalar_field(leaf_of(dtype, name, order))
    _settle(made, shape, order, offset, _AOS, needs_grad, needs_dual)
    return made


_field.__qualname__ = "field"  # the name in Python's own errors


def matrix_field(
    n, m, dtype, shape=None, order=None, name="", offset=None, needs_grad=False, needs_dual=False, layout=_AOS,
    ndim=None,
):  # fmt: skip
    """A field of `n` x `m` matrices, or of vectors of `n` if `ndim` is 1.

    dtype: scalar type, or a nested list of one type per component that must all be equal. layout: `qd.Layout.AOS`
    interleaves the components, `qd.Layout.SOA` gives each its own array. Everything else as for `field`.
    """
    context.require()
    n, m, rank = _extent(n), _extent(m), 2 if ndim is None else ndim
    element_shape = (n,) if rank == 1 else (n, m)
    if context.python_arch():
        return _on_python_arch(dtype, element_shape, shape, offset)
    kinds = _component_dtypes(dtype, element_shape)
    shape, order, offset = parse_placement(shape, order, offset)
    for kind in set(kinds):
        check_companions(kind, needs_grad, needs_dual)
    made = MatrixField(new_leaves(element_shape, kinds, name, order, leaf_of), n, m, rank)
    _settle(made, shape, order, offset, layout, needs_grad, needs_dual)
    return made


def struct_field(
    members, methods=None, shape=None, name="<Struct>", offset=None, needs_grad=False, needs_dual=False, layout=_AOS
):  # fmt: skip
    """A field of structs. `members`: name -> scalar, vector, matrix or struct type (or a nested dict).

    layout: `qd.Layout.AOS` keeps the members of an element in one cell, `qd.Layout.SOA` gives each its own array.
    `needs_grad` on a struct with an integer member raises `QuadrantsRuntimeError`. The rest as for `field`.
    """
    context.require()
    if context.python_arch():
        from quadrants.data import python_struct  # imports torch

        return python_struct.make_struct_field(members, methods, shape, offset)
    if shape is None and offset is not None:
        raise QuadrantsSyntaxError("shape cannot be None when offset is set")
    shape, _, offset = parse_placement(shape, None, offset)
    made = _struct(members, methods, name, needs_grad, needs_dual)
    _settle(made, shape, None, offset, layout, needs_grad, needs_dual)
    return made


def _struct(members, methods, name: str, needs_grad: bool, needs_dual: bool) -> StructField:
    parts = {}
    for key, kind in members.items():
        inner = kind if isinstance(kind, dict) else getattr(kind, "members", None)
        label = f"{name}.{key}"
        compound = None if inner is not None else dtypes.compound(kind)
        if inner is not None:
            parts[key] = _struct(inner, getattr(kind, "methods", {}), label, needs_grad, needs_dual)
        elif compound is not None:
            element_shape, scalar = compound
            kinds = _component_dtypes(scalar, element_shape)
            check_companions(kinds[0], needs_grad, needs_dual, label)
            n, m = (*element_shape, 1)[:2]
            parts[key] = MatrixField(new_leaves(element_shape, kinds, label, None, leaf_of), n, m, len(element_shape))
        else:
            scalar = dtypes.field_dtype(kind)
            check_companions(scalar, needs_grad, needs_dual, label)
            parts[key] = scalar_field(leaf_of(scalar, label, None))
    return StructField(parts, dict(methods or {}), name)


def _settle(made, shape, order, offset, layout, needs_grad: bool, needs_dual: bool) -> None:
    """Place a new field and its companions, or note that somebody still has to."""
    if shape is None:
        for part in made._placeable():
            tag_unplaced(part, needs_grad, needs_dual)
        return
    for leaf in made._leaves:
        if leaf.quant is not None:
            raise QuadrantsRuntimeError(f"shape={shape}: {packing.NEEDS_WORD.format(quant=leaf.quant)}")
    wanted = [made]
    wanted += [made.grad] if needs_grad else []
    wanted += [made.dual] if needs_dual else []
    exhaustion.note_site(made, shape)
    with snode.alone():
        for part in wanted:
            _attach(part, shape, order, offset, layout)


def _attach(made, shape: tuple, order, offset, layout) -> None:
    if layout not in (_AOS, _SOA):
        raise TypeError(f"layout must be qd.Layout.AOS or qd.Layout.SOA, not {layout!r}")
    if int(layout) == _SOA:
        groups = [[leaf] for leaf in made._leaves]
        if isinstance(made, StructField):
            groups = [list(part._leaves) for part in made._placeable()]
    else:
        groups = [list(made._leaves)]
    for group in groups:
        node = dense_node(shape, order)
        for leaf in group:
            node.attach(leaf, offset)


def _component_dtypes(dtype, element_shape: tuple) -> list:
    count = math.prod(element_shape)
    if not isinstance(dtype, (list, tuple)):
        return [dtypes.field_dtype(dtype)] * count
    rows = [dtype] if len(element_shape) == 1 else dtype
    widths = {len(row) if isinstance(row, (list, tuple)) else None for row in rows}
    given = (len(dtype),) if len(element_shape) == 1 else (len(dtype), *widths)
    if given != element_shape:
        what = "Vector" if len(element_shape) == 1 else "Matrix"
        raise AssertionError(
            f"Please set correct dtype list for {what}. The shape of dtype list should be {element_shape} "
            f"instead of {given}"
        )
    return [dtypes.field_dtype(kind) for row in rows for kind in row]


def _extent(n) -> int:
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"n and m of a matrix must be ints, not {n!r}") from None
    if n <= 0:
        raise QuadrantsRuntimeError(f"n and m of a matrix must be positive, got {n}")
    return n


@overload
def ndarray(dtype: type[Matrix], shape: int | Sequence[int], needs_grad: bool = False) -> MatrixNdarray: ...
@overload
def ndarray(dtype: type[float] | type[int], shape: int | Sequence[int], needs_grad: bool = False) -> ScalarNdarray: ...
@overload
def ndarray(dtype: Any, shape: int | Sequence[int], needs_grad: bool = False) -> Ndarray: ...
def ndarray(dtype: Any, shape: Any, needs_grad: bool = False) -> Any:
    """An ndarray of numbers, or of vectors or matrices if `dtype` is such a type; zeroed.

        a = qd.ndarray(qd.f32, shape=(64, 64))
        a.fill(1.0)

    shape: int or sequence of ints in 1 .. 2**31-1, or `()`. needs_grad: own an ndarray `grad` (real dtypes).
    Raises `QuadrantsRuntimeError` for a bad shape or dtype, and naming the bytes when memory runs out.
    """
    context.require()
    compound = dtypes.compound(dtype)
    element_shape, kind = ((), dtype) if compound is None else compound
    if context.python_arch():
        return _on_python_arch(kind, tuple(element_shape), shape)
    return ndarrays.make(kind, tuple(element_shape), shape, bool(needs_grad))


def _on_python_arch(dtype, element_shape: tuple, shape, offset=None):
    from quadrants.data import python_tensor  # imports torch

    return python_tensor.make_container(dtype, element_shape, shape, offset)


def matrix_ndarray(n, m, dtype, shape, needs_grad=False, ndim=None):
    """An ndarray of `n` x `m` matrices, or of vectors of `n` if `ndim` is 1. The rest as for `ndarray`."""
    context.require()
    element_shape = (_extent(n),) if ndim == 1 else (_extent(n), _extent(m))
    if context.python_arch():
        return _on_python_arch(dtype, element_shape, shape)
    return ndarrays.make(dtype, element_shape, shape, bool(needs_grad))


def laid_out_ndarray(dtype, shape, needs_grad=False, layout=None):
    """As `ndarray`, stored with `layout` (a permutation of the axes, outermost first)."""
    context.require()
    if layout is not None and dtypes.compound(dtype) is not None:
        raise TypeError("layout= needs a scalar dtype")
    return ndarrays.make(dtype, (), shape, bool(needs_grad), layout) if layout else ndarray(dtype, shape, needs_grad)


__all__ = ["field", "laid_out_ndarray", "matrix_field", "matrix_ndarray", "ndarray", "struct_field"]
