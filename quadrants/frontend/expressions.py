"""Expressions: every method returns a run-time Value or a plain compile-time object."""

from __future__ import annotations

import ast

import numpy as np

from quadrants.errors import (
    QuadrantsCompilationError,
    QuadrantsIndexError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)
from quadrants.frontend.host_operations import (
    ELEMENT_BY_ELEMENT,
    HOST_BINARY,
    HOST_COMPARE,
    is_container,
    on_host,
    unary_on_host,
)
from quadrants.frontend.order import Operands
from quadrants.frontend.refs import ArrayRef, ObjectRef
from quadrants.frontend.statements import BINARY_NODES, LazyTensor, OldValue
from quadrants.frontend.structcell import StructCell
from quadrants.frontend.views import ViewRef
from quadrants.ir.nodes import Binary, If
from quadrants.ir.types import StructType, TensorType, u1
from quadrants.lang import access, structs, tensor, typed
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.kinds import FIELD_KINDS, is_cuda_array, is_torch_tensor, kind_of
from quadrants.lang.value import Value

HANDED_OVER = ("ndarray", "tensor", "view")  # a launch hands these over, by parameter or member, and no other way

COMPARE_NODES = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}


def is_runtime(x) -> bool:
    """Whether computing with `x` needs IR: a Value, or a container holding one."""
    if isinstance(x, (Value, StructCell)):
        return True
    return isinstance(x, (list, tuple)) and any(is_runtime(e) for e in x)


