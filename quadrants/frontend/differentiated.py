"""Calls of funcs that bring their derivative along: in a kernel that is differentiated they stay calls."""

from __future__ import annotations

from contextlib import contextmanager

from quadrants.frontend.emitted_funcs import EmittedFuncs
from quadrants.frontend.func_arguments import FuncArguments
from quadrants.frontend.state import State
from quadrants.ir.nodes import Call, Function
from quadrants.lang import structs
from quadrants.lang.func import Func
from quadrants.lang.value import Value


class Differentiated:
    """Calls of funcs with a derivative."""

    __slots__ = ("options", "writer", "functions", "func_arguments", "emitted")

    def __init__(self, state: State, func_arguments: FuncArguments, emitted: EmittedFuncs) -> None:
        self.options = state.options
        self.writer = state.writer
        self.functions = state.functions
        self.func_arguments = func_arguments
        self.emitted = emitted

    def call_differentiated(self, func: Func, bound: dict):
        """A call, also at the top level of a kernel; its results are variables."""
        with self._emitting():
            adapted, keys, args = self._passed(func, bound)
            function, rebuild = self.emitted.specialised(func, (func, keys, False), adapted)
            if function.derivative is None:
                function.derivative = self._derivative_of(func, function, bound)
        if len(function.result) == 1:
            return rebuild([self.writer.temp(Value(Call(function, tuple(args), function.result[0])))])
        return self.emitted.emit_call(function, args, rebuild)

    @contextmanager
    def _emitting(self):
        """What these functions call is emitted, too: nothing in them is differentiated."""
        saved, self.functions.inlines_all = self.functions.inlines_all, False
        yield
        self.functions.inlines_all = saved

    def _passed(self, func: Func, bound: dict) -> tuple:
        args: list = []
        adapted = {name: self.func_arguments.adapt(func, name, x) for name, x in bound.items()}
        keys = tuple(self.emitted.pass_argument(mode, value, args) for mode, value in adapted.values())
        return adapted, keys, args

    def _derivative_of(self, func: Func, function: Function, bound: dict) -> Function:
        """The emitted push or pull; its parameters are the duals or adjoints, then the results of `function`."""
        reverse = self.options.ad_mode == "reverse"
        rules = func.derivative
        assert rules is not None, func
        rule = rules.pull if reverse else rules.push
        given = function.result if reverse else tuple(v.type for v in function.params)
        values = iter([Value(structs.zero(t)) for t in (*given, *function.result)])
        names = rule.signature.parameters
        adapted, keys, _ = self._passed(rule, {name: bound[name] if name in bound else next(values) for name in names})
        return self.emitted.specialised(rule, (rule, keys, False), adapted)[0]
