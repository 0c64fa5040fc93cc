"""Where in the control flow of a kernel a trace is: in which loops, at which depth, in an emitted function or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from quadrants.frontend.positions import Positions
from quadrants.ir.nodes import For, LoopConfig


class Flow:
    """The control flow around the statement under translation.

    loops: the loops that `break` and `continue` may mean, from the outside in: a For, "while", "static", or
    "function" where what is around it cannot be left. static_depths: `runtime_depth` at each compile-time loop.
    parallel_depth: how many parallel loops are around. in_function: how many emitted functions. runtime_depth: how
    many run-time `if`, `for` and `while` of the present one. loop_config: what the next loop was configured with.
    """

    __slots__ = (
        "positions", "loops", "static_depths", "parallel_depth", "in_function", "runtime_depth", "loop_config",
        "function_block", "function_lanes",
    )  # fmt: skip

    def __init__(self, positions: Positions) -> None:
        self.positions = positions
        self.loops: list[For | str] = []
        self.static_depths: list[int] = []
        self.parallel_depth = 0
        self.in_function = 0
        self.runtime_depth = 0
        self.loop_config: LoopConfig | None = None
        # Threads that the blocks of loops have that call the function under translation, and those that they need.
        self.function_block, self.function_lanes = 0, 1

    @property
    def top_level(self) -> bool:
        """Whether a runtime `for` met now becomes a task of the kernel."""
        return self.runtime_depth == 0 and not self.in_function

    @property
    def level(self) -> int:
        """0 for variables that all threads of a kernel share, else 1."""
        return 1 if (self.parallel_depth or self.in_function) else 0

    @property
    def block_dim(self) -> int | None:
        """Threads of a block, where the parallel loop around is known and says so."""
        task = self._task()
        return task.config.block_dim if task is not None and task.config is not None else None

    def share_block(self, block_dim: int) -> int:
        """Have blocks of the parallel loop around so many threads, if it does not say how many. What they have then;
        of a function, whose loops are not known, what the blocks of all loops have that call it (`passes.blocks`)."""
        task = self._task()
        if task is None:
            self.function_block = self.function_block or block_dim
            return self.function_block
        return task.share_block(block_dim)

    def need_lanes(self, lanes: int) -> int | None:
        """`block_dim`, of which so many threads work together; a function has those of all loops that call it looked at
        (`passes.blocks`)."""
        task = self._task()
        if task is None:
            self.function_lanes = max(self.function_lanes, lanes)
        else:
            task.lanes = max(task.lanes, lanes)
        return self.block_dim

    def _task(self) -> For | None:
        return next((loop for loop in self.loops if isinstance(loop, For) and loop.parallel), None)

    @contextmanager
    def runtime_control(self) -> Iterator[None]:
        """Inside a run-time if, for or while: no tasks, no returns."""
        frame = self.positions.frame
        self.runtime_depth += 1
        frame.control_depth += 1
        try:
            yield
        finally:
            self.runtime_depth -= 1
            frame.control_depth -= 1

    @contextmanager
    def header(self) -> Iterator[None]:
        """While bounds are evaluated, loops of funcs called there do not take the configuration of this one."""
        config = self.take_config()
        yield
        self.loop_config = config

    def take_config(self) -> LoopConfig | None:
        """The configuration of the loop that begins here; the next one has none."""
        config, self.loop_config = self.loop_config, None
        return config

    # ------------------------------------------------------------ emitted functions

    def position(self) -> tuple:
        """What `return_to` takes."""
        return (
            self.loops, self.static_depths, self.parallel_depth, self.in_function, self.runtime_depth, self.loop_config,
            self.function_block, self.function_lanes,
        )  # fmt: skip

    def return_to(self, before: tuple) -> None:
        """Be where `position` was asked for."""
        (
            self.loops, self.static_depths, self.parallel_depth, self.in_function, self.runtime_depth, self.loop_config,
            self.function_block, self.function_lanes,
        ) = before  # fmt: skip

    def enter_function(self) -> None:
        """Begin the body of an emitted function, around which nothing can be left."""
        self.loops, self.static_depths = ["function"], []
        self.runtime_depth, self.parallel_depth = 0, 0
        self.in_function += 1
        self.loop_config = None
        self.function_block, self.function_lanes = 0, 1
