"""What a skeleton is handed: functions, tasks and their locals as data.

Types are spelled and expressions printed; every other word of the target language is the template's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypedDict

from quadrants.launch.tasks import GatePlaces, HeapStack, Program


class Local(NamedTuple):
    """A name at the top of a function or a task.

    kind: "constant" and "variable" begin with `value`; "pointer" to elements of `type`, which `value` is, with a
    qualifier and, where bytes of its alignment are worth saying, `aligned`; "array" of `length` elements of `type`.
    """

    kind: str
    type: str
    name: str
    value: str = ""
    qualifier: str = ""
    aligned: int = 0
    length: int = 0


class SharedArray(NamedTuple):
    """Of `length` elements, for a block of threads. offset: bytes into the memory that the launch gives a block; None
    where the array has memory of its own."""

    type: str
    name: str
    length: int
    offset: int | None


class SharedUpdate(NamedTuple):
    """A function that changes an element of `array`, or a component of one (`component`), by compare-and-swap, and
    returns what was there. type: of the number. word: what the array has for it, and to, of: functions between the two,
    "" where they are the same. plain: the function that changes a variable. swaps: it takes what is expected and what
    is desired."""

    name: str
    array: str
    component: bool
    type: str
    word: str
    plain: str
    to: str
    of: str
    swaps: bool


class Parameter(NamedTuple):
    """Of a function. by_reference: what it does to it, the caller sees. constant: it never changes."""

    type: str
    name: str
    by_reference: bool
    constant: bool


class Axis(NamedTuple):
    """Of a parallel loop, as expressions. begin: "" for zero. constant: the extent as a number, or None."""

    name: str
    begin: str
    end: str
    extent: str
    constant: int | None


class TileAxis(TypedDict):
    """Of a tile of a loop. begin: of the first tile. size: of a tile. tiles: along the axis. below, beyond: whether a
    tile reaches out of the loop there."""

    begin: int
    size: int
    tiles: int
    below: bool
    beyond: bool


class Accumulator(NamedTuple):
    """Of a reduction in a block of threads. parts: how many `warp` leaves for `block`, functions both."""

    name: str
    type: str
    parts: int
    warp: str
    block: str


class Stack(NamedTuple):
    """bytes: of it in the row of a worker or a thread, as an expression; "" where no stack comes after it."""

    type: str
    name: str
    bytes: str


class Heap(NamedTuple):
    """The stacks of one kind ("float", "int") in a row."""

    kind: str
    stacks: list[Stack]


class Gate(NamedTuple):
    """Where only some iterations need a row: `rows` is how many there are, `row` that of this thread, -1 for none yet.
    member: of the argument block, with the number."""

    rows: str
    row: str
    member: str


@dataclass(slots=True, eq=False, repr=False)
class Rows:
    """The stacks of a task in rows of memory. extents: of its loop; threads without an iteration have no row."""

    heaps: list[Heap]
    gate: Gate | None = None
    extents: list[str] = field(default_factory=list)


class Counting(NamedTuple):
    """On a CPU: the task that counts the iterations that need a row, and the member of the frame that it counts in."""

    task: str
    passing: str


class Depth(NamedTuple):
    """Statements that set the depth of stacks to `here`; where it may be known from an earlier launch, `held`, which is
    below zero if it is not, is the place it is kept in."""

    lines: list[str]
    here: str = ""
    held: str = ""


class StackPreparation(NamedTuple):
    """What the entry function of a CPU does before a task with stacks: it finds the bytes of a row in each heap. lane:
    whether that calls functions that take one."""

    locals: list[Local]
    depths: list[Depth]
    heaps: list[Heap]
    lane: bool


class TripCount(NamedTuple):
    """constant: iterations of a parallel loop, or None: the product of the extents, which use the locals."""

    locals: list[Local]
    extents: list[str]
    constant: int | None


@dataclass(slots=True, eq=False, repr=False)
class EmittedFunction:
    """A function of the user's. result: a type, or "". lane: it takes the record of a thread; frame: it uses it.
    roomy: it has variables that are no matter of registers. early: functions before it call it.
    calls: the functions that it calls itself. units: bits of those that make it, where compilers share the text;
    apart: others call it."""

    name: str
    result: str
    params: list[Parameter]
    locals: list[Local]
    lines: list[str]
    doc: str = ""
    lane: bool = False
    frame: bool = False
    roomy: bool = False
    early: bool = False
    calls: frozenset[str] = frozenset()
    units: int = 0
    apart: bool = False


@dataclass(slots=True, eq=False, repr=False)
class EmittedTask:
    """A task; docs/guide/templates.md says what its members are."""

    name: str
    kind: str
    locals: list[Local]
    lines: list[str]
    shared: list[SharedArray] = field(default_factory=list)
    number: int = 0
    updates: list[SharedUpdate] = field(default_factory=list, kw_only=True)
    loop: list[Axis] | None = None
    opening: list[Local] = field(default_factory=list)
    closing: list[str] = field(default_factory=list)
    lane: bool = False
    check: bool = False
    random: bool = False
    grain: int = 1
    max_threads: int = 0
    alone: bool = False
    form: str = ""
    block_dim: int = 0
    resident: int = 0
    count: int | Program | None = None
    threads: int | Program | None = None
    tile: list[TileAxis] | None = None
    times: int = 1
    registers: list[Local] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    reductions: list[Accumulator] = field(default_factory=list)
    unroll: int = 1
    take_axis: str = ""
    collective: bool = False
    stays: bool = False
    idle: bool = False
    shared_bytes: int = 0
    local: bool = False
    sizing: bool = False
    units: int = 0
    calls: frozenset[str] = frozenset()
    rows: Rows | None = None
    counting: Counting | None = None
    stacks: tuple[HeapStack, ...] = ()
    gate: GatePlaces | None = None
    ended: str = ""
    again: str = ""
