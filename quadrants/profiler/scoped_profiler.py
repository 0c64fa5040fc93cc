"""Time of host phases, such as the stages of a compile, as a tree per thread. Always on; a scope costs about 1 us."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable


class Node:
    """A phase: how often it ran, for how many seconds in all, and the phases inside it."""

    __slots__ = ("children", "count", "name", "seconds")

    def __init__(self, name: str):
        self.name = name
        self.count = 0
        self.seconds = 0.0
        self.children: dict[str, Node] = {}

    def child(self, name: str) -> Node:
        found = self.children.get(name)
        if found is None:
            found = self.children[name] = Node(name)
        return found


class _Thread(threading.local):
    """Root and current node of this thread, known to `_roots` from its first scope on."""

    def __init__(self) -> None:
        self.root = Node(f"thread {threading.get_native_id()}")
        self.current = self.root
        with _lock:
            _roots.append(self.root)


_lock = threading.Lock()
_roots: list[Node] = []
_thread = _Thread()
# Told of each finished scope as (name, start, seconds, native thread id); the timeline sets it while it records.
observer: Callable[[str, float, float, int], None] | None = None


class scope:
    """Context manager: counts the block under the phase that it runs in. Exceptions pass through.

    with qd.profiler.scope("emit"):
        step()
    """

    __slots__ = ("_name", "_parent", "_start")

    def __init__(self, name: str):
        self._name = name

    def __enter__(self) -> scope:
        self._parent = _thread.current
        _thread.current = self._parent.child(self._name)
        self._start = time.perf_counter()
        return self

    def __exit__(self, *exc_info) -> None:
        seconds = time.perf_counter() - self._start
        node, _thread.current = _thread.current, self._parent
        node.count += 1
        node.seconds += seconds
        if observer is not None:
            observer(self._name, self._start, seconds, threading.get_native_id())


def _duration(seconds: float) -> str:
    for limit, factor, unit in ((1.0, 1.0, " s"), (1e-3, 1e3, "ms"), (1e-6, 1e6, "us")):
        if seconds >= limit:
            return f"{seconds * factor:7.3f} {unit}"
    return f"{seconds * 1e9:7.3f} ns"


def _lines(node: Node, total: float, depth: int) -> Iterable[str]:
    share = f"{100 * node.seconds / total:6.2f}%" if total else "  0.00%"
    each = _duration(node.seconds / node.count) if node.count else "running"
    yield f"{'    ' * depth}{_duration(node.seconds)} {share}  {node.name:30} [{node.count} x {each}]"
    children = list(node.children.values())
    for child in children:
        yield from _lines(child, node.seconds, depth + 1)
    rest = node.seconds - sum(child.seconds for child in children)
    if children and rest > 0:
        yield f"{'    ' * (depth + 1)}{_duration(rest)} {100 * rest / node.seconds:6.2f}%  [unaccounted]"


def print_scoped_profiler_info() -> None:
    """Print the phases of every thread: total time, share of the enclosing phase, count and time of one run.

    qd.profiler.print_scoped_profiler_info()
    """
    rule = ">" * 80
    with _lock:
        roots = list(_roots)
    for root in roots:
        print(rule)
        print(f"[Profiler {root.name}]")
        children = list(root.children.values())
        total = sum(child.seconds for child in children)
        for child in children:
            print("\n".join(_lines(child, total, 1)))
        print(rule)


def clear_scoped_profiler_info() -> None:
    """Forget all phases but those that are running now, in which counting goes on.

    qd.profiler.clear_scoped_profiler_info()
    """
    with _lock:
        for root in _roots:
            root.children = {}
