"""Node kinds of the structured IR. Pure data: typed expressions, explicit places, statements, tasks, functions.

Expressions have no side effects except `Call` of an impure function, `Atomic` and `Rand`; the frontend binds those to a
`Declare` or an `Eval`, so that evaluation order is the order of statements. Places are in `ir.memory`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from quadrants.ir.memory import MEMORY as MEMORY
from quadrants.ir.memory import ArrayDecl as ArrayDecl
from quadrants.ir.memory import Cell as Cell
from quadrants.ir.memory import Choice as Choice
from quadrants.ir.memory import ElemPlace as ElemPlace
from quadrants.ir.memory import Loc as Loc
from quadrants.ir.memory import MemberPlace as MemberPlace
from quadrants.ir.memory import Slot as Slot
from quadrants.ir.memory import Var as Var
from quadrants.ir.memory import VarPlace as VarPlace

# ---------------------------------------------------------------- expressions


@dataclass(slots=True, eq=False)
class Const:
    value: Any
    type: Any


@dataclass(slots=True, eq=False)
class Load:
    place: Any
    type: Any


@dataclass(slots=True, eq=False)
class Unary:
    op: str
    a: Any
    type: Any


@dataclass(slots=True, eq=False)
class Binary:
    """`exact`: integers that do not overflow, or only where the index that they are part of is out of range anyway."""

    op: str
    a: Any
    b: Any
    type: Any
    loc: Any = None  # set where debug mode wants to report overflow
    exact: bool = False


@dataclass(slots=True, eq=False)
class Select:
    """`a if cond else b`. A scalar condition with `lazy` evaluates one side only."""

    cond: Any
    a: Any
    b: Any
    type: Any
    lazy: bool = True


@dataclass(slots=True, eq=False)
class Cast:
    a: Any
    type: Any
    bits: bool = False


@dataclass(slots=True, eq=False)
class Make:
    """A tensor (row-major elements) or struct (member order) built from parts."""

    parts: tuple
    type: Any


@dataclass(slots=True, eq=False)
class Elem:
    a: Any
    indices: tuple
    type: Any


@dataclass(slots=True, eq=False)
class Member:
    a: Any
    name: str
    type: Any


@dataclass(slots=True, eq=False)
class MatOp:
    """A whole-tensor operation kept as one node: matmul, dot, cross, transpose, norm_sqr, sum, inverse, ..."""

    op: str
    args: tuple
    type: Any


@dataclass(slots=True, eq=False)
class Call:
    func: Any
    args: tuple
    type: Any


@dataclass(slots=True, eq=False)
class Extent:
    array: ArrayDecl
    axis: int
    type: Any


@dataclass(slots=True, eq=False)
class Rand:
    type: Any
    op: str = "random"


@dataclass(slots=True, eq=False)
class Builtin:
    """A per-thread value of the execution model, by name: `thread_index`, or "family.helper" of the prelude."""

    name: str
    type: Any
    args: tuple = ()


@dataclass(slots=True, eq=False)
class Intrinsic:
    """An operation of threads on one another or on the machine: a barrier, fence, shuffle, vote, tile operation, clock.

    op: "family.helper" of the prelude; params: what else selects the helper, such as dtypes and compile-time integers.
    args: values, or places handed over by reference. It keeps its place among the statements: the frontend binds it to
    a Declare or an Eval, and nothing may duplicate, drop or move it.
    """

    op: str
    args: tuple
    type: Any
    params: tuple = ()


@dataclass(slots=True, eq=False)
class Volatile:
    """A load that happens where it stands, each time it is reached; bound to a Declare, as an Intrinsic is."""

    place: Any
    type: Any


@dataclass(slots=True, eq=False)
class Atomic:
    """Read-modify-write; the value is the old content. `plain`: no other thread touches the place meanwhile."""

    op: str
    place: Any
    args: tuple
    type: Any
    plain: bool = False


# ---------------------------------------------------------------- statements


@dataclass(slots=True, eq=False)
class Declare:
    var: Var
    init: Any
    loc: Any = None


@dataclass(slots=True, eq=False)
class Store:
    place: Any
    value: Any
    loc: Any = None


@dataclass(slots=True, eq=False)
class Eval:
    value: Any
    loc: Any = None


@dataclass(slots=True, eq=False)
class If:
    cond: Any
    then: list
    orelse: list
    loc: Any = None


@dataclass(slots=True, eq=False)
class LoopConfig:
    block_dim: int | None = None
    serialize: bool = False
    parallelize: int | None = None
    name: str | None = None


@dataclass(slots=True, eq=False)
class For:
    """Product of ranges, the last axis fastest unless `order` says otherwise; one `(begin, end)` per variable.

    `parallel` marks a loop that becomes a task. `unroll`: "full" where the bounds are constants and no index may be
    left for run time, "never" where the body is long, "" to leave it to the compiler. `backward`: from the last
    iteration to the first, in every axis; sequential loops only.
    """

    vars: tuple
    bounds: tuple
    body: list
    parallel: bool = False
    config: LoopConfig | None = None
    kind: str = "range_for"
    has_break: bool = False
    loc: Any = None
    unroll: str = ""
    backward: bool = False


@dataclass(slots=True, eq=False)
class While:
    """`pre` is evaluated before the condition in every round."""

    pre: list
    cond: Any
    body: list
    loc: Any = None


@dataclass(slots=True, eq=False)
class Break:
    loop: Any = None
    loc: Any = None


@dataclass(slots=True, eq=False)
class Continue:
    loc: Any = None


@dataclass(slots=True, eq=False)
class Return:
    values: tuple
    loc: Any = None


@dataclass(slots=True, eq=False)
class Leave:
    """The end of a thread's work on a task."""

    loc: Any = None


