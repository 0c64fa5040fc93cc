"""What blocks and subgroups need of the tracer: intrinsics in order, shared arrays, volatile loads."""

from __future__ import annotations

from contextlib import contextmanager

from quadrants import targets
from quadrants.errors import QuadrantsCompilationError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend.loop_writer import LoopWriter
from quadrants.frontend.outside import Outside
from quadrants.frontend.places import Places
from quadrants.frontend.refs import ArrayRef
from quadrants.frontend.state import State
from quadrants.ir import walk
from quadrants.ir.nodes import (
    ArrayDecl,
    Atomic,
    Builtin,
    Call,
    Const,
    Declare,
    Eval,
    If,
    Intrinsic,
    Store,
    VarPlace,
    Volatile,
)
from quadrants.ir.types import StructType, TensorType, i32, u64
from quadrants.lang import tensor, typed
from quadrants.lang.described import type_name
from quadrants.lang.kinds import FIELD_KINDS, kind_of
from quadrants.lang.value import Value


class Simt:
    """What the operations of `qd.simt` are made of."""

    __slots__ = ("options", "names", "flow", "writer", "functions", "outside", "places", "loop_writer")

    def __init__(self, state: State, outside: Outside, places: Places, loop_writer: LoopWriter) -> None:
        self.options = state.options
        self.names = state.names
        self.flow = state.flow
        self.writer = state.writer
        self.functions = state.functions
        self.outside = outside
        self.places = places
        self.loop_writer = loop_writer

    def intrinsic(self, op: str, args: tuple = (), t=None, params: tuple = ()):
        """Emit an intrinsic here; its value where `t` is a type. args: Values, or places handed over by reference."""
        if op == "block.sync" and self._stays_in_task():
            self.functions.must_inline()
        exprs = tuple(a.expr if isinstance(a, Value) else a for a in args)
        node = Intrinsic(op, exprs, t, params)
        if t is None:
            self.writer.emit(Eval(node))
            return None
        return self.writer.temp(Value(node), op.split(".")[-1])

    def _stays_in_task(self) -> bool:
        """Whether a barrier is part of a task: where all threads stay to its end, what they agree on is in its memory.
        A real function is none; `passes.staying` says what it cannot have."""
        target = targets.of_arch(self.options.arch_name)
        real = any(frame.kind == "real" for frame in self.functions.positions.frames)
        return target is not None and not target.block_votes and self.flow.in_function > 0 and not real

    def share_block(self, block_dim: int) -> int:
        """See `Flow.share_block`."""
        dim = block_dim_of(self.options.arch_name, block_dim)
        assert dim is not None
        return self.flow.share_block(dim)

    @staticmethod
    def builtin(name: str, t) -> Value:
        """A number of the running thread that never changes."""
        return Value(Builtin(name, t))

    @contextmanager
    def when(self, cond: Value):
        """Statements that run where `cond` holds."""
        then: list = []
        with self.flow.runtime_control(), self.writer.in_block(then):
            yield
        self.writer.emit(If(typed.condition(cond, "if"), then, []))

    def repeat(self, begin, end, run, unroll: str = "") -> None:
        """A sequential loop; `run(k)` translates its body. unroll: see `For`."""
        bounds = tuple(typed.cast_expr(typed.to_expr(x), i32) for x in (begin, end))
        with self.flow.header():
            self.loop_writer.emit_for(["k"], [bounds], lambda values: run(values[0]))
        self.writer.block[-1].unroll = unroll

    def rename(self, variable: Value, name: str) -> None:
        """Give a variable that was made without a name one of the user's."""
        variable.place.var.name = self.names.unique_name(name)

    def declare_shared(self, shape: tuple, element, name: str = "") -> ArrayDecl:
        """A new shared array of the task under translation; unless it has a name, that of the variable it goes to."""
        if self.flow.in_function:
            self.functions.must_inline()
        count = element.count if isinstance(element, TensorType) else 1
        levels, stride = [], count
        for axis in reversed(range(len(shape))):
            levels.append((axis, shape[axis], 1, stride))
            stride *= shape[axis]
        name = self.names.array_name(name or self.names.assigning or "shared")
        return ArrayDecl(
            name=name, kind="shared", type=element, ndim=len(shape), shape=shape, levels=tuple(reversed(levels)),
            label=name,
        )  # fmt: skip

    def known_now(self, value: Value) -> Value | int:
        """The number that a variable of the kernel's top level has here, if a constant is all it was ever assigned."""
        place = getattr(value.expr, "place", None)
        if not self.flow.top_level or not isinstance(place, VarPlace):
            return value
        known: Value | int = value
        for node in walk.walk(self.writer.block):
            if isinstance(node, Declare) and node.var is place.var and isinstance(node.init, Const):
                known = node.init.value
            elif isinstance(node, (Store, Atomic)) and walk.root_var(node.place) is place.var:
                return value
            elif isinstance(node, Call) and any(a is place.var for a in map(_variable, node.args)):
                return value
        return known

    def volatile_load(self, target):
        """`qd.volatile_load(target)`: component by component for vectors and matrices."""
        if kind_of(target) in FIELD_KINDS or isinstance(target, ArrayRef):
            raise QuadrantsSyntaxError(
                "cannot pass a Field directly to 'qd.volatile_load'; index it: qd.volatile_load(x[i])"
            )
        if not isinstance(target, Value) or target.place is None or target.immutable:
            raise QuadrantsSyntaxError(
                "'qd.volatile_load' requires an lvalue: an element of a field, an array or a shared array"
            )
        if self.outside.stands_for(target.place):
            return target
        if self.writer.is_local_place(target.place):
            raise QuadrantsTypeError(
                "'qd.volatile_load': function-scope local arrays are not visible to other threads; read the variable"
            )
        if isinstance(target.type, StructType):
            raise QuadrantsSyntaxError("'qd.volatile_load' requires an lvalue of a scalar, vector or matrix type")
        stable = self.places.stable_target(target)
        if not isinstance(target.type, TensorType):
            return self.writer.temp(Value(Volatile(stable.place, target.type)), "loaded")
        parts = [self.writer.temp(Value(Volatile(p, p.type)), "loaded") for p in self.places.component_targets(stable)]
        return tensor.make(parts, target.type)

    def prefetch(self, target: Value) -> None:
        """Bring the memory of a number near where the processor is the host's; nothing elsewhere."""
        target_of_arch = targets.of_arch(self.options.arch_name)
        near = target_of_arch is not None and target_of_arch.host_memory
        if near and not self.outside.stands_for(target.place):
            address = self.intrinsic("address", (self.places.stable_target(target).place,), u64)
            self.intrinsic("memory.prefetch", (address,))


def block_dim_of(arch: str, block_dim) -> int | None:
    """The argument of `qd.loop_config`, checked: a power of two, and at most 1024 where blocks cannot be larger."""
    if block_dim is None:
        return None
    if isinstance(block_dim, bool) or not hasattr(block_dim, "__index__"):
        raise QuadrantsTypeError(
            f"qd.loop_config(block_dim=...) must be an integer known at compile time, got {type_name(block_dim)}"
        )
    dim = int(block_dim)
    if dim <= 0 or dim & (dim - 1):
        raise QuadrantsCompilationError(
            f"block_dim={dim} must be a positive power of two: is_power_of_two({dim}) is false"
        )
    target = targets.of_arch(arch)
    most = target.block_threads if target is not None else None
    if most is not None and dim > most:
        raise QuadrantsCompilationError(f"block_dim={dim} is more than a block may have on {arch}: {most}")
    return dim


def _variable(place):
    return getattr(place, "var", None)
