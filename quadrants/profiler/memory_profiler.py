"""Report of device memory held by data. The data layer says what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from quadrants import absent, session
from quadrants.session import get_runtime

__all__ = ["get_runtime", "print_memory_profiler_info", "register_memory_source"]

_sources: list[Callable[[], Iterable[tuple]]] = []


def register_memory_source(source: Callable[[], Iterable[tuple]]) -> None:
    """`source()` yields (depth, label, bytes) for each thing that holds memory; bytes None prints no size."""
    _sources.append(source)


def print_memory_profiler_info() -> None:
    """Print the trees of dynamically allocated data with their sizes. QuadrantsRuntimeError without a runtime.

    qd.profiler.print_memory_profiler_info()
    """
    session.get_runtime().prog.synchronize()
    print("\n[Memory Profiler]")
    total = 0
    for source in _sources:
        for depth, label, nbytes in source():
            size = "" if nbytes is None else f"{nbytes} B"
            print(f"{'    ' * depth}{label:10} {size}".rstrip())
            total += nbytes or 0
    print(f"Total requested dynamic memory (excluding alignment padding): {total} B")


__getattr__ = absent.names_of("profiler.memory_profiler", globals())
