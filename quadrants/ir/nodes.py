"""Node kinds of the structured IR. Pure data: typed expressions, explicit places, statements, tasks, functions.

Expressions have no side effects except `Call` of an impure function, `Atomic` and `Rand`; the frontend binds those to a
`Declare` or an `Eval`, so that evaluation order is the order of statements. Places are in `ir.memory`.

`ir.printer` shows nodes. They have no `repr` of their own, and all have a docstring: to generate either for fifty
classes takes a tenth of the time of the first kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from quadrants.ir.loop_config import LoopConfig as LoopConfig
from quadrants.ir.memory import MEMORY as MEMORY
from quadrants.ir.memory import PLACES as PLACES
from quadrants.ir.memory import ArrayDecl as ArrayDecl
from quadrants.ir.memory import Cell as Cell
from quadrants.ir.memory import Choice as Choice
from quadrants.ir.memory import ElemPlace as ElemPlace
from quadrants.ir.memory import Loc as Loc
from quadrants.ir.memory import MemberPlace as MemberPlace
from quadrants.ir.memory import Place as Place
from quadrants.ir.memory import Slot as Slot
from quadrants.ir.memory import Var as Var
from quadrants.ir.memory import VarPlace as VarPlace
from quadrants.ir.types import u1

if TYPE_CHECKING:
    from quadrants.banner import Frame
    from quadrants.ir.types import DType, ValueType

# ---------------------------------------------------------------- expressions


@dataclass(slots=True, eq=False, repr=False)
class Const:
    """A number known at compile time, as a Python value."""

    value: Any
    type: DType


@dataclass(slots=True, eq=False, repr=False)
class Load:
    """The content of a place. origin: in a derivative, the number of the load of the kernel that it is a copy of."""

    place: Place
    type: ValueType
    origin: int = 0


@dataclass(slots=True, eq=False, repr=False)
class Unary:
    """An operation of one operand, elementwise where it is a tensor."""

    op: str
    a: Expr
    type: ValueType


@dataclass(slots=True, eq=False, repr=False)
class Binary:
    """`exact`: integers that do not overflow, or only where the index that they are part of is out of range anyway."""

    op: str
    a: Expr
    b: Expr
    type: ValueType
    loc: Loc | None = None  # set where debug mode wants to report overflow
    exact: bool = False


@dataclass(slots=True, eq=False, repr=False)
class Select:
    """`a if cond else b`. A scalar condition with `lazy` evaluates one side only."""

    cond: Expr
    a: Expr
    b: Expr
    type: ValueType
    lazy: bool = True


@dataclass(slots=True, eq=False, repr=False)
class Cast:
    """A conversion to another type; `bits`: the same bits, read as that type."""

    a: Expr
    type: ValueType
    bits: bool = False


@dataclass(slots=True, eq=False, repr=False)
class Make:
    """A tensor (row-major elements) or struct (member order) built from parts."""

    parts: tuple[Expr, ...]
    type: ValueType


@dataclass(slots=True, eq=False, repr=False)
class Elem:
    """An element of a tensor that is no place."""

    a: Expr
    indices: tuple[Expr, ...]
    type: ValueType


@dataclass(slots=True, eq=False, repr=False)
class Member:
    """A member of a struct that is no place."""

    a: Expr
    name: str
    type: ValueType


@dataclass(slots=True, eq=False, repr=False)
class MatOp:
    """A whole-tensor operation kept as one node: matmul, dot, cross, transpose, norm_sqr, sum, inverse, ..."""

    op: str
    args: tuple[Expr, ...]
    type: ValueType


@dataclass(slots=True, eq=False, repr=False)
class Call:
    """type: None where a function that has no result is called, which only an `Eval` does."""

    func: Function
    args: tuple[Expr | Place, ...]
    type: ValueType


@dataclass(slots=True, eq=False, repr=False)
class Extent:
    """The length of an array along one axis, at run time."""

    array: ArrayDecl
    axis: int
    type: DType


@dataclass(slots=True, eq=False, repr=False)
class Rand:
    """The next random number of the iteration."""

    type: DType
    op: str = "random"


@dataclass(slots=True, eq=False, repr=False)
class Builtin:
    """A per-thread value of the execution model, by name: `thread_index`, or "family.helper" of the prelude."""

    name: str
    type: ValueType
    args: tuple[Expr, ...] = ()


@dataclass(slots=True, eq=False, repr=False)
class Intrinsic:
    """An operation of threads on one another or on the machine: a barrier, fence, shuffle, vote, tile operation, clock.

    op: "family.helper" of the prelude; params: what else selects the helper, such as dtypes and compile-time integers.
    args: values, or places handed over by reference. It keeps its place among the statements: the frontend binds it to
    a Declare or an Eval, and nothing may duplicate, drop or move it.
    """

    op: str
    args: tuple[Expr | Place, ...]
    type: ValueType
    params: tuple[Any, ...] = ()


@dataclass(slots=True, eq=False, repr=False)
class Volatile:
    """A load that happens where it stands, each time it is reached; bound to a Declare, as an Intrinsic is."""

    place: Place
    type: ValueType


@dataclass(slots=True, eq=False, repr=False)
class Atomic:
    """Read-modify-write; the value is the old content. `plain`: no other thread touches the place meanwhile."""

    op: str
    place: Place
    args: tuple[Expr, ...]
    type: ValueType
    plain: bool = False


Expr: TypeAlias = (
    "Const | Load | Unary | Binary | Select | Cast | Make | Elem | Member | MatOp | Call | Extent | Rand | Builtin | "
    "Intrinsic | Volatile | Atomic"
)

# ---------------------------------------------------------------- statements


@dataclass(slots=True, eq=False, repr=False)
class Declare:
    """A variable begins, with a value."""

    var: Var
    init: Expr
    loc: Loc | None = None


@dataclass(slots=True, eq=False, repr=False)
class Store:
    """A value goes to a place."""

    place: Place
    value: Expr
    loc: Loc | None = None


@dataclass(slots=True, eq=False, repr=False)
class Eval:
    """An expression is evaluated for what it does."""

    value: Expr
    loc: Loc | None = None


@dataclass(slots=True, eq=False, repr=False)
class If:
    """One of two blocks, by a scalar condition."""

    cond: Expr
    then: list[Stmt]
    orelse: list[Stmt]
    loc: Loc | None = None


@dataclass(slots=True, eq=False, repr=False)
class For:
    """Product of ranges, the last axis fastest unless `order` says otherwise; one `(begin, end)` per variable.

    `parallel` marks a loop that becomes a task. `unroll`: "full" where the bounds are constants and no index may be
    left for run time, "never" where the body is long, "" to leave it to the compiler. `backward`: from the last
    iteration to the first, in every axis; sequential loops only. `over`: a field, or a stand-in for a node of a tree,
    of which only the active cells are visited; the bounds are those of all its cells until `passes.sparse.loops` makes
    the loop one over containers. From then on `index` are the variables that name an iteration, one an axis, and `vars`
    number the container and the levels in it. `lanes`: threads of a block that work together.
    """

    vars: tuple[Var, ...]
    bounds: tuple[tuple[Expr, Expr], ...]
    body: list[Stmt]
    parallel: bool = False
    config: LoopConfig | None = None
    kind: str = "range_for"
    has_break: bool = False
    loc: Loc | None = None
    unroll: str = ""
    backward: bool = False
    over: ArrayDecl | None = None
    index: tuple[Var, ...] = ()
    lanes: int = 1

    def share_block(self, block_dim: int) -> int:
        """Have blocks of so many threads, if the loop does not say how many. What they have then."""
        if self.config is None:
            self.config = LoopConfig()
        if self.config.block_dim is None:
            self.config.block_dim = block_dim
        return self.config.block_dim


@dataclass(slots=True, eq=False, repr=False)
class While:
    """`pre` is evaluated before the condition in every round."""

    pre: list[Stmt]
    cond: Expr
    body: list[Stmt]
    loc: Loc | None = None


@dataclass(slots=True, eq=False, repr=False)
class Break:
    """The end of a loop: of `loop`, or of the innermost one."""

    loop: For | None = None
    loc: Loc | None = None


@dataclass(slots=True, eq=False, repr=False)
class Continue:
    """The end of an iteration of the innermost loop."""

    loc: Loc | None = None


@dataclass(slots=True, eq=False, repr=False)
class Return:
    """The end of a function or kernel, with its results."""

    values: tuple[Expr, ...]
    loc: Loc | None = None


@dataclass(slots=True, eq=False, repr=False)
class Leave:
    """The end of a thread's work on a task."""

    loc: Loc | None = None


