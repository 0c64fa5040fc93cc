"""Operators, comparisons and conditional expressions."""

from __future__ import annotations

import ast

import numpy as np

from quadrants.errors import QuadrantsCompilationError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend import run_time
from quadrants.frontend.evaluation import Evaluation
from quadrants.frontend.format_strings import Formatted
from quadrants.frontend.host_operations import (
    ELEMENT_BY_ELEMENT,
    HOST_BINARY,
    HOST_COMPARE,
    is_container,
    on_host,
    unary_on_host,
)
from quadrants.frontend.order import Operands
from quadrants.frontend.places import Places, refuse_nothing
from quadrants.frontend.recognition import Recognition
from quadrants.frontend.state import State
from quadrants.frontend.structcell import is_runtime
from quadrants.frontend.walker import Walker
from quadrants.ir.nodes import Binary, If
from quadrants.ir.types import StructType, TensorType, u1
from quadrants.lang import structs, tensor, typed
from quadrants.lang.value import Value

BINARY_NODES = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.BitAnd: "bit_and", ast.BitOr: "bit_or", ast.BitXor: "bit_xor", ast.LShift: "shl",
    ast.RShift: "shr",
}  # fmt: skip
_COMPARE = "Compare what is no integer, as in `x != 0`."
COMPARE_NODES = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}


def _is_repetition(left, right) -> bool:
    """Whether Python repeats a list: `[x] * 3`."""
    pairs = ((left, right), (right, left))
    return any(type(a) in (list, tuple) and type(b) is int for a, b in pairs)


def _joined(left, right):
    """Lists, tuples or texts one behind the other, as Python joins them; None for other operands."""
    kinds = type(left), type(right)
    if all(kind in (Formatted, str) for kind in kinds) and Formatted in kinds:
        parts = [part for x in (left, right) for part in (x.parts if isinstance(x, Formatted) else [x])]
        return Formatted(parts)
    if not all(isinstance(x, (list, tuple)) for x in (left, right)):
        return None
    if isinstance(left, list) != isinstance(right, list):
        raise QuadrantsTypeError("A list and a tuple are not joined by `+`: write `[*a, *b]`.")
    return [*left, *right] if isinstance(left, list) else (*left, *right)


