"""What a launch of one compiled kernel needs to know, apart from its code and its arguments.

The runtime makes plans from a recipe, whether it was just compiled or comes from the disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from quadrants.banner import Frame
from quadrants.ir.types import ValueType, size_align
from quadrants.launch.adstack_plan import KeptDepths, StackPlan
from quadrants.launch.tasks import LaunchRegion, TaskLaunch

# struct qd_error: four int32, the kinds, 24 values of 8 bytes; and the address of the notice.
ERROR_SIZE = 4 * 4 + 8 + 24 * 8 + 8

# The task of `Recipe.decides`: of the handle of a loop, the addresses of its flag, of a failure record or 0, and of
# what tells passes that they come too late or 0, and whether such a pass follows.
LOOP_CONDITION = "qd_loop_condition"


class Result(NamedTuple):
    """Of a kernel: where its value is, in bytes."""

    type: ValueType
    offset: int


class Site(NamedTuple):
    """Where something may fail: its message, the source lines, and the kernel's name."""

    message: tuple[Any, ...]
    frames: list[Frame]
    kernel: str


@dataclass(slots=True, repr=False)
class Slot:
    """One thing that a launch reads off its arguments: parameter `param`, then the attributes in `path`.

    kind: 'array' (`type` is that of a cell), 'grad' (the same, for the gradient of a foreign array), 'flags' (for what
    a tape notes of it), 'view', 'token', which selects but is not passed, or by value (`type` says as what): 'scalar',
    or the slot of a kind of arguments, as 'tensor' and 'struct'.
    Offsets are in bytes in the argument block, -1 for what is not passed: of the value or pointer, and of the extents;
    `window` has those of the offset and the size of a view.
    """

    param: int
    path: tuple[str, ...]
    kind: str
    type: ValueType | None = None
    offset: int = -1
    shape: int = -1
    ndim: int = 0
    window: tuple[int, ...] = ()


@dataclass(slots=True, repr=False)
class Recipe:
    """How to call one compiled kernel.

    name: of the kernel. entry: of the function in the binary. size: bytes of the argument block. results: in order.
    sites: of what may fail. cells: (offset, CellLayout) of the fields whose
    address is part of the block. times: where begin and end of every task are found, -1 unless the kernel profiler
    is on. tasks: their names, and task_ids what they are in every process. regions: loops and checkpoints around them.
    status: where a launch finds the number of the checkpoint to begin at and, 4 bytes on, leaves that of the one that
    ended it, -1 without checkpoints; labels: what the user calls them. written: numbers of the slots whose arrays the
    kernel may write, and written_cells the fields of integers. pools: of sparse trees, that it uses; activates: whether
    it may activate cells. keep: what must live as long as the plan.

    Of a device: launches: what it launches, in order. frame: bytes of the memory that the launches share, 0 on a CPU;
    `results` are then offsets in it, and `error` is that of the failure record, -1 for none. seed: where the seed and,
    8 bytes on, the ordinal of the launch go in the argument block, -1 for nowhere. prints: whether tasks may print;
    ring: where the address of the memory goes that they do so in, -1 where the device prints by itself, and lines: what
    the host makes of that, formats of printf and the kinds of their values, codes of Python's `struct`.
    early: whether they wait themselves for the work before them. in_memory: whether the argument block is passed by its
    address. graph: whether its tasks are one from the first launch on, as the user asked for.
    decides: the text of the task that says behind a pass of a loop whether there is another one, "" where the host
    does. stacks: what a launch does about the stacks of the tasks, None where it does nothing. kept: which depths
    outlive a launch, None for none.

    units: how many compilers may share the text. Of a processor: brief: whether a launch does so little that other
    threads of Python gain nothing by running meanwhile; not where it prints, as one of them may be the reader.

    attributes: (parameter, path) of what was read off template objects when it was compiled; a launch looks at those
    among the slots only.
    """

    name: str
    entry: str
    size: int
    slots: list[Slot] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    cells: list[Any] = field(default_factory=list, metadata={"of_process": True})
    times: int = -1
    tasks: tuple[str, ...] = ()
    task_ids: tuple[int, ...] = ()
    regions: tuple[LaunchRegion, ...] = ()
    status: int = -1
    labels: tuple[Any, ...] = ()
    written: tuple[int, ...] = ()
    written_cells: tuple[Any, ...] = field(default=(), metadata={"of_process": True})
    pools: tuple[Any, ...] = field(default=(), metadata={"of_process": True})
    activates: bool = False
    keep: tuple[Any, ...] = field(default=(), metadata={"of_process": True})
    launches: tuple[TaskLaunch, ...] = ()
    frame: int = 0
    error: int = -1
    seed: int = -1
    prints: bool = False
    ring: int = -1
    lines: tuple[tuple[str, str], ...] = ()
    early: bool = False
    in_memory: bool = False
    graph: bool = False
    decides: str = ""
    stacks: StackPlan | None = None
    kept: KeptDepths | None = None
    units: int = 1
    brief: bool = False
    attributes: tuple[tuple[int, tuple[str, ...]], ...] = ()

    @property
    def prefix(self) -> int:
        """Bytes at the start of a device's frame that the host reads after a launch: failure record and results."""
        ends: list[int] = [offset + size_align(t)[0] for t, offset in self.results]
        return max([self.error + ERROR_SIZE if self.error >= 0 else 0, *ends])

    @property
    def polled(self) -> bool:
        """Whether a launch on a device goes on without waiting for its failure record: it reads nothing else back, and
        the user's own checks are not in it."""
        alone = self.error >= 0 and not self.results and not self.regions
        return alone and all(message[0].startswith(("adstack", "loop cut")) for message, *_ in self.sites)
