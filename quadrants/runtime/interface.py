"""What the runtime knows of a kernel, and what the launch core calls, for annotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

# From the block behind a launch to what the kernel returns.
Reader: TypeAlias = Callable[[memoryview], Any]


class Kernel(Protocol):
    """`parameters`: (name, annotation) in order. `_plans`: of its specialisations so far."""

    fn: Callable[..., Any]
    parameters: list[tuple[str, Any]]
    graph_do_while_levels: list[Any]

    @property
    def _plans(self) -> list[Any]: ...