@dataclass(slots=True, eq=False, repr=False)
class Check:
    """Fails the launch unless `cond` holds. `site` numbers the message; `values` are handed to it."""

    cond: Expr
    site: int
    values: tuple[Expr, ...]
    loc: Loc | None = None


@dataclass(slots=True, eq=False, repr=False)
class Print:
    """parts: literal strings and (expression, printf conversion, "" for the usual one)."""

    parts: tuple[str | tuple[Expr, str], ...]
    loc: Loc | None = None


@dataclass(slots=True, eq=False, repr=False)
class StopGrad:
    """Loads of `array` in this block and below pass no derivative on. Only where a kernel is differentiated."""

    array: ArrayDecl
    loc: Loc | None = None


@dataclass(slots=True, eq=False, repr=False)
class Comment:
    """A line of the text that says something to its reader."""

    text: str
    loc: Loc | None = None


@dataclass(slots=True, eq=False, repr=False)
class Region:
    """A stretch of the top of a kernel with an order of its own; only there or in another region.

    kind: "loop" runs its body, reads `flag`, and runs it again while that is not 0. "checkpoint" ends the launch, which
    then reports `label`, when `flag` is not 0 behind its body; a launch may begin there. "parallel" holds regions of
    kind "section", of which none depends on another; nor does one of kind "stream" on other ones.
    flag: a 0-d i32 array. begin, end: its tasks; parent: the region around it, -1 for none. Set by task splitting.
    """

    kind: str
    body: list[Stmt]
    flag: ArrayDecl | None = None
    label: int = 0
    loc: Loc | None = None
    begin: int = 0
    end: int = 0
    parent: int = -1


