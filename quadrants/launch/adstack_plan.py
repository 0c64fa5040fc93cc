"""What a launch has to know about the stacks of its tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from quadrants.launch.tasks import Program

# Threads that a device starts for a task with stacks.
MOST_ROWS = 65536


class ComputedDepth(NamedTuple):
    """A depth that the arguments decide, and its offset in the argument block."""

    offset: int
    program: Program


class Sizing(NamedTuple):
    """Tasks `begin` to `end` find as many `depths`: at `frame` in the frame, to go to `block` in the argument block."""

    begin: int
    end: int
    frame: int
    depths: int
    block: int


@dataclass(slots=True, repr=False)
class StackPlan:
    """What a launch on a device does about stacks. Offsets are in bytes in the argument block unless told otherwise.

    heaps: where the addresses of the float heap and of the int heap go, -1 for none. begin, end: the part that has
    these and all depths. site: the message when there is no memory.
    """

    heaps: tuple[int, int] = (-1, -1)
    begin: int = 0
    end: int = 0
    depths: tuple[ComputedDepth, ...] = ()
    sizings: tuple[Sizing, ...] = ()
    site: int = -1


class ArgumentPart(NamedTuple):
    """Bytes of the argument block."""

    offset: int
    bytes: int


@dataclass(slots=True, repr=False)
class KeptDepths:
    """Depths that depend on cells of arrays, and so are kept from one launch to the next.

    places: offsets of the depths in the argument block, -1 in a CPU's where the launch has to find them. values: the
    arguments and extents in the block that they depend on. arrays: numbers of the declarations whose cells they depend
    on; `slots` and `cells` are what these are bound to, numbers of slots and fields.
    """

    places: tuple[int, ...] = ()
    values: tuple[ArgumentPart, ...] = ()
    arrays: tuple[int, ...] = ()
    slots: tuple[int, ...] = ()
    cells: tuple[Any, ...] = field(default=(), metadata={"of_process": True})
