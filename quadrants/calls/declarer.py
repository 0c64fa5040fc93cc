"""Whom a kind of arguments says what it is in a kernel: the frontend (`frontend.arguments.Arguments`)."""

from __future__ import annotations

from typing import Any, Protocol

from quadrants.calls.kind import Kind, Source


class Declarer(Protocol):
    """What a kind may have the frontend do while a kernel is traced. Each gives what the name stands for in it.

    source: where a launch finds the argument; what is declared once is found again by it.
    """

    def number(self, source: Source, name: str, dtype: Any) -> Any:
        """A number of the dtype that `dtype` stands for, which the launch core packs."""

    def by_value(self, source: Source, name: str, t: Any, slot: str) -> Any:
        """A value of IR type `t` that cannot be assigned; the packer of the kind with that `slot` writes it."""

    def variable(self, source: Source, name: str, t: Any, slot: str) -> Any:
        """The same in a variable of the kernel, whose parts can be assigned."""

    def array(self, source: Source, name: str, x: Any, annotation: Any = None) -> Any:
        """An ndarray or an array of another package, of which a launch passes pointer and extents."""

    def view(self, source: Source, name: str, x: Any, annotation: Any = None) -> Any:
        """A BufferView: an array, an offset and a size."""

    def object(self, source: Source, x: Any, members: dict[str, Kind | None] | None = None) -> Any:
        """An object whose attributes are followed; with `members`, those alone, each as its kind says."""

    def template(self, source: Source, x: Any) -> Any:
        """What is known while compiling: an object as `object`, anything else as it is."""