@dataclass(slots=True, eq=False, repr=False)
class StackDepth:
    """Slots of a stack, the `source` of its declaration: a 64-bit expression, and what the launch runs on the host to
    set the variable in it. `size` is the expression that this was made from, for whoever evaluates it otherwise.
    """

    count: Expr
    statements: list[Stmt]
    size: Any = None

    @property
    def var(self) -> Var:
        """The variable of the frame, where the launch decides the count."""
        assert isinstance(self.count, Load) and isinstance(self.count.place, VarPlace)
        return self.count.place.var


Stmt: TypeAlias = (
    "Declare | Store | Eval | If | For | While | Break | Continue | Return | Leave | Check | Print | StopGrad | "
    "Comment | Region"
)
Node: TypeAlias = "Expr | Place | Stmt"

# ---------------------------------------------------------------- functions, tasks, module


@dataclass(slots=True, eq=False, repr=False)
class Function:
    name: str
    params: list[Var]
    body: list[Stmt]
    result: tuple[ValueType, ...] = ()
    pure: bool = True
    doc: str = ""
    loc: Loc | None = None
    derivative: Function | None = None  # set while a kernel is differentiated: what does so for calls of this one
    recursive: bool = False  # whether it is called while it runs, by itself or by what it calls
    settles: bool = False  # most calls find done what it does, as activations do, and only look
    block_dim: int = 0  # threads that blocks of the loops have that call it; 0: any number
    lanes: int = 1  # threads that they have at least


