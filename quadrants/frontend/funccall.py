"""Calls of @qd.func: inlined where the language's meaning needs it, else one emitted function a specialisation."""

from __future__ import annotations

from quadrants.errors import QuadrantsSyntaxError
from quadrants.frontend.containers import Containers
from quadrants.frontend.differentiated import Differentiated
from quadrants.frontend.emitted_funcs import EmittedFuncs, identity, no_recursion
from quadrants.frontend.fields import WHICH
from quadrants.frontend.func_arguments import FuncArguments
from quadrants.frontend.functions import CannotPass
from quadrants.frontend.places import Places
from quadrants.frontend.realcall import RealCalls
from quadrants.frontend.state import State
from quadrants.frontend.struct_methods import Receiver
from quadrants.frontend.structcell import StructCell
from quadrants.frontend.walker import Walker
from quadrants.ir import walk
from quadrants.lang import access, typed
from quadrants.lang.access import SlicedValue
from quadrants.lang.func import Func
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.parameters import is_template
from quadrants.lang.value import Value
from quadrants.toolchain import progress

MAX_DEPTH = 200


class FuncCalls:
    """Calls of funcs."""

    __slots__ = (
        "options", "names", "positions", "flow", "writer", "declared", "functions", "walker", "places",
        "containers", "func_arguments", "emitted", "real", "differentiated",
    )  # fmt: skip

    def __init__(
        self,
        state: State,
        walker: Walker,
        places: Places,
        containers: Containers,
        func_arguments: FuncArguments,
        emitted: EmittedFuncs,
        real: RealCalls,
        differentiated: Differentiated,
    ) -> None:
        self.options = state.options
        self.names = state.names
        self.positions = state.positions
        self.flow = state.flow
        self.writer = state.writer
        self.declared = state.declared
        self.functions = state.functions
        self.walker = walker
        self.places = places
        self.containers = containers
        self.func_arguments = func_arguments
        self.emitted = emitted
        self.real = real
        self.differentiated = differentiated

    def call_func(self, func: Func, args: list, kwargs: dict):
        progress.tick()
        if func.requires_top_level and not self.flow.top_level:
            raise QuadrantsSyntaxError(
                f"{func.fn.__name__} is declared with requires_top_level=True: "
                "call it at kernel top level, not inside a run-time for, if or while."
            )
        if len(self.functions.calls) > MAX_DEPTH:
            raise QuadrantsSyntaxError(f"{func.fn.__name__}: calls are nested too deeply; {no_recursion(func)}")
        bound = self.func_arguments.bind_arguments(func, args, kwargs)
        for name, x in bound.items():
            if isinstance(x, Receiver):
                bound[name] = Receiver(self._held(x.value))
            elif is_template(func.annotation(name)):
                bound[name] = self._owned(x)
        if func.is_real_function:
            return self.real.call_real(func, bound)
        if func.derivative is not None and self.functions.inlines_all and self.options.ad_mode in WHICH:
            return self.differentiated.call_differentiated(func, bound)
        objects = any(isinstance(x, KernelObject) for x in bound.values())
        if self.functions.inlines_all or self.flow.top_level or objects or func.fn in self.functions.inline_only:
            return self.inline(func, bound)
        before, in_function = self._position(), self.flow.in_function > 0
        try:
            return self.emitted.call_emitted(func, bound)
        except CannotPass:
            if in_function and func.fn in self.functions.inline_only:
                raise  # the function around it is inlined too
            self._return_to(before)
            return self.inline(func, bound)

    def _owned(self, x):
        """An argument of which the func may change what it can change: values of expressions as variables of their
        own. Numbers stay what nothing is assigned to, as in `f(x + 1)`.
        """
        if isinstance(x, (list, tuple, dict)):
            return self._owned_items(x)
        if not self._is_fixed(x):
            return x
        return Value(x.expr) if x.is_scalar else self.writer.declare("held", x.expr)

    def _owned_items(self, x):
        """A container whose items are variables, elements that are found once, or values; all before the call."""
        items = list(x.values() if isinstance(x, dict) else x)
        if any(self._is_fixed(item) for item in items):
            return self.containers.copy_container(x, "item")
        found = [self._found(item) for item in items]
        if all(a is b for a, b in zip(items, found)):
            return x  # the func may change how many there are
        if isinstance(x, dict):
            return dict(zip(x, found))
        return type(x)(*found) if hasattr(x, "_fields") else type(x)(found)

    def _found(self, item):
        if isinstance(item, (list, tuple, dict)):
            return self._owned_items(item)
        if not isinstance(item, Value) or isinstance(item, SlicedValue):
            return item
        return self.writer.temp(item) if item.place is None else self.places.stable_target(item)

    def _held(self, x):
        """A struct that a method of it may change."""
        if isinstance(x, Value) and (x.place is None or self._is_fixed(x)):
            return self.writer.declare("held", x.expr)
        return x

    @staticmethod
    def _is_fixed(x) -> bool:
        return isinstance(x, Value) and x.place is not None and not x.immutable and walk.fixed_var(x.place) is not None

    def _position(self) -> tuple:
        """Where translation is, for `_return_to`. Cheap: it is asked for at every call of a func."""
        block, names = self.writer.block, self.names
        return (
            block, len(block), names.local, names.hint, len(self.positions.frames), self.flow.position(),
            self.functions.position(),
        )  # fmt: skip

    def _return_to(self, before: tuple) -> None:
        """Give up the function under translation: as if its call had not begun."""
        block, length, self.names.local, self.names.hint, depth, flow, functions = before
        self.writer.block = block
        del block[length:]
        self.positions.return_to(depth)
        self.flow.return_to(flow)
        self.functions.return_to(functions)

    # ------------------------------------------------------------ inlining

    def inline(self, func: Func, bound: dict):
        adapted = {name: self.func_arguments.adapt(func, name, x) for name, x in bound.items()}
        key = (func, "inline", tuple(_seen_by_trace(mode, value) for mode, value in adapted.values()))
        if key in self.functions.calls:
            raise QuadrantsSyntaxError(f"{func.fn.__name__} calls itself; {no_recursion(func)}")
        prepared = []
        for name, (mode, value) in adapted.items():
            if mode == "alias" and isinstance(value, SlicedValue):
                value = access.moved(value, self.places.stable_target)
            elif mode == "alias" and isinstance(value, Value) and value.place is not None:
                value = self.places.stable_target(value)
            prepared.append((name, mode, value))
        frame = self.emitted.make_frame(func, "inline")
        self.positions.enter(frame)
        self.functions.calls.append(key)
        for name, mode, value in prepared:
            self._bind_parameter(frame, name, mode, value)
        self.walker.exec_body(frame.source.tree.body)
        self.emitted.check_returned(func, frame)
        result = self.emitted.cast_result(frame, self._copy_result(frame.result))
        self.functions.calls.pop()
        self.positions.leave()
        return result

    def _bind_parameter(self, frame, name, mode, value) -> None:
        if mode == "value":
            frame.bind(name, self.declared.holding_argument(self.writer.declare(name, typed.to_expr(value))), "var")
        elif mode == "container":
            frame.bind(name, self.containers.copy_container(value, name), "container")
        elif mode == "alias" and not isinstance(value, (StructCell, SlicedValue)) and value.place is None:
            held = self.writer.temp(value)
            frame.bind(name, Value(held.expr, None), "var")
        elif mode == "alias":
            frame.bind(name, value, "var")
        else:
            frame.bind(name, value, "object")

    def _copy_result(self, value):
        """Run-time results are read now: the caller may change what they were read from."""
        if isinstance(value, StructCell):
            return self.writer.temp(value.as_value())
        if isinstance(value, Value):
            return self.writer.temp(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self._copy_result(v) for v in value))
        if isinstance(value, (list, tuple)):
            return type(value)([self._copy_result(v) for v in value])
        if isinstance(value, dict):
            return {k: self._copy_result(v) for k, v in value.items()}
        return value


def _seen_by_trace(mode: str, value):
    """What of an adapted argument can change how the body is traced; a call below itself with the same never ends."""
    if isinstance(value, StructCell):
        return (mode, id(value.field))
    if isinstance(value, Value):
        return (mode, value.type)
    if mode == "container" and isinstance(value, (list, tuple)):
        return (mode, type(value), tuple(_seen_by_trace(mode, v) for v in value))
    return (mode, identity(value))
