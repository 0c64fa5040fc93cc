"""Members of the two structs of a launch, as templates declare them: the argument block, and what tasks share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from quadrants.emit import adstack_rows
from quadrants.ir.adstack_heaps import kinds_of
from quadrants.ir.nodes import ArrayDecl, Module
from quadrants.ir.places import elements
from quadrants.ir.types import ValueType, element_dtype, f64, i32, i64, primitive, u64

if TYPE_CHECKING:
    from quadrants.emit.layout import ArgsLayout, FrameLayout
    from quadrants.emit.prelude import Prelude


class Member(NamedTuple):
    """type: "" for a byte of memory without one. pointer: it points to such. length: elements of an array."""

    name: str
    type: str
    pointer: bool = False
    length: int = 0


def element_type(prelude: Prelude, decl: ArrayDecl) -> str:
    """What the pointer of an array points to: an element, or a number where elements are taken apart."""
    return prelude.stored(decl.type if elements(decl) > 1 else element_dtype(decl.type))


def of_args(layout: ArgsLayout, prelude: Prelude, address: str = "", space: str = "") -> list[Member]:
    """The members of the argument block. address: the type of an address where that is no pointer. space: the qualifier
    of the memory that pointers lead to.
    """
    number = prelude.type(primitive(address)) if address else f"{space}char" if space else ""
    out: list[Member] = []
    for kind, what in layout.members:
        if kind == "pointer":
            out.append(
                Member(what.name, number if address else space + element_type(prelude, what), pointer=not address)
            )
        elif kind == "shape":
            out.append(Member(f"{what.name}_shape", prelude.type(i32), length=what.ndim))
        elif kind == "launch":
            out += [Member("qd_seed", prelude.type(u64)), Member("qd_launch", prelude.type(u64))]
        elif kind == "ring":
            out.append(Member("qd_prints", number, pointer=not address))
        elif kind == "times":
            out.append(Member("qd_times", prelude.type(f64), length=2 * what))
        elif kind == "status":
            out += [Member("qd_resume", prelude.type(i32)), Member("qd_yielded", prelude.type(i32))]
        elif kind == "heap":
            out.append(Member(f"qd_{what}_heap", number, pointer=not address))
        elif kind == "rows":
            out.append(Member(adstack_rows.rows_name(what), prelude.type(i64)))
        elif kind == "result":
            out.append(_result(prelude, *what))
        else:
            out.append(Member(what.name, prelude.stored(what.type)))
    return out


def of_frame(layout: FrameLayout, prelude: Prelude) -> list[Member]:
    """The members of the frame of a device, behind the failure record."""
    pairs = [(kind, what) for kind, what in layout.members if kind != "error"]
    return [
        _result(prelude, *what) if kind == "result" else Member(what.name, prelude.stored(what.type))
        for kind, what in pairs
    ]


def of_local_frame(module: Module, used: list[ArrayDecl], prelude: Prelude) -> list[Member]:
    """The members of the frame that the entry function of a CPU has. used: the stacks of all tasks."""
    counts = [t.gate.passing for t in module.tasks if t.gate is not None]
    out = [Member(v.name, prelude.type(v.type)) for v in (*module.shared, *module.depths, *counts)]
    for kind in kinds_of(used):
        out += [Member(f"qd_{kind}_heap", "", pointer=True), Member(f"qd_{kind}_stride", prelude.type(i64))]
    return out


def _result(prelude: Prelude, k: int, t: ValueType) -> Member:
    return Member(f"result{k}", prelude.stored(t))