class Expressions:
    """Part of the tracer."""

    def eval(self, node):
        frame = self.positions.frame
        previous, frame.node = frame.node, node
        method = getattr(self, "eval_" + type(node).__name__, None)
        if method is None:
            raise QuadrantsSyntaxError(f'Unsupported node "{type(node).__name__}"')
        result = method(node)
        if isinstance(result, (OldValue, LazyTensor)):
            result = result.as_value()
        elif kind_of(result) in HANDED_OVER:
            raise QuadrantsCompilationError(_not_handed_over(node))
        frame.node = previous
        return result

    def eval_Constant(self, node):
        if isinstance(node.value, (complex, bytes)):
            raise QuadrantsTypeError(f"Invalid constant scalar data type: {type(node.value)}")
        return node.value

    def eval_Name(self, node):
        found = self.positions.frame.lookup_local(node.id)
        if found is not None:
            return found.value
        value = self.positions.frame.lookup_outer(node.id)
        self.purity.note_capture(node.id, value)
        return self.captured(value, node.id)

    def captured(self, value, name: str):
        if isinstance(value, float) and self.options.raise_on_templated_floats:
            raise ValueError(f"Floats not allowed as templated types: the captured name '{name}' is {value!r}")
        if kind_of(value) in HANDED_OVER:
            raise QuadrantsCompilationError(
                f"The ndarray or tensor '{name}' is not registered as a kernel parameter: pass it as an argument."
            )
        return value

    def eval_NamedExpr(self, node):
        value = self.eval(node.value)
        self.assign_name(node.target.id, value)
        return self.positions.frame.lookup_local(node.target.id).value

    # ------------------------------------------------------------ containers

    def eval_List(self, node):
        return self.eval_each([e.value if isinstance(e, ast.Starred) else e for e in node.elts])

    def eval_Tuple(self, node):
        values = self.eval_each([e.value if isinstance(e, ast.Starred) else e for e in node.elts])
        out = []
        for e, value in zip(node.elts, values):
            out.extend(list(value) if isinstance(e, ast.Starred) else [value])
        return tuple(out)

    def eval_Dict(self, node):
        out = {}
        for k, v in zip(node.keys, node.values):
            if k is None:
                out.update(self.eval(v))
            else:
                out[self.eval(k)] = self.eval(v)
        return out

    def eval_ListComp(self, node):
        operands = Operands(self)
        self._comprehend(node.generators, 0, lambda: operands.add(lambda: self.eval(node.elt)))
        return operands.values

    def eval_DictComp(self, node):
        out: dict = {}

        def add():
            key = self.eval(node.key)
            out[key] = self.eval(node.value)

        self._comprehend(node.generators, 0, add)
        return out

    def _comprehend(self, generators, k: int, emit) -> None:
        if k == len(generators):
            emit()
            return
        generator = generators[k]
        items = self.eval(generator.iter)
        if isinstance(items, Value) or isinstance(items, (list, tuple, range, enumerate, zip, map, filter, dict)):
            items = list(items)
        elif getattr(items, "_qd_host_matrix", False):
            items = list(items.to_list())
        elif hasattr(items, "__iter__") and kind_of(items) not in FIELD_KINDS:
            items = list(items)
        else:
            raise QuadrantsTypeError(f"A comprehension needs a compile-time iterable, got {type(items).__name__}")
        for item in items:
            with self.positions.frame.static_scope():
                names = self.target_names(generator.target)
                self._bind_static_targets(names, item)
                if all(self._comprehension_test(test) for test in generator.ifs):
                    self._comprehend(generators, k + 1, emit)

    def _comprehension_test(self, test) -> bool:
        value = self.eval(test)
        if is_runtime(value):
            raise QuadrantsSyntaxError("The `if` of a comprehension must be known at compile time.")
        return bool(value)

    # ------------------------------------------------------------ operators

    def eval_BinOp(self, node):
        left, right = self.eval_each((node.left, node.right))
        if isinstance(node.op, ast.MatMult):
            return self._matmul(left, right)
        return self.apply_binary(BINARY_NODES[type(node.op)], left, right)

    def apply_binary(self, op: str, left, right):
        if is_runtime(left) or is_runtime(right):
            return typed.binary(op, left, right)
        if isinstance(left, str) and op == "mod":
            raise QuadrantsTypeError("'%' formatting is not supported in kernels; use an f-string in print or assert.")
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
        x = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            if is_runtime(x):
                return typed.unary("logic_not", Value(typed.truth(self._integral(x, "logic_not"))))
            return not x
        if not is_runtime(x) and not getattr(x, "_qd_host_matrix", False):
            return unary_on_host(self, type(node.op), x)
        if isinstance(node.op, ast.UAdd):
            return x
        return typed.unary("neg" if isinstance(node.op, ast.USub) else "bit_not", x)

    def _integral(self, x, symbol: str):
        e = typed.to_expr(x)
        if typed.element_dtype(e.type).is_real:
            raise QuadrantsTypeError(f"'{symbol}' takes integral inputs only, however '{e.type}' is provided")
        return e

    def eval_BoolOp(self, node):
        name = "logic_and" if isinstance(node.op, ast.And) else "logic_or"
        result = self.eval(node.values[0])
        for other in node.values[1:]:
            result = self._logic(name, result, other)
        return result

    def _logic(self, name: str, left, right_node):
        if not is_runtime(left) and not getattr(left, "_qd_host_matrix", False):
            return self._decided_logic(name, left, right_node)
        effects: list = []
        with self.writer.in_block(effects, fresh_names=False), self.flow.runtime_control():
            right = self.eval(right_node)
        return self._combine_logic(name, left, right, effects)

    def _decided_logic(self, name: str, left, right_node):
        """A compile-time left side decides whether the right side runs; both are checked, as with `if False`."""
        needed = bool(left) == (name == "logic_and")
        if self.positions.frame.in_static:
            return self.eval(right_node) if needed else left
        effects: list = []
        with self.writer.in_block(effects, fresh_names=False):
            right = self.eval(right_node)
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
                raise QuadrantsTypeError(f"unsupported operand type(s) for '{symbol}': '{a.type}' and '{b.type}'")
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
        self.assign_to(result, Value(b))
        self.writer.block = saved
        test = typed.truth(result.expr)
        if name == "logic_or":
            test = typed.unary("logic_not", Value(test)).expr
        self.writer.emit(If(test, inner, []))
        return result

    def eval_Compare(self, node):
        return self._chain(node, 0, lambda: self.eval(node.left))

    def _chain(self, node, k: int, left):
        """`left < b < c` from operator `k` on: c is evaluated only if `left < b`, and b once."""
        operands = Operands(self)
        operands.add(left)
        operands.add(lambda: self.eval(node.comparators[k]))
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
            if right is not None or not self.is_optional_argument(node.left):
                raise QuadrantsSyntaxError(
                    f'Operator "{text}" in Quadrants scope is not supported. The exception is `qd.static(x {text} '
                    "None)`, which "
                    "compares a direct kernel argument against `None`; use `== None` for members."
                )
            if isinstance(left, Value) and not self.positions.frame.in_static:
                raise QuadrantsSyntaxError(
                    f'Operator "{text}" in Quadrants scope is not supported. Write it inside `qd.static`.'
                )
            same = left is right
            return same if isinstance(op, ast.Is) else not same
        if not self.positions.frame.in_static or is_runtime(left) or is_runtime(right):
            raise QuadrantsSyntaxError(f'"{text}" is only supported inside `qd.static`.')
        return (left in right) if isinstance(op, ast.In) else (left not in right)

    def eval_IfExp(self, node):
        if self.is_static_call(node.test):
            return self.eval(node.body if self.static_truth(node.test) else node.orelse)
        cond = self.eval(node.test)
        if self.positions.frame.in_static and not is_runtime(cond):
            return self.eval(node.body if cond else node.orelse)
        if isinstance(cond, Value) and cond.is_tensor:
            raise QuadrantsSyntaxError(
                "A conditional expression needs a scalar condition; use `qd.select` for vectors and matrices."
            )
        test = typed.condition(cond, "if")
        first, second = [], []
        with self.flow.runtime_control():
            with self.writer.in_block(first, fresh_names=False):
                a = self.eval(node.body)
            with self.writer.in_block(second, fresh_names=False):
                b = self.eval(node.orelse)
        if not first and not second:
            return typed.conditional(Value(test), a, b)
        return self._effectful_choice(test, a, b, first, second)

    def _effectful_choice(self, test, a, b, first: list, second: list):
        ea, eb = typed.to_expr(a), typed.to_expr(b)
        t = typed.conditional(Value(test), Value(ea), Value(eb)).type
        result = self.writer.declare("choice", structs.zero(t))
        for block, e in ((first, ea), (second, eb)):
            saved, self.writer.block = self.writer.block, block
            self.assign_to(result, Value(e))
            self.writer.block = saved
        self.writer.emit(If(test, first, second))
        return result

    # ------------------------------------------------------------ subscripts and attributes

    def eval_Slice(self, node):
        parts = [self.eval(x) if x is not None else None for x in (node.lower, node.upper, node.step)]
        return slice(*parts)

    def eval_indices(self, node) -> tuple:
        if isinstance(node, ast.Tuple):
            return self.eval_Tuple(node)
        return (self.eval(node),)

    def eval_Subscript(self, node):
        base = self.eval(node.value)
        self.names.hint = getattr(node.value, "attr", getattr(node.value, "id", ""))
        return self.index(base, node.slice)

    def index(self, base, slice_node):
        hint = self.names.hint
        if isinstance(base, Value):
            operands = Operands(self)
            operands.add(lambda: base, by_place=True)
            operands.add(lambda: self.eval_indices(slice_node))
            base, indices = operands.values
        else:
            indices = self.eval_indices(slice_node)
        self.names.hint = hint  # of the base: arrays in the indices have names of their own
        if isinstance(base, StructCell):
            base = base.as_value()
        if isinstance(base, Value):
            if base.is_struct:
                return access.member(base, indices[0])
            return access.subscript(base, indices)
        if isinstance(base, ViewRef):
            return self.subscript_view(base, indices)
        if isinstance(base, KernelObject):
            return base.subscript(indices)
        kind = kind_of(base)
        if isinstance(base, ArrayRef) or kind in FIELD_KINDS:
            if kind == "struct_field":
                return StructCell(self, base, indices)
            return self.subscript_object(base, indices)
        if getattr(base, "_qd_host_matrix", False) and any(is_runtime(i) for i in indices):
            return access.subscript(self.writer.temp(typed.to_value(base)), indices)
        return self._host_index(base, indices)

    def _host_index(self, base, indices):
        key = indices[0] if len(indices) == 1 else indices
        obj = base.obj if isinstance(base, ObjectRef) else base
        if is_torch_tensor(obj) or is_cuda_array(obj):
            raise QuadrantsCompilationError(
                f"A {type(obj).__name__} that is not a parameter cannot be read in a kernel; pass it as an argument "
                "annotated with qd.types.ndarray()."
            )
        if isinstance(base, ObjectRef):
            raise QuadrantsCompilationError(f"An object of type {type(obj).__name__} cannot be indexed in a kernel.")
        if isinstance(base, np.ndarray) and is_runtime(key):
            raise QuadrantsCompilationError(
                "A NumPy array that is not a parameter is a compile-time constant and needs compile-time indices; pass "
                "it as an argument annotated with qd.types.ndarray() to index it at run time."
            )
        if isinstance(base, (list, tuple, dict, range, str)) and is_runtime(key):
            raise QuadrantsCompilationError(
                f"A compile-time {type(base).__name__} needs a compile-time index; make it a vector to index it at "
                "run time."
            )
        if self.purity.record is not None:
            self.purity.record.item(base)
        try:
            return base[key]
        except (KeyError, IndexError) as error:
            if isinstance(base, dict):
                raise QuadrantsCompilationError(f"KeyError: {error}") from None
            raise QuadrantsIndexError(f"index {key} is out of range") from None

    def eval_target(self, node):
        """A place to assign: a Value with a place, a StructCell, or (container, key)."""
        if isinstance(node, ast.Name):
            return self.eval(node)
        if isinstance(node, ast.Subscript):
            base = self.eval(node.value)
            if isinstance(base, (list, dict)):
                key = self.eval(node.slice)
                if is_runtime(key):
                    raise QuadrantsCompilationError("A compile-time container needs a compile-time index.")
                return (base, key)
            if isinstance(base, tuple):
                raise QuadrantsSyntaxError("The items of a tuple cannot be assigned.")
            self.names.hint = getattr(node.value, "attr", getattr(node.value, "id", ""))
            return self.index(base, node.slice)
        if isinstance(node, ast.Attribute):
            base = self.eval(node.value)
            if isinstance(base, (Value, StructCell)):
                return self.attribute(base, node.attr)
            if isinstance(base, ObjectRef):
                raise QuadrantsSyntaxError(
                    f'"{ast.unparse(node)}" is immutable in the kernel: it cannot be assigned; '
                    "keep what changes in a field or an ndarray."
                )
            raise QuadrantsSyntaxError(f'"{ast.unparse(node)}" cannot be assigned in a kernel.')
        raise QuadrantsSyntaxError(f"cannot assign to {type(node).__name__}")

    def eval_Attribute(self, node):
        base = self.eval(node.value)
        name = node.attr
        if name.startswith("__") and not name.endswith("__") and self.positions.frame.class_name:
            name = f"_{self.positions.frame.class_name.lstrip('_')}{name}"
        previous, self.positions.frame.node = self.positions.frame.node, node
        result = self.attribute(base, name)
        self.positions.frame.node = previous
        return result

    def attribute(self, base, name: str):
        if isinstance(base, Value):
            return access.attribute(base, name)
        if isinstance(base, StructCell):
            return base.attribute(name)
        if isinstance(base, ArrayRef):
            return self.array_attribute(base, name)
        if isinstance(base, ViewRef):
            return self.view_attribute(base, name)
        if isinstance(base, ObjectRef):
            return self.object_attribute(base, name)
        if kind_of(base) in FIELD_KINDS:
            return self.field_attribute(base, name)
        if getattr(base, "_qd_host_matrix", False):
            return self.host_matrix_attribute(base, name)
        try:
            value = getattr(base, name)
        except AttributeError as error:
            raise QuadrantsCompilationError(f"AttributeError: {error}") from None
        self.purity.note_attribute(base, name, value)
        return self.captured(value, name)

    def eval_JoinedStr(self, node):
        return self.format_string(node)

    def eval_Starred(self, node):
        raise QuadrantsSyntaxError("Starred expressions are only supported in call arguments.")


def _not_handed_over(node) -> str:
    return (
        f"The ndarray or tensor `{ast.unparse(node)}` is not registered as a kernel parameter: a launch does not look "
        "into lists, tuples and dicts, nor at what functions return. Pass it as an argument, or make it a member of a "
        "@qd.data_oriented object by itself (`self.a = ...`)."
    )
