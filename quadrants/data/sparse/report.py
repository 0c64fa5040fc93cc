"""What `qd.profiler.print_memory_profiler_info` says of sparse trees."""

from __future__ import annotations

from collections.abc import Iterator

from quadrants.data import snode
from quadrants.data.sparse.host import numbers_of
from quadrants.ir.sparse import HIGH, LIVE
from quadrants.profiler.memory_profiler import register_memory_source


def sparse_memory() -> Iterator[tuple]:
    """(depth, what, bytes) of each sparse tree and each node in it that has a pool: the memory of its containers."""
    for tree in snode.trees():
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


register_memory_source(sparse_memory)
