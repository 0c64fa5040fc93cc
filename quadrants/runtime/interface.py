"""What the runtime knows of a kernel, and what the launch core calls, for annotations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from quadrants._ext.core import Plan

# From the block behind a launch to what the kernel returns.
Reader: TypeAlias = Callable[[memoryview], Any]


class Kernel(Protocol):
    """`mode`: of a derivative, "" for the kernel itself. `parameters`: (name, annotation) in order. `by_value`: which
    of them are copied at a call. `_plans`: of its specialisations so far.
    """

    fn: Callable[..., Any]
    mode: str
    parameters: list[tuple[str, Any]]
    graph_do_while_levels: list[Any]
    by_value: list[bool]

    @property
    def _plans(self) -> list[Any]: ...

    @staticmethod
    def member_token(x: Any) -> int: ...

    def versions(self) -> Sequence[Kernel]: ...

    def plan_of(self, args: tuple[Any, ...]) -> Plan: ...

    def known_plan_of(self, args: tuple[Any, ...]) -> Plan | None: ...
