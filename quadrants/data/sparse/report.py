"""What `qd.profiler.print_memory_profiler_info` says of sparse trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from quadrants.data.sparse.host import numbers_of
from quadrants.ir.sparse import HIGH, LIVE
from quadrants.profiler.memory_profiler import register_memory_source

_registered = False


def register(trees: Callable[[], list]) -> None:
    """Have the profiler tell of the sparse ones among `trees()`."""
    global _registered
    if not _registered:
        _registered = True
        register_memory_source(lambda: sparse_memory(trees()))


def sparse_memory(trees: list) -> Iterator[tuple]:
    """(depth, what, bytes) of each sparse tree and each node in it that has a pool: the memory of its containers."""
    for tree in trees:
        if tree.sparse is None:
            continue
        yield 0, f"SNode tree {tree.id}: root", tree.buffer.nbytes
        for node in tree.sparse.nodes:
            pool = node.pool
            if pool is None:
                yield 1, f"{node.kind} {list(node.shape)}", None
                continue
            counters = numbers_of(pool.lists["counters"])
            live, high = counters.item(LIVE), max(counters.item(LIVE), counters.item(HIGH))
            kind = "chunks of lists" if node.chunks else node.kind
            told = f"{kind} {list(node.shape)}: {live} active of {high} containers with memory, {pool.stride} B each,"
            yield 1, told, high * pool.stride