@dataclass(slots=True, eq=False)
class Check:
    """Fails the launch unless `cond` holds. `site` numbers the message; `values` are handed to it."""

    cond: Any
    site: int
    values: tuple
    loc: Any = None


@dataclass(slots=True, eq=False)
class Print:
    """parts: literal strings and (expression, printf conversion or None)."""

    parts: tuple
    loc: Any = None


@dataclass(slots=True, eq=False)
class StopGrad:
    """Loads of `array` in this block and below pass no derivative on. Only where a kernel is differentiated."""

    array: ArrayDecl
    loc: Any = None


@dataclass(slots=True, eq=False)
class Comment:
    text: str
    loc: Any = None


@dataclass(slots=True, eq=False)
class Region:
    """A stretch of the top of a kernel with an order of its own; only there or in another region.

    kind: "loop" runs its body, reads `flag`, and runs it again while that is not 0. "checkpoint" ends the launch, which
    then reports `label`, when `flag` is not 0 behind its body; a launch may begin there. "parallel" holds regions of
    kind "section", of which none depends on another; nor does one of kind "stream" on other ones.
    flag: a 0-d i32 array. begin, end: its tasks; parent: the region around it, -1 for none. Set by task splitting.
    """

    kind: str
    body: list
    flag: ArrayDecl | None = None
    label: int = 0
    loc: Any = None
    begin: int = 0
    end: int = 0
    parent: int = -1


@dataclass(slots=True, eq=False)
class StackDepth:
    """Slots of a stack, the `source` of its declaration: a 64-bit expression, and what the launch runs on the host to
    set the variable in it. `size` is the expression that this was made from, for whoever evaluates it otherwise.
    """

    count: Any
    statements: list
    size: Any = None


# ---------------------------------------------------------------- functions, tasks, module


@dataclass(slots=True, eq=False)
class Function:
    name: str
    params: list
    body: list
    result: tuple = ()
    pure: bool = True
    doc: str = ""
    loc: Any = None
    derivative: Any = None  # set while a kernel is differentiated: the function that does so for calls of this one


@dataclass(slots=True, eq=False)
class Task:
    """One launch: `serial` runs its body once; otherwise `loop` is a parallel For.

    near: iterations read cells next to those of others; set by `passes.neighbours`. collective: its threads wait for,
    read from or count on one another. shared_arrays: (declaration, offset in bytes) of the shared arrays of a block,
    `shared_bytes` long in all. Both are set by `passes.blocks`.
    """

    name: str
    kind: str
    body: list
    loop: For | None = None
    pre: list = field(default_factory=list)
    reductions: list = field(default_factory=list)
    near: bool = False
    collective: bool = False
    shared_arrays: tuple = ()
    shared_bytes: int = 0
    local: bool = False  # only sets variables of the kernel; known where there are checkpoints
    sizing: bool = False  # finds depths of stacks for later tasks; set by `passes.adstack_sizes`
    trips: Var | None = None  # the iterations of the loop, where sizing finds that
    gate: Gate | None = None  # set by `passes.adstack_gates`
    cost: tuple = ()  # what `ir.cost.estimate` says of the body, before addresses are part of it


@dataclass(slots=True, eq=False)
class Gate:
    """Of a task whose threads claim rows of stacks; the task in front of it counts. passing: how many iterations get
    behind the condition. claimed: how many rows are taken. row: that of this thread, below 0 as long as it has none;
    rows: how many there are. Codegen declares both. text: the condition, for dumps.
    """

    passing: Var
    claimed: Var
    row: Var
    rows: Var
    text: str


@dataclass(slots=True, eq=False)
class Sizing:
    """Tasks `begin` to `end` of a module, which find the depths that the tasks behind them need before a device
    launches these. depths: the variables that they set. maxima: those in which parallel loops collect.
    """

    begin: int
    end: int
    depths: list
    maxima: list


@dataclass(slots=True, eq=False)
class Module:
    """One kernel specialisation."""

    name: str
    body: list
    functions: list
    arrays: list
    params: list
    result: tuple
    sites: list
    tasks: list = field(default_factory=list)
    shared: list = field(default_factory=list)
    depths: list = field(default_factory=list)  # variables of the frame with the depths of stacks
    sizings: list = field(default_factory=list)  # on devices: how those of these become known that need cells
    heap_site: int = -1  # the message when there is no memory for stacks
    doc: str = ""
    loc: Any = None
    def_lines: dict = field(default_factory=dict)  # where the functions begin that statements name
    regions: list = field(default_factory=list)  # outer before inner, in order
    written: list = field(default_factory=list)  # array arguments, and fields of integers, that it may write
