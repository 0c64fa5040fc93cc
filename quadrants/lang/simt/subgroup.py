"""`qd.simt.subgroup`: operations of the lanes that run in lockstep. Kernel scope, except `group_size`.

All lanes of the subgroup execute a call together; for the forms that end in `_tiled`, all lanes of the tile, which is
2**log2_size consecutive lanes (log2_size is known at compile time). Values are scalars of i32, u32, i64, u64, f32 or
f64. The CPU has no lanes: QuadrantsCompilationError, except for lane masks and for tiles of one lane.
"""

from __future__ import annotations

from quadrants import absent
from quadrants.errors import QuadrantsCompilationError
from quadrants.ir.types import i32, u32, u64
from quadrants.lang import scope, typed
from quadrants.lang.simt import kernel_scope as at
from quadrants.lang.simt.folds import *  # noqa: F403
from quadrants.lang.simt.folds import __all__ as _folds
from quadrants.lang.simt.lanes import group_size, log2_group_size, tile_size
from quadrants.lang.simt.sorting import bitonic_sort_kv, bitonic_sort_kv_tiled

__all__ = [
    "all_equal", "all_equal_tiled", "all_true", "all_true_tiled", "any_true", "any_true_tiled", "ballot",
    "ballot_first_n", "ballot_full_subgroup", "barrier", "bitonic_sort_kv", "bitonic_sort_kv_tiled", "broadcast",
    "broadcast_first", "elect", "group_size", "invocation_id", "lanemask_eq", "lanemask_ge", "lanemask_gt",
    "lanemask_le", "lanemask_lt", "log2_group_size", "mem_fence", "memory_barrier", "shuffle", "shuffle_down",
    "shuffle_up", "shuffle_xor", "sync", *_folds,
]  # fmt: skip

_warned: set = set()


def _deprecated(old: str, new: str) -> None:
    if old not in _warned:
        _warned.add(old)
        scope.warn(f"subgroup.{old} is deprecated; use subgroup.{new}", DeprecationWarning)


# ---------------------------------------------------------------- where a lane is, barriers, fences


def invocation_id():
    """The lane (i32), 0 .. group_size() - 1.

    y = qd.simt.subgroup.invocation_id()
    """
    return at.on_device("subgroup.invocation_id").builtin("subgroup.invocation_id", i32)


def elect():
    """1 (i32) on lane 0, else 0.

    y = qd.simt.subgroup.elect()
    """
    return typed.cast(typed.binary("eq", invocation_id(), 0), i32)


def sync():
    """Wait for the other lanes; what they wrote before to shared or device memory is then visible.

    qd.simt.subgroup.sync()
    """
    at.on_device("subgroup.sync").intrinsic("subgroup.sync")


def mem_fence():
    """Order this lane's memory accesses before and after, as the other lanes see them; waits for nobody.

    qd.simt.subgroup.mem_fence()
    """
    at.on_device("subgroup.mem_fence").intrinsic("subgroup.mem_fence")


def barrier():
    """Deprecated name of `sync`.

    qd.simt.subgroup.barrier()
    """
    _deprecated("barrier", "sync")
    sync()


def memory_barrier():
    """Deprecated name of `mem_fence`.

    qd.simt.subgroup.memory_barrier()
    """
    _deprecated("memory_barrier", "mem_fence")
    mem_fence()


# ---------------------------------------------------------------- moving values


def _move(op: str, value, k, name: str = ""):
    """`name`: what users call it, where that is not `op`."""
    called = f"subgroup.{name or op}"
    tracer = at.on_device(called)
    value, k = at.scalar(value, called), at.integer(k, u32, 2)
    return tracer.intrinsic(f"subgroup.{op}", (value, k), value.type, (value.type,))


def shuffle(value, index):
    """`value` of lane `index` (u32), which may differ from lane to lane.

    y = qd.simt.subgroup.shuffle(a[i], 0)
    """
    return _move("shuffle", value, index)


def shuffle_up(value, offset):
    """`value` of the lane `offset` (u32) below this one; unspecified where there is none.

    y = qd.simt.subgroup.shuffle_up(a[i], 1)
    """
    return _move("shuffle_up", value, offset)


def shuffle_down(value, offset):
    """`value` of the lane `offset` (u32) above this one; unspecified where there is none.

    y = qd.simt.subgroup.shuffle_down(a[i], 1)
    """
    return _move("shuffle_down", value, offset)


def shuffle_xor(value, mask):
    """`value` of the lane whose number is this one's ^ `mask` (u32).

    y = qd.simt.subgroup.shuffle_xor(a[i], 1)
    """
    return _move("shuffle_xor", value, mask)


def broadcast(value, index):
    """`value` of lane `index` (u32), the same on all lanes.

    y = qd.simt.subgroup.broadcast(a[i], 0)
    """
    return _move("shuffle", value, index, "broadcast")


def broadcast_first(value):
    """`value` of lane 0.

    y = qd.simt.subgroup.broadcast_first(a[i])
    """
    return _move("shuffle", value, 0, "broadcast_first")


# ---------------------------------------------------------------- votes


def ballot(predicate):
    """u64 whose bit i says whether `predicate` (integer) is not 0 on lane i.

    y = qd.simt.subgroup.ballot(a[i] > 0)
    """
    tracer = at.on_device("subgroup.ballot")
    p = at.predicate(predicate, "subgroup.ballot")
    return tracer.intrinsic("subgroup.ballot", (p,), u64, (None,))


