"""Variables, arrays, and the places in them that the structured IR loads from and stores to.

A *place* says where a load, store or atomic goes; there are no raw pointers, so that a dialect without pointers can
print every one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from quadrants.ir.nodes import Expr
    from quadrants.ir.quant import Packing
    from quadrants.ir.sparse import Within
    from quadrants.ir.types import ValueType

_ids = count()


@dataclass(slots=True, frozen=True)
class Loc:
    """Where a node came from: one frame per inlined function, outermost first, as (file, line, function).

    text: the user's line with marks, for what reports it while it runs.
    """

    frames: tuple[tuple[str, int, str], ...]
    text: str = ""

    @property
    def file(self) -> str:
        return self.frames[-1][0]

    @property
    def line(self) -> int:
        return self.frames[-1][1]


@dataclass(slots=True, eq=False, repr=False)
class Var:
    """A variable of a function or task. `shared` is set by task splitting: it lives in the kernel's frame."""

    name: str
    type: ValueType
    mutable: bool = False
    by_ref: bool = False
    shared: bool = False
    level: int = 0
    temporary: bool = False  # made by the frontend, not named by the user
    natural: bool = False  # never below zero, as the offset of a view
    id: int = field(default_factory=lambda: next(_ids))


@dataclass(slots=True, eq=False, repr=False)
class ArrayDecl:
    """Memory a kernel can index: a dense field, an array argument or an array shared by the threads of a block.

    `levels` (fields): (axis, extent, divisor, stride in scalar elements); the element index of canonical index I is
    `sum((I[axis] - index_offset[axis]) // divisor % extent * stride)`. Array arguments are row-major over their
    run-time extents
    in `layout` order, and then have `levels=None`. `component_strides` gives the distance between components of one
    cell, in
    scalar elements; `components` lists one declaration a component when the components do not share one base pointer.
    `grad` and `dual`, set while a kernel is differentiated, are the declarations of the companions; `flags`, set while
    it is validated, that of one u8 per number, and `needed` whether the derivative in reverse mode reads the array.
    `packed`: which bits of a word a cell is; the strides count words then, and `words` is the array of these, once
    `passes.packed_places` has declared it.
    `within` (fields below a sparse node): the containers that the cells are in; `levels` are then those in a container.
    """

    name: str
    kind: str  # "field" | "array"; "shared": memory of a block, "stack": of a thread, both no part of the arguments
    type: ValueType  # cell type: DType or TensorType
    ndim: int
    shape: tuple[int, ...] | None = None
    levels: tuple[tuple[int, int, int, int], ...] | None = None
    index_offset: tuple[int, ...] | None = None
    components: tuple[ArrayDecl, ...] | None = None
    layout: tuple[int, ...] | None = None
    clamp: bool = False
    may_be_empty: bool = False  # clamped, and an extent may be zero: see `passes.guard_empty`
    extents: bool = True  # an array argument comes with its extents; that of a view has a size of its own
    source: Any = None  # how the launch finds the memory: opaque to IR and emit
    number: int = -1
    label: str = ""
    packed: Packing | None = None
    words: ArrayDecl | None = None
    grad: ArrayDecl | None = None
    dual: ArrayDecl | None = None
    flags: ArrayDecl | None = None
    needed: bool = False
    within: Within | None = None
    id: int = field(default_factory=lambda: next(_ids))


# ---------------------------------------------------------------- places


@dataclass(slots=True, eq=False, repr=False)
class VarPlace:
    """A variable."""

    var: Var
    type: ValueType


@dataclass(slots=True, eq=False, repr=False)
class Cell:
    """containers: of an array below a sparse node, the container of the cell, or of each component's (None for
    that of the root); set by `passes.sparse.access`."""

    array: ArrayDecl
    indices: tuple[Expr, ...]
    type: ValueType
    containers: tuple[Expr | None, ...] = ()


@dataclass(slots=True, eq=False, repr=False)
class ElemPlace:
    """A component of a tensor place; one index per axis."""

    base: Place
    indices: tuple[Expr, ...]
    type: ValueType


@dataclass(slots=True, eq=False, repr=False)
class MemberPlace:
    """A member of a struct place."""

    base: Place
    name: str
    type: ValueType


@dataclass(slots=True, eq=False, repr=False)
class Slot:
    """Where `passes.lower_places` finds a cell: the element `index` of what the array's pointer points to.

    type: of what is there: that of an element, or a tensor whose components begin there side by side.
    """

    array: ArrayDecl
    index: Expr
    type: ValueType


MEMORY = (Cell, Slot)


@dataclass(slots=True, eq=False, repr=False)
class Choice:
    """The place whose number is `index`: a component, chosen at run time, of a tensor that is in several arrays."""

    index: Expr
    places: tuple[Place, ...]
    type: ValueType


PLACES = (VarPlace, Cell, ElemPlace, MemberPlace, Slot, Choice)
Place: TypeAlias = "VarPlace | Cell | ElemPlace | MemberPlace | Slot | Choice"
