"""What a launch on a device has to know about the stacks of its tasks."""

from __future__ import annotations

from dataclasses import dataclass

# Threads that a device starts for a task with stacks.
MOST_ROWS = 65536


@dataclass(slots=True)
class StackPlan:
    """Offsets are in bytes in the argument block unless told otherwise.

    heaps: where the addresses of the float heap and of the int heap go, -1 for none. begin, end: the part that has
    these and all depths. depths: (offset, program as in `launches`) of those that the arguments decide.
    sizings: (first task, end of its tasks, offset of the first depth in the frame, number of depths, offset of the
    first) of those that tasks find. site: the message when there is no memory.
    """

    heaps: tuple = (-1, -1)
    begin: int = 0
    end: int = 0
    depths: tuple = ()
    sizings: tuple = ()
    site: int = -1


@dataclass(slots=True)
class KeptDepths:
    """Depths that depend on cells of arrays, and so are kept from one launch to the next.

    places: offsets of the depths in the argument block, -1 in a CPU's where the launch has to find them. values:
    (offset, bytes) of the arguments and extents in the block that they depend on. arrays: numbers of the declarations
    whose cells they depend on; `slots` and `cells` are what these are bound to, numbers of slots and fields.
    """

    places: tuple = ()
    values: tuple = ()
    arrays: tuple = ()
    slots: tuple = ()
    cells: tuple = ()
