"""Reductions and scans of a block, in terms of those of its subgroups and one shared array of their results.

    reduce_add min max (value, block_dim, dtype)             the fold, in thread 0 only
    reduce_all_add min max (value, block_dim, dtype)         the fold, in every thread
    inclusive_add min max (value, block_dim, dtype)          the fold of the threads up to this one
    exclusive_add min max (value, block_dim, dtype)          of those before this one; thread 0 has the identity
    reduce, reduce_all, inclusive_scan (value, block_dim, op, dtype) and exclusive_scan (value, block_dim, op, identity,
        dtype) fold by `op`, a @qd.func of two values: associative, the earlier thread's value on the left

`block_dim` is that of the loop, which takes it where it says none, a compile-time multiple of `group_size()` (else
AssertionError); dtype is the type of `value`. All threads of the block take part. On the CPU: AssertionError.

        subgroup      0        1        2        3
        folds         a        b        c        d        in each by shuffles, then in a shared array
        before it     -        a       ab      abc        what a scan puts in front of each
"""

from __future__ import annotations

from typing import Any

from quadrants.arch import Arch
from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.ir.types import DType, i32, u32
from quadrants.lang import typed
from quadrants.lang.simt import folds
from quadrants.lang.simt import kernel_scope as at
from quadrants.lang.simt.lanes import group_size
from quadrants.lang.simt.shared import SharedArray, scratch
from quadrants.lang.value import Value


class _Fold:
    """One call: its value, how values combine, and where the calling thread is."""

    def __init__(self, name: str, value: Any, block_dim: Any, op: Any, dtype: Any):
        self.name, self.op = name, op
        self.tracer = at.tracer_of(name)
        assert not at.is_host(self.tracer), (
            f"qd.simt.{name} is for the threads of a block, and {Arch(self.tracer.arch_name)!r} has none: "
            "use a GPU arch, such as qd.cuda"
        )
        # Where there are no subgroups, each thread is one of its own.
        size = group_size() or 1
        if self.tracer.top_level:
            raise QuadrantsSyntaxError(f"qd.simt.{name} is for the threads of a loop: call it inside a `for`.")
        dim = at.constant(block_dim, "block_dim", name)
        assert dim > 0 and dim % size == 0, (
            f"{name}: block_dim must be a positive multiple of subgroup size {size}, got {dim}"
        )
        self.type: DType = at.dtype_of(dtype)
        if self.type not in at.LANE_TYPES:
            names = ", ".join(map(str, at.LANE_TYPES))
            raise QuadrantsTypeError(f"qd.simt.{name}: dtype must be one of {names}, got {self.type}")
        at.share_block(self.tracer, dim, name)
        self.value = self.tracer.temp(typed.cast(at.scalar(value, name), self.type))
        self.size, self.log2, self.parts = size, size.bit_length() - 1, dim // size
        thread = self.tracer.builtin("block.thread_idx", i32)
        self.lane = self.tracer.builtin("subgroup.invocation_id", i32) if size > 1 else at.const(0, i32)
        self.part = self.tracer.temp(typed.binary("shr", thread, self.log2), "part")

    def combine(self, earlier: Value, later: Value) -> Value:
        if isinstance(self.op, str):
            return typed.binary(folds.OPERATORS[self.op], earlier, later)
        return Value(typed.convert_expr(typed.to_expr(self.op(earlier, later)), self.type, "return"))

    def shuffled(self, op: str, value: Value, offset: int) -> Value:
        return self.tracer.intrinsic(f"subgroup.{op}", (value, at.const(offset, u32)), self.type, (self.type,))

    def in_subgroup(self, kind: str) -> Value:
        """reduce or inclusive of the subgroup."""
        if isinstance(self.op, str):
            return folds.fold(kind, self.op, self.value, self.log2, self.name)
        result = self.tracer.declare("folded", self.value.expr)
        for k in range(self.log2):
            if kind == "inclusive":
                earlier = self.shuffled("shuffle_up", result, 1 << k)
                with self.tracer.when(typed.binary("ge", self.lane, 1 << k)):
                    self.tracer.assign_to(result, self.combine(earlier, result))
            else:
                later = self.shuffled("shuffle_down", result, 1 << k)
                self.tracer.assign_to(result, self.combine(result, later))
        return result

    def gathered(self, fold: Value, lane: int) -> SharedArray:
        """The folds of the subgroups, which lane `lane` of each has, in an array that all threads may read."""
        array = scratch(self.parts, self.type, "folds")
        self.tracer.intrinsic("block.sync")  # readers of an earlier round are done
        with self.tracer.when(typed.binary("eq", self.lane, lane)):
            self.tracer.assign_to(array[self.part], fold)
        self.tracer.intrinsic("block.sync")
        return array

    def _append(self, result: Value, array: SharedArray, end: Any) -> None:
        """`result` with array[1], ..., array[end - 1] behind it."""
        self.tracer.repeat(1, end, lambda k: self.tracer.assign_to(result, self.combine(result, array[k])))

    def total(self, everywhere: bool) -> Value:
        fold = self.in_subgroup("reduce")
        if self.parts == 1:
            if not everywhere or self.size == 1:
                return fold
            return self.tracer.intrinsic("subgroup.shuffle", (fold, at.const(0, u32)), self.type, (self.type,))
        array = self.gathered(fold, 0)
        result = self.tracer.declare("total", array[0].expr)
        self._append(result, array, self.parts)
        return result

    def inclusive(self) -> Value:
        scan = self.in_subgroup("inclusive")
        if self.parts == 1:
            return scan
        result = self.tracer.declare("scanned", scan.expr)
        array = self.gathered(scan, self.size - 1)
        with self.tracer.when(typed.binary("gt", self.part, 0)):
            before = self.tracer.declare("before", array[0].expr)
            self._append(before, array, self.part)
            self.tracer.assign_to(result, self.combine(before, result))
        return result

    def exclusive(self, identity: Any) -> Value:
        """The scan of the thread before; `identity` is what thread 0 has."""
        start = typed.convert_expr(typed.to_expr(identity), self.type, "pass")
        scan = self.in_subgroup("inclusive")
        shifted = self.shuffled("shuffle_up", scan, 1) if self.size > 1 else scan
        result = self.tracer.declare("scanned", start)
        if self.parts == 1:
            with self.tracer.when(typed.binary("gt", self.lane, 0)):
                self.tracer.assign_to(result, shifted)
            return result
        array = self.gathered(scan, self.size - 1)
        with self.tracer.when(typed.binary("gt", self.part, 0)):
            self.tracer.assign_to(result, array[0])
            self._append(result, array, self.part)
        if self.size == 1:
            return result
        with self.tracer.when(typed.binary("gt", self.lane, 0)):
            self.tracer.assign_to(result, Value(_choice(self, shifted, result)))
        return result


