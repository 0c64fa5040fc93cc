"""What codegen knows of what the frontend traced, for annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from quadrants.ir.nodes import Module


class Bound(Protocol):
    """What a launch hands to the kernel: where it comes from, of what kind it is (see `launch.recipe.Slot`), and the
    variable, array or view that receives it."""

    @property
    def source(self) -> tuple[int, tuple[str, ...]]: ...

    @property
    def kind(self) -> str: ...

    @property
    def target(self) -> Any: ...


class Traced(Protocol):
    """A kernel. labels: of its checkpoints. attributes: (parameter, path) of what was read off template objects.
    graph: whether it was declared with graph=True."""

    @property
    def module(self) -> Module: ...

    @property
    def bindings(self) -> Sequence[Bound]: ...

    @property
    def fields(self) -> Sequence[Any]: ...

    @property
    def labels(self) -> Sequence[Any]: ...

    @property
    def attributes(self) -> tuple[tuple[int, tuple[str, ...]], ...]: ...

    @property
    def graph(self) -> bool: ...
