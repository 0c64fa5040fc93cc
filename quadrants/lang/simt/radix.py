"""The rank of every key of a block by one digit, stable: the inner step of a radix sort."""

from __future__ import annotations

from quadrants.errors import QuadrantsTypeError
from quadrants.ir.types import i32, u32, u64
from quadrants.lang import typed
from quadrants.lang.simt import folds
from quadrants.lang.simt import kernel_scope as at
from quadrants.lang.simt.block_folds import exclusive_add
from quadrants.lang.simt.lanes import group_size
from quadrants.lang.simt.shared import SharedArray, scratch
from quadrants.lang.value import Value


def radix_rank_match_atomic_or(key, block_dim, radix_bits, bit_start, num_bits, bins, excl_prefix):
    """The stable rank (i32) of this thread's key in its block, by the digit of `num_bits` bits at `bit_start`.

    All threads of the block take part. On return every thread may read what is in the arrays of the caller.

    Args:
        key: u32, one a thread.
        block_dim, radix_bits: of the loop, and its logarithm; compile time. AssertionError if they do not fit.
        bit_start: position of the digit's lowest bit.
        num_bits: bits of the digit, compile time, at most radix_bits.
        bins: SharedArray((1 << radix_bits,), qd.i32); receives how often each digit occurs.
        excl_prefix: the same; receives how many keys have smaller digits.

        y = qd.simt.block.radix_rank_match_atomic_or(key, 128, 7, 0, 7, bins, excl_prefix)
    """
    name = "block.radix_rank_match_atomic_or"
    tracer = at.tracer_of(name)
    dim = at.constant(block_dim, "block_dim", name)
    bits = at.constant(radix_bits, "radix_bits", name)
    used = at.constant(num_bits, "num_bits", name)
    size = group_size()
    assert dim == 1 << bits, f"{name}: block_dim must be 1 << radix_bits, got {dim} and {bits} bits"
    assert size in (32, 64), f"{name}: subgroups must have 32 or 64 lanes, here they have {size}"
    at.share_block(tracer, dim, name)
    assert 0 < used <= bits, f"{name}: num_bits must be in 1 .. {bits}, got {used}"
    for array in (bins, excl_prefix):
        if not isinstance(array, SharedArray) or array.decl.shape != (dim,) or array.decl.type is not i32:
            raise QuadrantsTypeError(f"qd.simt.{name}: bins and excl_prefix must be SharedArray(({dim},), qd.i32)")
    return _Rank(tracer, name, dim, size, used, bins, excl_prefix).of(at.integer(key, u32, 1), bit_start)


class _Rank:
    """
    seen[part, d]    which lanes of the subgroup have digit d, gathered by atomic_or;
                     then how many keys of earlier subgroups have it

    rank = keys with a smaller digit + keys of earlier subgroups with this digit + earlier lanes with this digit
    """

    def __init__(self, tracer, name: str, dim: int, size: int, used: int, bins, excl_prefix):
        self.tracer, self.name, self.dim, self.size, self.used = tracer, name, dim, size, used
        self.bins, self.excl_prefix = bins, excl_prefix
        self.parts = max(1, dim // size)
        self.word = u32 if size == 32 else u64
        self.seen = scratch((self.parts, dim), self.word, "seen")
        thread = tracer.builtin("block.thread_idx", i32)
        self.thread = tracer.temp(thread, "own")
        self.lane = tracer.temp(typed.binary("bit_and", self.thread, size - 1), "lane_id")
        self.part = tracer.temp(typed.binary("shr", self.thread, size.bit_length() - 1), "part")

    def sync(self) -> None:
        self.tracer.intrinsic("block.sync")

    def of(self, key: Value, bit_start) -> Value:
        tracer = self.tracer
        shifted = typed.binary("bit_shr", key, at.integer(bit_start, u32, 4))
        digit = typed.binary("bit_and", shifted, at.const((1 << self.used) - 1, u32))
        digit = tracer.temp(typed.cast(digit, i32), "digit")
        self.sync()  # readers of an earlier round are done
        tracer.repeat(0, self.parts, lambda k: tracer.assign_to(self.seen[k, self.thread], 0))
        self.sync()
        bit = typed.binary("shl", at.const(1, self.word), typed.cast(self.lane, self.word))
        tracer.atomic("or", self.seen[self.part, digit], bit)
        self.sync()
        earlier = typed.binary("sub", bit, at.const(1, self.word))
        same = typed.unary("popcnt", typed.binary("bit_and", self.seen[self.part, digit], earlier))
        same = tracer.temp(same, "same")
        self.sync()
        self._count()
        self._prefix()
        before = typed.cast(self.seen[self.part, digit], i32)
        rank = typed.binary("add", typed.binary("add", self.excl_prefix[digit], before), same)
        return tracer.temp(rank, "rank")

    def _count(self) -> None:
        """Thread d adds up digit d over the subgroups."""
        total = self.tracer.declare("total", at.const(0, i32).expr)

        def add(k):
            count = self.tracer.temp(typed.unary("popcnt", self.seen[k, self.thread]), "count")
            self.tracer.assign_to(self.seen[k, self.thread], typed.cast(total, self.word))
            self.tracer.assign_to(total, typed.binary("add", total, count))

        self.tracer.repeat(0, self.parts, add)
        self.tracer.assign_to(self.bins[self.thread], total)

    def _prefix(self) -> None:
        """excl_prefix from bins: thread d has the count of digit d."""
        if self.dim % self.size == 0:
            count = self.bins[self.thread]
            self.tracer.assign_to(self.excl_prefix[self.thread], exclusive_add(count, self.dim, i32))
        else:
            # A block that is part of one subgroup.
            log2 = self.dim.bit_length() - 1
            count = folds.fold("exclusive", "add", self.bins[self.thread], log2, self.name)
            self.tracer.assign_to(self.excl_prefix[self.thread], count)
        self.sync()
