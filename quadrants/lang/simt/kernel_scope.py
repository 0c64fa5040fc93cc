"""What the operations of `qd.simt` share: where they may be called, and what they accept."""

from __future__ import annotations

from typing import Any

from quadrants import session, targets
from quadrants.arch import Arch
from quadrants.errors import QuadrantsCompilationError, QuadrantsRuntimeError, QuadrantsTypeError
from quadrants.ir.nodes import Const
from quadrants.ir.types import DType, f32, f64, i32, i64, u1, u32, u64
from quadrants.lang import kernel_hook, scope, typed
from quadrants.lang.described import type_name
from quadrants.lang.value import Value

_NO_LANES = "qd.simt.{} is not available on the python arch: it needs a GPU."
LANE_TYPES = (i32, u32, i64, u64, f32, f64)
# What to write where an arch has no subgroups.
INSTEAD = "On a device, threads of a block exchange values through a qd.simt.block.SharedArray."


def arch_name() -> str:
    """The arch that the kernel is traced for, or in Python scope that of the runtime."""
    tracer = scope.current()
    if tracer is not None:
        name: str = tracer.arch_name
        return name
    if kernel_hook.python_arch():
        raise QuadrantsRuntimeError(_NO_LANES.format("subgroup.group_size"))
    return session.require_runtime().arch.name


def is_host(tracer) -> bool:
    """Whether a kernel is traced for a target without lanes, blocks and shared memory."""
    target = targets.of_arch(tracer.arch_name)
    return target is not None and target.host_memory


def has_lanes(tracer) -> bool:
    """Whether a kernel is traced for a target whose threads exchange values without a barrier."""
    target = targets.of_arch(tracer.arch_name)
    return target is None or target.subgroup != 0


def votes_at_barriers(tracer) -> bool:
    """Whether a kernel is traced for a target whose barriers of a block count votes."""
    target = targets.of_arch(tracer.arch_name)
    return target is None or target.block_votes


def share_block(tracer, dim: int, name: str) -> None:
    """Have the blocks of the loop around `dim` threads. AssertionError if it says otherwise."""
    there = tracer.share_block(dim)
    assert there == dim, (
        f"qd.simt.{name}: block_dim is {dim}, and the blocks of this loop have {there} threads: pass that, or write "
        f"qd.loop_config(block_dim={dim}) before the loop"
    )


def tracer_of(what: str):
    """The tracer at work. `what` is the public name of the operation that needs it."""
    tracer = scope.current()
    if tracer is None:
        if kernel_hook.python_arch():
            raise QuadrantsRuntimeError(_NO_LANES.format(what))
        raise AssertionError(f"qd.simt.{what} cannot be called in Python-scope")
    return tracer


def on_device(what: str):
    """The tracer, where the arch has lanes; `what` is the public name of the operation that needs them."""
    tracer = tracer_of(what)
    if is_host(tracer):
        raise QuadrantsCompilationError(
            f"qd.simt.{what} is not supported for arch {Arch(tracer.arch_name)!r}, whose threads are not lanes of a "
            "subgroup. Guard it with `if qd.static(...)` on the arch."
        )
    if not has_lanes(tracer):
        raise QuadrantsTypeError(
            f"qd.simt.{what} is not supported: arch {tracer.arch_name} has no subgroups. {INSTEAD}"
        )
    return tracer


def in_block(what: str):
    """As `on_device`, for the operations of blocks and grids: ValueError."""
    tracer = tracer_of(what)
    if is_host(tracer):
        name = what if what.startswith("block.") else f"simt.{what}"
        raise ValueError(f"qd.{name} is not supported for arch {Arch(tracer.arch_name)!r}")
    return tracer


def scalar(x: Any, what: str) -> Value:
    """The value that lanes exchange."""
    value = typed.to_value(x)
    if value.type not in LANE_TYPES:
        names = ", ".join(map(str, LANE_TYPES))
        raise QuadrantsTypeError(f"qd.simt.{what} takes a scalar of {names}, however '{value.type}' is provided")
    return value


def integer(x: Any, t: DType, number: int, strict: bool = False) -> Value:
    """Operand `number` (from 1) as a `t`; other integers are converted unless `strict`."""
    value = typed.to_value(x)
    have = value.type
    if have is not t and (strict or not isinstance(have, DType) or not have.is_integral):
        raise QuadrantsTypeError(f"expected {t} for argument #{number}, but got {have}")
    return typed.cast(value, t)


def predicate(x: Any, what: str) -> Value:
    """`x != 0` as an i32, of an integer or u1."""
    value = typed.to_value(x)
    if not isinstance(value.type, DType) or value.type.is_real:
        raise QuadrantsTypeError(f"qd.simt.{what} takes an integer predicate, however '{value.type}' is provided")
    if value.type is i32:
        return value
    return typed.cast(value if value.type is u1 else Value(typed.truth(value.expr)), i32)


def constant(x: Any, name: str, what: str) -> int:
    """A compile-time integer."""
    if isinstance(x, Value) or isinstance(x, bool) or not hasattr(x, "__index__"):
        got = f"a run-time {x.type}" if isinstance(x, Value) else type_name(x)
        raise QuadrantsTypeError(f"qd.simt.{what}: {name} must be an integer known at compile time, got {got}")
    return int(x)


def dtype_of(t: Any) -> DType:
    """A dtype given as an argument; `float` and `int` are the defaults of the kernel."""
    resolved: DType = scope.require().resolve_dtype(t)
    return resolved


def const(x: int, t: DType) -> Value:
    """The number `x` as a value of type `t`."""
    return Value(Const(x, t))