def _choice(fold: _Fold, shifted: Value, before: Value):
    """`shifted`, with what is before the subgroup in front of it where there is something."""
    joined = fold.combine(before, shifted)
    return typed.conditional(typed.binary("gt", fold.part, 0), joined, shifted).expr


# ---------------------------------------------------------------- the public functions


def reduce(value, block_dim, op, dtype):
    """The fold of `value` over the block by `op`, in thread 0 only.

    y = qd.simt.block.reduce(a[i], 128, add, qd.f32)
    """
    return _Fold("block.reduce", value, block_dim, op, dtype).total(everywhere=False)


def reduce_all(value, block_dim, op, dtype):
    """The fold of `value` over the block by `op`, in every thread.

    y = qd.simt.block.reduce_all(a[i], 128, add, qd.f32)
    """
    return _Fold("block.reduce_all", value, block_dim, op, dtype).total(everywhere=True)


def inclusive_scan(value, block_dim, op, dtype):
    """The fold by `op` of `value` of the threads up to this one.

    y = qd.simt.block.inclusive_scan(a[i], 128, add, qd.f32)
    """
    return _Fold("block.inclusive_scan", value, block_dim, op, dtype).inclusive()


def exclusive_scan(value, block_dim, op, identity, dtype):
    """The fold by `op` of `value` of the threads before this one; `identity` in thread 0.

    y = qd.simt.block.exclusive_scan(a[i], 128, add, 0.0, qd.f32)
    """
    return _Fold("block.exclusive_scan", value, block_dim, op, dtype).exclusive(identity)


def _total(name: str, how: str, everywhere: bool, what: str):
    def public(value, block_dim, dtype):
        return _Fold(f"block.{name}", value, block_dim, how, dtype).total(everywhere)

    where = "every thread" if everywhere else "thread 0"
    return _finished(public, name, f"The {what} of `value` over the block, in {where}.")


def _inclusive(name: str, how: str, what: str):
    def public(value, block_dim, dtype):
        return _Fold(f"block.{name}", value, block_dim, how, dtype).inclusive()

    return _finished(public, name, f"The {what} of `value` over the threads of the block up to this one.")


def _exclusive(name: str, how: str, what: str):
    def public(value, block_dim, dtype):
        fold = _Fold(f"block.{name}", value, block_dim, how, dtype)
        return fold.exclusive(folds.identity(how, fold.type))

    return _finished(
        public, name, f"The {what} of `value` over the threads of the block before this one; the identity in thread 0."
    )


def _finished(public, name: str, text: str):
    public.__name__ = public.__qualname__ = name
    public.__doc__ = f"{text}\n\n    total = qd.simt.block.{name}(a[i], 128, qd.f32)\n"
    return public


reduce_add = _total("reduce_add", "add", False, "sum")
reduce_min = _total("reduce_min", "min", False, "minimum")
reduce_max = _total("reduce_max", "max", False, "maximum")
reduce_all_add = _total("reduce_all_add", "add", True, "sum")
reduce_all_min = _total("reduce_all_min", "min", True, "minimum")
reduce_all_max = _total("reduce_all_max", "max", True, "maximum")
inclusive_add = _inclusive("inclusive_add", "add", "sum")
inclusive_min = _inclusive("inclusive_min", "min", "minimum")
inclusive_max = _inclusive("inclusive_max", "max", "maximum")
exclusive_add = _exclusive("exclusive_add", "add", "sum")
exclusive_min = _exclusive("exclusive_min", "min", "minimum")
exclusive_max = _exclusive("exclusive_max", "max", "maximum")

__all__ = [
    "exclusive_add", "exclusive_max", "exclusive_min", "exclusive_scan", "inclusive_add", "inclusive_max",
    "inclusive_min", "inclusive_scan", "reduce", "reduce_add", "reduce_all", "reduce_all_add", "reduce_all_max",
    "reduce_all_min", "reduce_max", "reduce_min",
]  # fmt: skip
