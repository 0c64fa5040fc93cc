"""Kernels launched as one: loops around tasks, places where a launch may stop, sections without an order."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from quadrants.lang.function_table import both_scopes

__all__ = [
    "GraphStatus", "checkpoint", "do_while", "graph_do_while", "graph_parallel", "graph_parallel_context", "parallel",
    "parallel_context", "stream_parallel",
]  # fmt: skip


@dataclass(frozen=True)
class GraphStatus:
    """How a launch of a kernel with checkpoints ended.

    yielded: whether a checkpoint stopped it. checkpoint: the label of that checkpoint, an int or a member of an
    IntEnum, as the kernel has it; None for a launch that ran to its end. Always true as a condition.

        status = launched(x, flag)  # a qd.GraphStatus
        if status.yielded: ...
    """

    yielded: bool
    checkpoint: int | None = None

    def __repr__(self) -> str:
        label = f", checkpoint={self.checkpoint!r}" if self.yielded else ""
        return f"GraphStatus(yielded={self.yielded}{label})"


@both_scopes
def do_while(condition: Any) -> bool:
    """`while qd.graph.do_while(flag):` at the top of a kernel with graph=True runs its body, and again while `flag` is
    not 0.

    Args:
        condition: a 0-d i32 ndarray: a parameter, `self.member`, or a member of a dataclass parameter. The body changes
            it; nobody resets it. In Python scope anything with a truth value.

    Raises, when the kernel is compiled:
        QuadrantsSyntaxError: in other places, or for another flag.
        QuadrantsTypeError: the flag has another dtype or rank.

        while qd.graph.do_while(go):
            go[None] -= 1
    """
    return bool(condition)


@both_scopes
def checkpoint(cp_id: int, yield_on: Any) -> contextlib.AbstractContextManager:
    """`with qd.checkpoint(label, yield_on=flag):` at the top of a kernel with graph=True, checkpoints=True, or in one
    of its `do_while` loops: when `flag` is not 0 behind the block, the launch ends there.

    Args:
        cp_id: an int or a member of an IntEnum, known at compile time, another one for each block of the kernel.
        yield_on: a 0-d i32 ndarray, as for `do_while`. Nobody but the user writes it.

    Raises QuadrantsSyntaxError or QuadrantsTypeError when the kernel is compiled. In Python scope it does nothing.

        with qd.checkpoint(1, yield_on=flag):
            for i in x:
                x[i] += 1
    """
    return contextlib.nullcontext()


@both_scopes
def parallel_context() -> contextlib.AbstractContextManager:
    """`with qd.graph.parallel_context():` at the top of a kernel with graph=True: holds `with qd.graph.parallel():`
    blocks, which may run at the same time. What follows waits for all of them. In Python scope it does nothing.

        with qd.graph.parallel_context():
            with qd.graph.parallel():
                for i in x:
                    x[i] += 1
    """
    return contextlib.nullcontext()


@both_scopes
def parallel() -> contextlib.AbstractContextManager:
    """`with qd.graph.parallel():`, a block of a `parallel_context`; it must not depend on the others. In Python scope
    it does nothing.

        with qd.graph.parallel_context():
            with qd.graph.parallel():
                for i in x:
                    x[i] += 1
    """
    return contextlib.nullcontext()


@both_scopes
def stream_parallel() -> contextlib.AbstractContextManager:
    """`with qd.stream_parallel():` blocks, which make up a whole kernel, must not depend on one another. In Python
    scope it does nothing.

        with qd.stream_parallel():
            for i in range(8):
                x[i] += 1.0
    """
    return contextlib.nullcontext()


@both_scopes
def graph_do_while(condition: Any) -> bool:
    """Deprecated: write `qd.graph.do_while`.

    while qd.graph_do_while(go):
        go[None] -= 1
    """
    return bool(condition)


@both_scopes
def graph_parallel_context() -> contextlib.AbstractContextManager:
    """Deprecated: write `qd.graph.parallel_context`.

    with qd.graph_parallel_context():
        with qd.graph_parallel():
            x[0] += 1
    """
    return contextlib.nullcontext()


@both_scopes
def graph_parallel() -> contextlib.AbstractContextManager:
    """Deprecated: write `qd.graph.parallel`.

    with qd.graph_parallel_context():
        with qd.graph_parallel():
            x[0] += 1
    """
    return contextlib.nullcontext()
