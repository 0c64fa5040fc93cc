"""`qd.simt.block`: operations of the threads of a block. Kernel scope; ValueError on the CPU, which has no blocks."""

from __future__ import annotations

from quadrants import absent
from quadrants.ir.types import i32
from quadrants.lang import scope, typed
from quadrants.lang.simt import kernel_scope as at
from quadrants.lang.simt.block_folds import *  # noqa: F403
from quadrants.lang.simt.block_folds import __all__ as _folds
from quadrants.lang.simt.radix import radix_rank_match_atomic_or
from quadrants.lang.simt.shared import SharedArray, scratch

__all__ = [
    "SharedArray", "global_thread_idx", "mem_fence", "mem_sync", "radix_rank_match_atomic_or", "sync",
    "sync_all_nonzero", "sync_any_nonzero", "sync_count_nonzero", "thread_idx", *_folds,
]  # fmt: skip


def sync():
    """Wait for all threads of the block; what they wrote before to shared or device memory is then visible to them.

    Every thread of the block has to come here, or none.

        qd.simt.block.sync()
    """
    at.in_block("block.sync").intrinsic("block.sync")


def _sync_with(op: str, predicate):
    tracer = at.in_block(f"block.{op}")
    p = at.predicate(predicate, f"block.{op}")
    return tracer.intrinsic(f"block.{op}", (p,), i32) if at.votes_at_barriers(tracer) else _counted(tracer, op, p)


def _counted(tracer, op: str, p):
    """The same where threads vote through shared memory: those with 0 are counted for `all`, else those without."""
    votes = scratch((1,), i32, "votes")
    mine = typed.binary("eq" if op == "sync_all_nonzero" else "ne", tracer.temp(p, "vote"), at.const(0, i32))
    with tracer.when(typed.binary("eq", tracer.builtin("block.thread_idx", i32), at.const(0, i32))):
        tracer.assign_to(votes[0], 0)
    tracer.intrinsic("block.sync")
    with tracer.when(mine):
        tracer.atomic("add", votes[0], at.const(1, i32))
    tracer.intrinsic("block.sync")
    count = tracer.temp(votes[0], "count")
    tracer.intrinsic("block.sync")  # before a later vote counts anew
    if op == "sync_count_nonzero":
        return count
    found = typed.binary("eq" if op == "sync_all_nonzero" else "ne", count, at.const(0, i32))
    return tracer.temp(typed.cast(found, i32), "found")


def sync_all_nonzero(predicate):
    """`sync()`, then 1 (i32) on every thread if `predicate` (i32) is not 0 on all of them, else 0.

    y = qd.simt.block.sync_all_nonzero(a[i] > 0)
    """
    return _sync_with("sync_all_nonzero", predicate)


def sync_any_nonzero(predicate):
    """`sync()`, then 1 (i32) on every thread if `predicate` (i32) is not 0 on some of them, else 0.

    y = qd.simt.block.sync_any_nonzero(a[i] > 0)
    """
    return _sync_with("sync_any_nonzero", predicate)


def sync_count_nonzero(predicate):
    """`sync()`, then the number (i32) of threads on which `predicate` (i32) is not 0, on every thread.

    y = qd.simt.block.sync_count_nonzero(a[i] > 0)
    """
    return _sync_with("sync_count_nonzero", predicate)


def mem_fence():
    """Order this thread's memory accesses before and after, as the block sees them; waits for nobody.

    qd.simt.block.mem_fence()
    """
    at.in_block("block.mem_fence").intrinsic("block.mem_fence")


def mem_sync():
    """Deprecated name of `mem_fence`.

    qd.simt.block.mem_sync()
    """
    scope.warn("block.mem_sync is deprecated; use block.mem_fence", DeprecationWarning)
    mem_fence()


def thread_idx():
    """Index (i32) of the thread in its block.

    y = qd.simt.block.thread_idx()
    """
    return at.in_block("block.thread_idx").builtin("block.thread_idx", i32)


def global_thread_idx():
    """Index (i32) of the thread in the grid.

    k = qd.global_thread_idx()
    """
    return at.in_block("block.global_thread_idx").builtin("block.global_thread_idx", i32)


__getattr__ = absent.names_of("simt.block", globals())