class Operators:
    """Computes with run-time values in IR and with others now."""

    __slots__ = ("options", "positions", "reports", "flow", "writer", "walker", "recognition", "evaluation", "places")

    def __init__(
        self, state: State, walker: Walker, recognition: Recognition, evaluation: Evaluation, places: Places
    ) -> None:
        self.options = state.options
        self.positions = state.positions
        self.reports = state.reports
        self.flow = state.flow
        self.writer = state.writer
        self.walker = walker
        self.recognition = recognition
        self.evaluation = evaluation
        self.places = places

    def eval_BinOp(self, node):
        left, right = self.evaluation.eval_each((node.left, node.right))
        if isinstance(node.op, ast.MatMult):
            return self._matmul(left, right)
        if left is None or right is None:
            refuse_nothing(node.left if left is None else node.right)
        return self.apply_binary(BINARY_NODES[type(node.op)], left, right)

    def apply_binary(self, op: str, left, right):
        if isinstance(left, str) and op == "mod":
            raise QuadrantsTypeError(
                "'%' formatting is not supported in kernels; use an f-string in print or assert, as in "
                '`print(f"{x}")`, or commas, as in `print("x =", x)`.'
            )
        if op == "mul" and _is_repetition(left, right):
            return left * right
        if op == "add" and (joined := _joined(left, right)) is not None:
            return joined
        if is_runtime(left) or is_runtime(right):
            return typed.binary(op, left, right)
        if op == "pow" and isinstance(left, int) and isinstance(right, int) and right < 0:
            return left**right
        if getattr(left, "_qd_host_matrix", False) or getattr(right, "_qd_host_matrix", False):
            return typed.binary(op, left, right)
        return on_host(HOST_BINARY[op], left, right)

    def _matmul(self, left, right):
        for x in (left, right):
            if is_container(x):
                raise QuadrantsTypeError(f"unsupported operand type(s) for '@'. {ELEMENT_BY_ELEMENT}")
            if not (isinstance(x, Value) and x.is_tensor) and not tensor.is_sequence(x):
                raise QuadrantsCompilationError(
                    "unsupported operand type(s) for '@': both sides must be vectors or matrices"
                )
        return tensor.matmul(left, right)

    def eval_UnaryOp(self, node):
        x = self.walker.eval(node.operand)
        if isinstance(node.op, ast.Not):
            if is_runtime(x):
                return typed.unary("logic_not", Value(typed.truth(self._integral(x, "logic_not"))))
            return not x
        if not is_runtime(x) and not getattr(x, "_qd_host_matrix", False):
            return unary_on_host(self.reports, type(node.op), x)
        if isinstance(node.op, ast.UAdd):
            return x
        return typed.unary("neg" if isinstance(node.op, ast.USub) else "bit_not", x)

    def _integral(self, x, symbol: str):
        e = typed.to_expr(x)
        if isinstance(e.type, StructType) or typed.element_dtype(e.type).is_real:
            told = f"'{symbol}' takes integral inputs only, however '{e.type}' is provided"
            raise QuadrantsTypeError(f"{told}. {_COMPARE}")
        return e

    # ------------------------------------------------------------ and, or, comparisons

    def eval_BoolOp(self, node):
        name = "logic_and" if isinstance(node.op, ast.And) else "logic_or"
        result = self.walker.eval(node.values[0])
        for other in node.values[1:]:
            result = self._logic(name, result, other)
        return result

    def _logic(self, name: str, left, right_node):
        if not is_runtime(left) and not getattr(left, "_qd_host_matrix", False):
            return self._decided_logic(name, left, right_node)
        effects: list = []
        with self.writer.in_block(effects, fresh_names=False), self.flow.runtime_control():
            right = self.walker.eval(right_node)
        return self._combine_logic(name, left, right, effects)

    def _decided_logic(self, name: str, left, right_node):
        """A compile-time left side decides whether the right side runs; both are checked, as with `if False`."""
        needed = bool(left) == (name == "logic_and")
        if self.positions.frame.in_static:
            return self.walker.eval(right_node) if needed else left
        effects: list = []
        with self.writer.in_block(effects, fresh_names=False):
            right = self.walker.eval(right_node)
        if not is_runtime(right):
            self.writer.block.extend(effects if needed else [])
            return right if needed else left
        if needed or not self.options.short_circuit or typed.to_value(right).is_tensor:
            self.writer.block.extend(effects)
        elif effects:
            right = Value(structs.zero(typed.to_expr(right).type))
        return self._combine_logic(name, left, right, [])

    def _combine_logic(self, name: str, left, right, effects: list):
        symbol = "&&" if name == "logic_and" else "||"
        a, b = typed.to_expr(left), typed.to_expr(right)
        for e in (a, b):
            if isinstance(e.type, StructType) or typed.element_dtype(e.type).is_real:
                told = f"unsupported operand type(s) for '{symbol}': '{a.type}' and '{b.type}'"
                raise QuadrantsTypeError(f"{told}. {_COMPARE}")
        if isinstance(a.type, TensorType) or isinstance(b.type, TensorType):
            self.writer.block.extend(effects)
            return typed.binary(name, Value(a), Value(b))
        if not self.options.short_circuit:
            self.writer.block.extend(effects)
            return typed.binary("bit_and" if name == "logic_and" else "bit_or", Value(a), Value(b))
        if effects:
            return self._effectful_logic(name, a, b, effects)
        if a.type is u1 and b.type is u1:
            return Value(Binary(name, a, b, u1))
        held = self.writer.temp(Value(a))
        if name == "logic_and":
            return typed.conditional(Value(typed.truth(held.expr)), Value(b), held)
        return typed.conditional(Value(typed.truth(held.expr)), held, Value(b))

    def _effectful_logic(self, name: str, a, b, effects: list):
        """The right side needs statements: they run only when Python would evaluate it."""
        t = typed.promote(a.type, b.type)
        result = self.writer.declare("logic", typed.cast_expr(a, t))
        inner = list(effects)
        saved, self.writer.block = self.writer.block, inner
        self.places.assign_to(result, Value(b))
        self.writer.block = saved
        test = typed.truth(result.expr)
        if name == "logic_or":
            test = typed.unary("logic_not", Value(test)).expr
        self.writer.emit(If(test, inner, []))
        return result

    def eval_Compare(self, node):
        return self._chain(node, 0, lambda: self.walker.eval(node.left))

    def _chain(self, node, k: int, left):
        """`left < b < c` from operator `k` on: c is evaluated only if `left < b`, and b once."""
        operands = Operands(self.writer)
        operands.add(left)
        operands.add(lambda: self.walker.eval(node.comparators[k]))
        a, b = operands.values
        last = k + 1 == len(node.ops)
        if not last and is_runtime(b):
            b = self.writer.temp(b)
        term = self._compare(node.ops[k], a, b, node)
        if last:
            return term
        effects: list = []
        with self.writer.in_block(effects, fresh_names=False), self.flow.runtime_control():
            rest = self._chain(node, k + 1, lambda: b)
        if is_runtime(term) or is_runtime(rest):
            return self._combine_logic("logic_and", term, rest, effects)
        return term and rest

    def _compare(self, op, left, right, node):
        name = COMPARE_NODES.get(type(op))
        if name is None:
            return self._membership(op, left, right, node)
        if is_runtime(left) or is_runtime(right):
            if left is None or right is None or isinstance(left, str) or isinstance(right, str):
                return name == "ne"
            return typed.binary(name, left, right)
        if getattr(left, "_qd_host_matrix", False) or getattr(right, "_qd_host_matrix", False):
            return typed.binary(name, left, right)
        found = on_host(HOST_COMPARE[name], left, right)
        return bool(found) if isinstance(found, np.bool_) else found  # NumPy's has no minus, and sums of it stay truth

    def _membership(self, op, left, right, node):
        text = {ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}[type(op)]
        if isinstance(op, (ast.Is, ast.IsNot)):
            if right is not None or not self.positions.frame.has_parameter(node.left):
                raise QuadrantsSyntaxError(
                    f'Operator "{text}" in Quadrants scope is not supported. The exception is `qd.static(x {text} '
                    "None)`, which compares a direct kernel argument against `None`; use `== None` for members and for "
                    "names from outside the kernel."
                )
            if isinstance(left, Value) and not self.positions.frame.in_static:
                raise QuadrantsSyntaxError(
                    f'Operator "{text}" in Quadrants scope is not supported. Write it inside `qd.static`.'
                )
            same = left is right
            return same if isinstance(op, ast.Is) else not same
        if not self.positions.frame.in_static or is_runtime(left) or is_runtime(right):
            raise run_time.refuse_membership(self.positions.frame, node, text)
        return (left in right) if isinstance(op, ast.In) else (left not in right)

    # ------------------------------------------------------------ a if c else b

    def eval_IfExp(self, node):
        if self.recognition.is_static_call(node.test):
            return self.walker.eval(node.body if self.evaluation.static_truth(node.test) else node.orelse)
        cond = self.walker.eval(node.test)
        if self.positions.frame.in_static and not is_runtime(cond):
            return self.walker.eval(node.body if cond else node.orelse)
        if isinstance(cond, Value) and cond.is_tensor:
            raise QuadrantsSyntaxError(
                "A conditional expression needs a scalar condition; use `qd.select` for vectors and matrices."
            )
        test = typed.condition(cond, "if", node.test)
        first: list = []
        second: list = []
        with self.flow.runtime_control():
            with self.writer.in_block(first, fresh_names=False):
                a = self.walker.eval(node.body)
            with self.writer.in_block(second, fresh_names=False):
                b = self.walker.eval(node.orelse)
        if not first and not second:
            return typed.conditional(Value(test), a, b)
        return self._effectful_choice(test, a, b, first, second)

    def _effectful_choice(self, test, a, b, first: list, second: list):
        ea, eb = typed.to_expr(a), typed.to_expr(b)
        t = typed.conditional(Value(test), Value(ea), Value(eb)).type
        result = self.writer.declare("choice", structs.zero(t))
        for block, e in ((first, ea), (second, eb)):
            saved, self.writer.block = self.writer.block, block
            self.places.assign_to(result, Value(e))
            self.writer.block = saved
        self.writer.emit(If(test, first, second))
        return result
