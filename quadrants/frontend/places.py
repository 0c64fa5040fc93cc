"""Assignment to places: variables, cells, components, slices and cells of struct fields."""

from __future__ import annotations

import ast

from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend.frame import Binding
from quadrants.frontend.state import State
from quadrants.frontend.structcell import StructCell
from quadrants.ir import walk
from quadrants.ir.nodes import Cell, Const, ElemPlace, Load, MemberPlace, Store, Var
from quadrants.ir.types import StructType
from quadrants.lang import access, typed
from quadrants.lang.described import type_name
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.value import Value

NO_PLACE = "cannot assign to this expression: it is not a variable or an element. Give its value a name first."


def immutable_error(name: str) -> QuadrantsSyntaxError:
    """What an assignment to the parameter `name` of a kernel raises."""
    return QuadrantsSyntaxError(
        f'Kernel argument "{name}" is immutable in the kernel. If you want to change its value, '
        "please create a new variable."
    )


def not_assignable(name: str, found: Binding) -> QuadrantsSyntaxError:
    """What an assignment to a name raises that is neither a run-time variable nor a parameter of the kernel."""
    if found.kind == "target":
        return QuadrantsSyntaxError(f'The loop variable "{name}" cannot be assigned; copy it to another name first.')
    told = f'Variable "{name}" cannot be assigned: '
    if found.kind == "static":
        return QuadrantsSyntaxError(
            f"{told}qd.static bound it to what is known while the kernel is compiled. Give the new value another name."
        )
    if found.kind == "container":
        return QuadrantsSyntaxError(
            f"{told}it is a {type_name(found.value)}, which is made while the kernel is compiled. Assign its items, "
            "give the new value another name, or make it a qd.Vector([...])."
        )
    return QuadrantsSyntaxError(f"{told}it is a compile-time name. Give the new value another name.")


def fixed(var: Var) -> QuadrantsSyntaxError:
    """What an assignment to a variable raises that has one value: the counter of a loop, the value of an expression."""
    if var.temporary:
        return QuadrantsSyntaxError(NO_PLACE)
    return QuadrantsSyntaxError(f"'{var.name}' cannot be assigned; copy it to another name first.")


def refuse_nothing(node: ast.AST | None) -> None:
    """QuadrantsSyntaxError where `node`, whose value is None and is wanted, is a call: of what returns nothing."""
    if isinstance(node, ast.Call):
        raise QuadrantsSyntaxError(
            f"`{ast.unparse(node.func)}` returns nothing, so there is no value to use: end it with `return ...`, or "
            f"call it on a line by itself, `{ast.unparse(node)}`."
        )


class Places:
    """Stores values, converted to what the place holds."""

    __slots__ = ("reports", "writer")

    def __init__(self, state: State) -> None:
        self.reports = state.reports
        self.writer = state.writer

    def assign_to(self, target, value) -> None:
        """Store `value` to a place: a variable, cell, component, slice or struct cell."""
        if isinstance(target, StructCell):
            self._assign_struct_cell(target, value)
            return
        if isinstance(target, KernelObject):
            target.assign(value)
            return
        if isinstance(target, Value) and target.immutable:
            raise immutable_error(target.immutable)
        targets = getattr(target, "targets", None)
        if targets is not None:
            self._assign_slice(target, targets, value)
            return
        if not isinstance(target, Value) or target.place is None:
            raise QuadrantsSyntaxError(NO_PLACE)
        t = target.type
        expr = self.convert_for(value, t)
        place = target.place
        if (var := walk.fixed_var(place)) is not None:
            raise fixed(var)
        if isinstance(place, Cell) and place.array.components is not None:
            held = self.writer.temp(Value(expr))
            for k, part in enumerate(self.component_places(place)):
                element = held[k] if len(t.shape) == 1 else held[k // t.shape[1], k % t.shape[1]]
                self._store(part, element.expr)
            return
        self._store(place, expr)

    def _store(self, place, expr) -> None:
        self.writer.emit(Store(place, expr))

    def convert_for(self, value, t):
        from quadrants.lang import structs

        if isinstance(t, StructType) and isinstance(value, dict):
            return structs.construct(t, (), value).expr
        e = typed.to_expr(value)
        converted = typed.convert_expr(e, t)
        self._note_loss(e, t)
        return converted

    def _note_loss(self, e, t) -> None:
        """Log an assignment that drops digits; literals that the target holds exactly are silent."""
        if isinstance(t, StructType) or (isinstance(e, Const) and float(e.value).is_integer()):
            return
        have, want = typed.element_dtype(e.type), typed.element_dtype(t)
        narrower = have.is_real == want.is_real and have.bits > want.bits
        if want.kind != "b" and (have.is_real and not want.is_real or narrower):
            self.reports.log_once(f"Assign may lose precision: {want} <- {have}")

    def component_places(self, place) -> list:
        """The places of a cell whose components live in separate arrays."""
        indices = tuple(self.writer.temp(Value(e)).expr for e in place.indices)
        return [Cell(part, indices, part.type) for part in place.array.components]

    def component_targets(self, target: Value) -> list:
        place = target.place
        if isinstance(place, Cell) and place.array.components is not None:
            return self.component_places(place)
        shape = target.type.shape
        if len(shape) == 1:
            return [target[i].place for i in range(shape[0])]
        return [target[i, j].place for i in range(shape[0]) for j in range(shape[1])]

    def _assign_slice(self, target, targets, value) -> None:
        held = self.writer.temp(Value(typed.convert_expr(typed.to_expr(value), target.type)))
        shape = target.shape
        for k, part in enumerate([self.stable_target(t) for t in targets]):
            self.assign_to(part, held[k] if len(shape) == 1 else held[k // shape[1], k % shape[1]])

    def _assign_struct_cell(self, target: StructCell, value) -> None:
        if isinstance(value, dict):
            items = value
        else:
            v = value.as_value() if isinstance(value, StructCell) else typed.to_value(value)
            if not v.is_struct:
                raise QuadrantsTypeError(f"cannot assign '{v.type}' to a struct")
            if [k for k, _ in v.type.members] != target.keys:
                raise QuadrantsTypeError(
                    f"Member mismatch between structs: {target.keys} and {[k for k, _ in v.type.members]}"
                )
            held = self.writer.temp(v)
            items = {k: access.member(held, k) for k in target.keys}
        for key, item in items.items():
            self.assign_to(target.member(key), item)

    # ------------------------------------------------------------ places that are evaluated once

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
        if isinstance(place, Cell):
            indices = self._held(place.indices)
            return place if indices == place.indices else Cell(place.array, indices, place.type)
        base = self._stable_place(place.base)
        indices = self._held(place.indices)
        return place if indices == place.indices and base is place.base else ElemPlace(base, indices, place.type)

    def _held(self, indices: tuple) -> tuple:
        return tuple(self.writer.temp(Value(e)).expr for e in indices)