def ballot_full_subgroup(predicate):
    """Deprecated name of `ballot`.

    y = qd.simt.subgroup.ballot_full_subgroup(a[i] > 0)
    """
    _deprecated("ballot_full_subgroup", "ballot")
    return ballot(predicate)


def ballot_first_n(predicate, n):
    """u32 ballot of the lanes below `n`, a compile-time integer in 1 .. 32.

    y = qd.simt.subgroup.ballot_first_n(a[i] > 0, 8)
    """
    n = at.constant(n, "n", "subgroup.ballot_first_n")
    if not 1 <= n <= 32:
        raise QuadrantsCompilationError(f"subgroup.ballot_first_n: n must be in 1 .. 32, got {n}")
    bits = typed.cast(ballot(predicate), u32)
    return bits if n == 32 else typed.binary("bit_and", bits, at.const((1 << n) - 1, u32))


def _vote(op: str, name: str, predicate, log2_size):
    log2 = tile_size(log2_size, name)
    p = at.predicate(predicate, name)
    if log2 == 0:
        return typed.cast(typed.binary("ne", p, 0), i32)
    return at.on_device(name).intrinsic(f"subgroup.{op}", (p,), i32, (_whole(log2),))


def _whole(log2: int):
    """None for the whole subgroup."""
    return None if log2 == log2_group_size() else log2


def all_true(predicate):
    """1 (i32) on every lane if `predicate` (integer or u1) is not 0 on all lanes, else 0.

    y = qd.simt.subgroup.all_true(a[i] > 0)
    """
    return all_true_tiled(predicate, log2_group_size())


def all_true_tiled(predicate, log2_size):
    """As `all_true` over each tile.

    y = qd.simt.subgroup.all_true_tiled(a[i] > 0, 5)
    """
    return _vote("all", "subgroup.all_true_tiled", predicate, log2_size)


def any_true(predicate):
    """1 (i32) on every lane if `predicate` (integer or u1) is not 0 on some lane, else 0.

    y = qd.simt.subgroup.any_true(a[i] > 0)
    """
    return any_true_tiled(predicate, log2_group_size())


def any_true_tiled(predicate, log2_size):
    """As `any_true` over each tile.

    y = qd.simt.subgroup.any_true_tiled(a[i] > 0, 5)
    """
    return _vote("any", "subgroup.any_true_tiled", predicate, log2_size)


def all_equal(value):
    """1 (i32) on every lane if `value` compares equal on all lanes, else 0; a NaN equals nothing.

    y = qd.simt.subgroup.all_equal(a[i])
    """
    return all_equal_tiled(value, log2_group_size())


def all_equal_tiled(value, log2_size):
    """As `all_equal` over each tile.

    y = qd.simt.subgroup.all_equal_tiled(a[i], 5)
    """
    name = "subgroup.all_equal_tiled"
    log2, value = tile_size(log2_size, name), at.scalar(value, name)
    if log2 == 0:
        return typed.cast(typed.binary("eq", value, value), i32)
    tracer = at.on_device(name)
    value = tracer.temp(value)
    zero = at.const(0, u32)
    first = tracer.intrinsic("subgroup.shuffle", (value, zero), value.type, (value.type, _whole(log2)))
    same = typed.cast(typed.binary("eq", value, first), i32)
    return tracer.intrinsic("subgroup.all", (same,), i32, (_whole(log2),))


# ---------------------------------------------------------------- lane masks


def _mask(lane_id, make):
    """A u32 mask of `lane_id`, by `make` of u32 values."""
    at.tracer_of("subgroup.lanemask")
    lane = at.integer(lane_id, u32, 1)
    bit = typed.binary("shl", at.const(1, u32), lane)
    return make(bit, typed.binary("sub", bit, at.const(1, u32)))


def lanemask_eq(lane_id):
    """u32 with the bit of lane `lane_id` (0 .. 31) set.

    y = qd.simt.subgroup.lanemask_eq(lane)
    """
    return _mask(lane_id, lambda bit, below: bit)


def lanemask_lt(lane_id):
    """u32 with the bits of the lanes below `lane_id` (0 .. 31) set.

    y = qd.simt.subgroup.lanemask_lt(lane)
    """
    return _mask(lane_id, lambda bit, below: below)


def lanemask_le(lane_id):
    """u32 with the bits of the lanes up to `lane_id` (0 .. 31) set.

    y = qd.simt.subgroup.lanemask_le(lane)
    """
    return _mask(lane_id, lambda bit, below: typed.binary("bit_or", bit, below))


def lanemask_gt(lane_id):
    """u32 with the bits of the lanes above `lane_id` (0 .. 31) set.

    y = qd.simt.subgroup.lanemask_gt(lane)
    """
    return typed.unary("bit_not", lanemask_le(lane_id))


def lanemask_ge(lane_id):
    """u32 with the bits of the lanes from `lane_id` (0 .. 31) on set.

    y = qd.simt.subgroup.lanemask_ge(lane)
    """
    return typed.unary("bit_not", lanemask_lt(lane_id))


__getattr__ = absent.names_of("simt.subgroup", globals())
