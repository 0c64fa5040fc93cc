"""Calls of funcs that bring their derivative along: in a kernel that is differentiated they stay calls."""

from __future__ import annotations

from contextlib import contextmanager

from quadrants.ir.nodes import Call, Function
from quadrants.lang import structs
from quadrants.lang.func import Func
from quadrants.lang.value import Value


class Differentiated:
    """Part of the tracer."""

    def call_differentiated(self, func: Func, bound: dict):
        """A call, also at the top level of a kernel; its results are variables."""
        with self._emitting():
            adapted, keys, args = self._passed(func, bound)
            function, rebuild = self._emitted(func, (func, keys, False), adapted)
            if function.derivative is None:
                function.derivative = self._derivative_of(func, function, bound)
        if len(function.result) == 1:
            return rebuild([self.writer.temp(Value(Call(function, tuple(args), function.result[0])))])
        return self._emit_call(function, args, rebuild)

    @contextmanager
    def _emitting(self):
        """What these functions call is emitted, too: nothing in them is differentiated."""
        saved, self.functions.inlines_all = self.functions.inlines_all, False
        yield
        self.functions.inlines_all = saved

    def _passed(self, func: Func, bound: dict) -> tuple:
        args: list = []
        adapted = {name: self.adapt(func, name, x) for name, x in bound.items()}
        keys = tuple(self._pass(mode, value, args) for mode, value in adapted.values())
        return adapted, keys, args

    def _derivative_of(self, func: Func, function: Function, bound: dict) -> Function:
        """The emitted push or pull; its parameters are the duals or adjoints, then the results of `function`."""
        reverse = self.options.ad_mode == "reverse"
        rule = func.derivative.pull if reverse else func.derivative.push
        given = function.result if reverse else tuple(v.type for v in function.params)
        values = iter([Value(structs.zero(t)) for t in (*given, *function.result)])
        names = rule.signature.parameters
        adapted, keys, _ = self._passed(rule, {name: bound[name] if name in bound else next(values) for name in names})
        return self._emitted(rule, (rule, keys, False), adapted)[0]