# Whether a thread of a task has no iteration; the skeleton of a task declares it.
IDLE = Var("qd_idle", u1)


@dataclass(slots=True, eq=False, repr=False)
class Task:
    """One launch: `serial` runs its body once; otherwise `loop` is a parallel For.

    near: iterations read cells next to those of others; set by `passes.neighbours`. collective: its threads wait for,
    read from or count on one another. shared_arrays: (declaration, offset in bytes) of the shared arrays of a block,
    `shared_bytes` long in all. Both are set by `passes.blocks`. stays: no thread may leave before the others of its
    block; idle: some may have no iteration, which the body looks at (`passes.skip_to_barriers`).
    """

    name: str
    kind: str
    body: list[Stmt]
    loop: For | None = None
    pre: list[Declare] = field(default_factory=list)
    reductions: list[tuple[Declare, If]] = field(default_factory=list)
    near: bool = False
    collective: bool = False
    stays: bool = False
    idle: bool = False
    shared_arrays: tuple[tuple[ArrayDecl, int], ...] = ()
    shared_bytes: int = 0
    local: bool = False  # only sets variables of the kernel; known where there are checkpoints
    sizing: bool = False  # finds depths of stacks for later tasks; set by `passes.adstack_sizes`
    trips: Var | None = None  # the iterations of the loop, where sizing finds that
    gate: Gate | None = None  # set by `passes.adstack_gates`
    cost: tuple[int, int] | None = None  # what `ir.cost.estimate` says of the body, before addresses are part of it


@dataclass(slots=True, eq=False, repr=False)
class Gate:
    """Of a task whose threads claim rows of stacks; the task in front of it counts. passing: how many iterations get
    behind the condition. claimed: how many rows are taken. row: that of this thread, below 0 as long as it has none;
    rows: how many there are. Codegen declares both. text: the condition, for dumps."""

    passing: Var
    claimed: Var
    row: Var
    rows: Var
    text: str


@dataclass(slots=True, eq=False, repr=False)
class Sizing:
    """Tasks `begin` to `end` of a module, which find the depths that the tasks behind them need before a device
    launches these. depths: the variables that they set. maxima: those in which parallel loops collect.
    """

    begin: int
    end: int
    depths: list[Var]
    maxima: list[Var]


@dataclass(slots=True, eq=False, repr=False)
class Module:
    """One kernel specialisation."""

    name: str
    body: list[Stmt]
    functions: list[Function]
    arrays: list[ArrayDecl]
    params: list[Var]
    result: tuple[ValueType, ...]
    sites: list[tuple[tuple[Any, ...], list[Frame], str]]
    tasks: list[Task] = field(default_factory=list)
    shared: list[Var] = field(default_factory=list)
    depths: list[Var] = field(default_factory=list)  # variables of the frame with the depths of stacks
    sizings: list[Sizing] = field(default_factory=list)  # on devices: how those of these become known that need cells
    heap_site: int = -1  # the message when there is no memory for stacks
    cut_site: int = -1  # that of loops that a driver ends; set by `passes.watch_loops`
    doc: str = ""
    loc: Loc | None = None
    stacked: bool = False  # whether there may be stacks: a derivative in reverse mode
    negates: bool = False  # a signed integer of a width that is divided, too; set by `passes.note_negatives`
    def_lines: dict[str, int] = field(default_factory=dict)  # where the functions begin that statements name
    regions: list[Region] = field(default_factory=list)  # outer before inner, in order
    on_nodes: bool = False  # whether there are loops over nodes of trees, or operations `sparse.*`
    sparse: Any = None  # `passes.sparse.tree.Tree`, where there are sparse fields
    # Ids of gradients whose cells are active with those that they are gradients of: a derivative leaves that as it is.
    beside: frozenset[int] = frozenset()
    written: list[ArrayDecl] = field(default_factory=list)  # array arguments, and fields of integers, that it may write
