"""Statements of the Python subset, except loops."""

from __future__ import annotations

import ast

from quadrants.errors import QuadrantsCompilationError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend.order import Operands
from quadrants.frontend.refs import ArrayRef, ObjectRef
from quadrants.frontend.structcell import StructCell
from quadrants.frontend.views import ViewRef
from quadrants.ir.nodes import Cell, Const, ElemPlace, If, Load, MemberPlace
from quadrants.lang import typed
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.kinds import FIELD_KINDS, kind_of
from quadrants.lang.value import Value

ATOMIC_AUGMENTED = {"add": "add", "sub": "sub", "bit_and": "and", "bit_or": "or", "bit_xor": "xor"}

BINARY_NODES = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.BitAnd: "bit_and", ast.BitOr: "bit_or", ast.BitXor: "bit_xor", ast.LShift: "shl",
    ast.RShift: "shr",
}  # fmt: skip


class Statements:
    """Part of the tracer."""

    def immutable_error(self, name: str) -> QuadrantsSyntaxError:
        return QuadrantsSyntaxError(
            f'Kernel argument "{name}" is immutable in the kernel. If you want to change its value, '
            "please create a new variable."
        )

    def exec_body(self, body: list) -> None:
        for node in body:
            if self.positions.frame.returned:
                return
            self.exec(node)

    def exec(self, node) -> None:
        frame = self.positions.frame
        previous, frame.node = frame.node, node
        method = getattr(self, "exec_" + type(node).__name__, None)
        if method is None:
            raise QuadrantsSyntaxError(f'Unsupported node "{type(node).__name__}"')
        method(node)
        frame.node = previous

    def exec_Pass(self, node) -> None:
        pass

    def exec_Expr(self, node) -> None:
        if isinstance(node.value, ast.Constant):
            return
        if isinstance(node.value, ast.Call):
            self.eval_Call(node.value)
        else:
            self.eval(node.value)

    def exec_FunctionDef(self, node) -> None:
        where = {"kernel": "kernel", "real": "real_func"}.get(self.positions.frame.kind, "func")
        raise QuadrantsSyntaxError(
            f"Function definition is not allowed in 'qd.{where}'. Define it outside and decorate it with @qd.func."
        )

    # ------------------------------------------------------------ assignment

    def exec_Assign(self, node) -> None:
        if len(node.targets) == 1 and self._assign_pairwise(node.targets[0], node.value):
            return
        static = self.is_static_call(node.value)
        self.names.assigning = node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""
        value = self.eval(node.value)
        self.names.assigning = ""
        if len(node.targets) > 1 and isinstance(value, Value):
            value = self.writer.temp(value)
        for target in node.targets:
            self.assign_target(target, value, static)

    def _assign_pairwise(self, target, value) -> bool:
        """`a, b = b, a`: every right side is read before the first write."""
        if not (isinstance(target, ast.Tuple) and isinstance(value, (ast.Tuple, ast.List))):
            return False
        if any(isinstance(e, ast.Starred) for e in value.elts):
            return False
        self._check_targets(target)
        if len(target.elts) != len(value.elts):
            raise QuadrantsSyntaxError("The number of targets is not equal to value length")
        values = [self.snapshot(v) for v in self.eval_each(value.elts)]
        for t, v, e in zip(target.elts, values, value.elts):
            self.assign_target(t, v, self.is_static_call(e))
        return True

    def snapshot(self, value):
        """A copy of a run-time value that later writes cannot change; containers copy their items."""
        if isinstance(value, StructCell):
            return self.writer.temp(value.as_value())
        if isinstance(value, Value) and not isinstance(value.expr, Const):
            return self.writer.temp(value)
        if type(value) in (list, tuple):
            return type(value)([self.snapshot(v) for v in value])
        return value

    def assign_target(self, target, value, static: bool = False) -> None:
        frame = self.positions.frame
        previous, frame.node = frame.node, target if isinstance(target, ast.AST) else frame.node
        if isinstance(target, ast.Name):
            frame.node = previous
            self.assign_name(target.id, value, static)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value, static)
        elif isinstance(target, ast.Starred):
            raise QuadrantsSyntaxError("Starred targets are not supported.")
        else:
            if static:
                raise QuadrantsSyntaxError("Only names can be bound to qd.static(...) values.")
            self.assign_place(target, value)
        frame.node = previous

    def _unpack(self, target, value, static: bool) -> None:
        self._check_targets(target)
        items = self.unpackable(value)
        if len(items) != len(target.elts):
            raise QuadrantsSyntaxError("The number of targets is not equal to value length")
        for t, item in zip(target.elts, [self.snapshot(i) for i in items]):
            self.assign_target(t, item, static)

    @staticmethod
    def _check_targets(target) -> None:
        names = isinstance(target, ast.Tuple)
        if not names or any(not isinstance(t, (ast.Name, ast.Subscript, ast.Attribute)) for t in target.elts):
            raise QuadrantsSyntaxError("Nested, list or starred targets are not supported.")

    def unpackable(self, value) -> list:
        if isinstance(value, (list, tuple)):
            return list(value)
        if isinstance(value, StructCell):
            value = value.as_value()
        if isinstance(value, Value):
            if value.is_scalar:
                raise QuadrantsSyntaxError(f"Cannot unpack type: {value.type}")
            if len(value.shape) == 2 and value.shape[1] > 1:
                raise QuadrantsCompilationError("Matrices with more than one columns cannot be unpacked")
            return list(value)
        if getattr(value, "_qd_host_matrix", False):
            return list(value.to_list())
        raise QuadrantsSyntaxError(f"Cannot unpack type: {type(value).__name__}")

    def assign_name(self, name: str, value, static: bool = False) -> None:
        if name.startswith("__qd_"):
            raise QuadrantsSyntaxError(f'The name "{name}" is reserved; names must not start with __qd_')
        found = self.positions.frame.lookup_local(name)
        if static:
            if found is not None:
                raise QuadrantsSyntaxError("Recreating variables is not allowed")
            self.positions.frame.bind(name, value, "static")
            return
        if found is None:
            self._new_name(name, value)
            return
        if found.kind == "argument":
            raise self.immutable_error(name)
        if found.kind == "var":
            if isinstance(value, (dict,)) and not found.value.is_struct:
                raise QuadrantsTypeError(f"cannot assign a dict to '{found.value.type}'")
            self.assign_to(found.value, value)
            return
        if isinstance(found.value, ViewRef) and isinstance(value, ViewRef) and name in self.positions.frame.scopes[-1]:
            self.positions.frame.bind(name, value, "object")
            return
        if isinstance(found.value, KernelObject):
            innermost = name in self.positions.frame.scopes[-1]
            renewed = found.value.rebound(value, innermost)
            if renewed is not found.value:
                self.positions.frame.bind(name, renewed, "object")
            return
        if found.kind == "target":
            raise QuadrantsSyntaxError(f'The loop variable "{name}" cannot be assigned; copy it to another name first.')
        raise QuadrantsSyntaxError(f'Variable "{name}" cannot be assigned: it is a compile-time name or a container.')

    def _new_name(self, name: str, value) -> None:
        if isinstance(value, StructCell):
            value = value.as_value()
        if isinstance(value, (list, tuple, dict)):
            self.positions.frame.bind(name, self.copy_container(value, name), "container")
            return
        if value is None:
            raise QuadrantsSyntaxError(f'"{name} = None" is not supported: a variable needs a value with a type.')
        if isinstance(value, KernelObject):
            self.positions.frame.bind(name, value.named(name), "object")
            return
        if self.is_reference(value):
            self.positions.frame.bind(name, value, "object")
            return
        if kind_of(value) in FIELD_KINDS or isinstance(value, ArrayRef):
            raise QuadrantsTypeError(
                "Invalid constant scalar data type: a field or array cannot be stored in a variable; "
                f"write `{name} = qd.static(...)` to give it another name."
            )
        expr = typed.to_expr(value)
        self.positions.frame.bind(name, self.writer.named(expr, name), "var")

    def is_reference(self, value) -> bool:
        """Objects that a plain assignment aliases: data-oriented objects, classes, dtypes, buffer views."""
        from quadrants.ir.types import DType

        if isinstance(value, ViewRef):
            return True
        if isinstance(value, (ObjectRef, DType)):
            if isinstance(value, ObjectRef) and value.members is not None:
                raise QuadrantsTypeError("A dataclass argument cannot be stored in a variable; use it by its own name.")
            return True
        return isinstance(value, type) or getattr(type(value), "_qd_data_oriented", False) or kind_of(value) == "view"

    def assign_place(self, target, value) -> None:
        operands = Operands(self)
        operands.add(lambda: value)
        operands.add(lambda: self.eval_target(target), by_place=True)
        value, place = operands.values
        if isinstance(place, tuple):  # an item of a compile-time container
            container, key = place
            self.assign_to(self.assignable_item(container, key, target), value)
            return
        self.assign_to(place, value)

    def exec_AnnAssign(self, node) -> None:
        if not isinstance(node.target, ast.Name):
            raise QuadrantsSyntaxError("Only names can be declared with a type.")
        if node.value is None:
            raise QuadrantsSyntaxError("A declaration needs a value: write `x: T = value`.")
        t = self.options.resolve_type(self.eval(node.annotation))
        name = node.target.id
        value = typed.to_expr(self.eval(node.value))
        found = self.positions.frame.lookup_local(name)
        if found is not None:
            if found.kind == "argument":
                raise self.immutable_error(name)
            if found.kind != "var" or found.value.type != t:
                raise QuadrantsSyntaxError(
                    f'"{name}" is already declared in this scope with another type; an annotation must repeat it '
                    "exactly."
                )
            self.assign_to(found.value, Value(value))
            return
        self.positions.frame.bind(name, self.writer.named(typed.convert_expr(value, t), name), "var")

    def exec_AugAssign(self, node) -> None:
        op = BINARY_NODES.get(type(node.op))
        if op is None:
            raise QuadrantsSyntaxError("`@=` is not supported; write `a = a @ b`.")
        operands = Operands(self)
        if isinstance(node.target, ast.Name):
            operands.add(lambda: self._augmented_name(node.target.id))
        else:
            operands.add(lambda: self.eval_target(node.target))
        operands.add(lambda: self.eval(node.value))
        target, value = operands.values
        if isinstance(target, tuple):
            target = self.assignable_item(*target, node.target)
        self.augment(target, op, value)

    def _augmented_name(self, name: str):
        found = self.positions.frame.lookup_local(name)
        if found is None:
            self.positions.frame.lookup_outer(name)
            raise QuadrantsSyntaxError(f'"{name}" is a global name; it cannot be changed in a kernel.')
        if found.kind == "argument":
            raise self.immutable_error(name)
        if found.kind != "var" and not isinstance(found.value, KernelObject):
            raise QuadrantsSyntaxError(f'Variable "{name}" cannot be assigned.')
        return found.value

    def augment(self, target, op: str, value) -> None:
        """`target op= value`: atomic for + - & | ^ on memory and on variables shared by a parallel loop."""
        if isinstance(target, KernelObject):
            target.augment(op, value)
            return
        if not isinstance(target, Value) or (target.place is None and not hasattr(target, "targets")):
            raise QuadrantsSyntaxError("cannot use a non-writable target as the first operand of an assignment")
        if target.immutable:
            raise self.immutable_error(target.immutable)
        if hasattr(target, "targets"):
            self._augment_slice(target, op, value)
            return
        atomic = ATOMIC_AUGMENTED.get(op)
        if atomic is not None and not self.writer.is_local_place(target.place):
            self.atomic(atomic, target, value, augmented=op)
            return
        if atomic is not None:
            value = Value(self.convert_for(self._check_augment(target, op, value), target.type))
        held = self.stable_target(target)
        self.assign_to(held, typed.binary(op, held, value))

    def _check_augment(self, target, op, value):
        typed.binary(op, target, value)
        return value

    def _augment_slice(self, target, op: str, value) -> None:
        v = typed.to_value(value)
        held = self.writer.temp(v)
        shape = target.shape
        for k, part in enumerate([self.stable_target(t) for t in target.targets]):
            if v.is_tensor:
                item = held[k] if len(shape) == 1 else held[k // shape[1], k % shape[1]]
            else:
                item = held
            self.augment(part, op, item)

    def stable_target(self, target: Value) -> Value:
        """The same place with its index expressions evaluated once."""
        place = self._stable_place(target.place)
        if place is target.place:
            return target
        read_before = not (isinstance(target.expr, Load) and target.expr.place is target.place)
        return Value(target.expr if read_before else Load(place, place.type), place, target.immutable)

    def _stable_place(self, place):
        if isinstance(place, MemberPlace):
            base = self._stable_place(place.base)
            return place if base is place.base else MemberPlace(base, place.name, place.type)
        if not isinstance(place, (Cell, ElemPlace)):
            return place
        base = self._stable_place(place.base) if isinstance(place, ElemPlace) else None
        indices = tuple(self.writer.temp(Value(e)).expr for e in place.indices)
        if indices == place.indices and base is getattr(place, "base", None):
            return place
        if isinstance(place, Cell):
            return Cell(place.array, indices, place.type)
        return ElemPlace(base, indices, place.type)

    # ------------------------------------------------------------ if, assert, return, delete

    def exec_If(self, node) -> None:
        if self.is_static_call(node.test):
            taken = self.static_truth(node.test)
            with self.positions.frame.static_scope():
                self.exec_body(node.body if taken else node.orelse)
            return
        cond = typed.condition(self.eval(node.test), "if")
        then, orelse = [], []
        with self.flow.runtime_control():
            with self.writer.in_block(then):
                self.exec_body(node.body)
            with self.writer.in_block(orelse):
                self.exec_body(node.orelse)
        self.writer.emit(If(cond, then, orelse))

    def exec_Return(self, node) -> None:
        frame = self.positions.frame
        if frame.kind == "real":
            self.return_from_real(self.eval(node.value) if node.value is not None else None)
            return
        if frame.control_depth:
            raise QuadrantsSyntaxError(
                "Return inside non-static if/for is not supported: assign the result to a variable and return it "
                "at the end."
            )
        value = self.eval(node.value) if node.value is not None else None
        frame.result = self.finish_return(value) if frame.kind == "kernel" else value
        frame.returned_by = node
        frame.returned = True

    def exec_Assert(self, node) -> None:
        self.trace_assert(node)


class OldValue:
    """The old content returned by an atomic; declared as a variable at its first use."""

    __slots__ = ("tracer", "block", "stmt", "node", "value")

    def __init__(self, tracer, block, stmt, node):
        self.tracer, self.block, self.stmt, self.node, self.value = tracer, block, stmt, node, None

    def as_value(self) -> Value:
        if self.value is None:
            from quadrants.ir.nodes import Declare

            var = self.tracer.writer.new_var("old", self.node.type, mutable=False)
            at = next(i for i, s in enumerate(self.block) if s is self.stmt)
            self.block[at] = Declare(var, self.node, self.stmt.loc)
            self.value = self.tracer.writer.variable(var)
        return self.value


class LazyTensor:
    """A tensor of old values, built only if used."""

    __slots__ = ("build", "value")

    def __init__(self, build):
        self.build, self.value = build, None

    def as_value(self) -> Value:
        if self.value is None:
            self.value = self.build()
        return self.value
