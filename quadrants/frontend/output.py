"""print, assert and their messages."""

from __future__ import annotations

import ast
from collections.abc import Callable

from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend.evaluation import Evaluation
from quadrants.frontend.format_strings import (
    Formatted,
    check_spec,
    check_written,
    is_container,
    percent_message,
    python_text,
)
from quadrants.frontend.state import State
from quadrants.frontend.walker import Walker
from quadrants.ir.nodes import Const, If, Print
from quadrants.ir.types import DType, StructType, TensorType, f64, u1
from quadrants.lang import access, tensor, typed
from quadrants.lang.value import Value


class Output:
    """Emits prints and assertions."""

    __slots__ = ("options", "flow", "writer", "declared", "walker", "evaluation")

    def __init__(self, state: State, walker: Walker, evaluation: Evaluation) -> None:
        self.options = state.options
        self.flow = state.flow
        self.writer = state.writer
        self.declared = state.declared
        self.walker = walker
        self.evaluation = evaluation

    def trace_print(self, node) -> None:
        sep, end = " ", "\n"
        for k in node.keywords:
            if k.arg not in ("sep", "end"):
                raise QuadrantsSyntaxError(f"print() got an unexpected keyword argument '{k.arg}'")
            value = self.walker.eval(k.value)
            sep, end = (value, end) if k.arg == "sep" else (sep, value)
        parts: list = []
        for k, value in enumerate(self.evaluation.eval_arguments(node.args)):
            if k:
                parts.append(sep)
            self._print_value(value, "", parts)
        parts.append(end)
        self.declared.prints = True
        self.writer.emit(Print(tuple(_merge(parts))))

    def _print_value(self, value, spec: str, parts: list, check: Callable[[str, DType], str] = check_spec) -> None:
        value = typed.unboxed(value)
        if isinstance(value, Formatted):
            for part in value.parts:
                if isinstance(part, str):
                    parts.append(part)
                else:
                    inner, inner_spec = part
                    self._print_value(inner, inner_spec, parts, check)
            return
        if isinstance(value, str):
            parts.append(value)
            return
        if type(value) is dict or hasattr(value, "_fields"):
            self._print_value(Formatted(python_text(value)), spec, parts, check)
            return
        if isinstance(value, (list, tuple)):
            parts.append("[")
            for k, item in enumerate(value):
                if k:
                    parts.append(", ")
                self._print_value(item, spec, parts, check)
            parts.append("]")
            return
        if not isinstance(value, Value) and not typed.is_number(value) and not _is_tensor(value):
            if not hasattr(value, "as_value"):
                if is_container(value):
                    raise QuadrantsTypeError(
                        "Invalid constant scalar data type: a field, array or view cannot be printed in a kernel; "
                        "print elements of it, or print(x.to_numpy()) on the host."
                    )
                parts.append(str(value))
                return
        v = typed.to_value(value)
        if isinstance(v.type, StructType):
            raise QuadrantsTypeError("Structs cannot be printed; print their members.")
        if isinstance(v.type, TensorType):
            rows = access.iterate(self.writer.temp(v))
            self._print_value(list(rows), spec, parts, check)
            return
        parts.append((v.expr, check(spec, v.type)))

    # ------------------------------------------------------------ assert

    def exec_Assert(self, node: ast.Assert) -> None:
        if isinstance(node.test, ast.Tuple):
            raise QuadrantsSyntaxError(
                "An assertion of a tuple always holds. Write `assert condition, message`, without parentheses."
            )
        cond = typed.condition(self.walker.eval(node.test), "assert", node.test)
        if not self.options.debug:
            return
        failing: list = []
        with self.writer.in_block(failing, fresh_names=False), self.flow.runtime_control():
            texts, specs, values = self._assert_message(node)
            site = "assert", tuple(texts), tuple(specs)
            if failing:  # the message does something, which as in Python happens where the assertion fails
                self.writer.check(Const(False, u1), site, values)
        if failing:
            self.writer.emit(If(cond, [], failing))
        else:
            self.writer.check(cond, site, values)

    def _assert_message(self, node):
        """(texts with a slot for each value, how each is to be written, value expressions)"""
        if node.msg is None:
            return [ast.unparse(node.test)], [], []
        message = self._message(node.msg)
        texts, specs, values = [""], [], []
        parts: list = []
        self._print_value(message, "", parts, check_written)
        for part in _merge(parts):
            if isinstance(part, str):
                texts[-1] += part
            else:
                expr, spec = part
                specs.append(spec)
                values.append(typed.cast_expr(expr, f64) if expr.type.is_real else expr)
                texts.append("")
        return texts, specs, values

    def _message(self, node):
        """What a message says: a Formatted, a value of the run time or a text."""
        named = isinstance(node, ast.BinOp) and isinstance(node.left, (ast.Constant, ast.Name, ast.Attribute))
        if named and isinstance(node.op, ast.Mod):
            template = self.walker.eval(node.left)
            if isinstance(template, str):
                return percent_message(template, self.walker.eval(node.right))
        message = self.walker.eval(node)
        if isinstance(message, (Formatted, Value)):
            return message
        return Formatted(python_text(message)) if isinstance(message, (list, tuple, dict)) else str(message)


def _is_tensor(x) -> bool:
    return getattr(x, "_qd_host_matrix", False) or tensor.is_sequence(x)


def _merge(parts: list) -> list:
    """Neighbouring literals joined."""
    out: list = []
    for p in parts:
        if isinstance(p, str) and out and isinstance(out[-1], str):
            out[-1] += p
        elif p != "":
            out.append(p)
    return out
