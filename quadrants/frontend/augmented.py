"""`x += y` and its like."""

from __future__ import annotations

import ast

from quadrants.errors import QuadrantsSyntaxError
from quadrants.frontend.atomics import Atomics
from quadrants.frontend.containers import Containers
from quadrants.frontend.lookups import Lookups
from quadrants.frontend.operators import BINARY_NODES
from quadrants.frontend.order import Operands
from quadrants.frontend.places import Places, immutable_error, not_assignable
from quadrants.frontend.state import State
from quadrants.frontend.structcell import StructCell
from quadrants.frontend.walker import Walker
from quadrants.ir.types import StructType
from quadrants.lang import typed
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.value import Value

ATOMIC_AUGMENTED = {"add": "add", "sub": "sub", "bit_and": "and", "bit_or": "or", "bit_xor": "xor"}


def _no_target(target) -> str:
    """What is wrong with the left side of an augmented assignment."""
    if isinstance(target, StructCell) or isinstance(target, Value) and isinstance(target.type, StructType):
        return "structs have no augmented assignments: change their members, as in `s.x += t.x`"
    return (
        "cannot use a non-writable target as the first operand of an assignment: an expression is no variable, so give "
        "it a name first, `x = ..`"
    )


class Augmented:
    """Augmented assignments: atomic on memory and on variables that threads share."""

    __slots__ = ("positions", "writer", "walker", "places", "atomics", "containers", "lookups")

    def __init__(
        self, state: State, walker: Walker, places: Places, atomics: Atomics, containers: Containers, lookups: Lookups
    ) -> None:
        self.positions = state.positions
        self.writer = state.writer
        self.walker = walker
        self.places = places
        self.atomics = atomics
        self.containers = containers
        self.lookups = lookups

    def exec_AugAssign(self, node) -> None:
        op = BINARY_NODES.get(type(node.op))
        if op is None:
            raise QuadrantsSyntaxError("`@=` is not supported; write `a = a @ b`.")
        operands = Operands(self.writer)
        if isinstance(node.target, ast.Name):
            operands.add(lambda: self._augmented_name(node.target.id))
        else:
            operands.add(lambda: self.lookups.eval_target(node.target))
        operands.add(lambda: self.walker.eval(node.value))
        target, value = operands.values
        if isinstance(target, tuple):
            container, key = target
            target = self.containers.assignable_item(container, key, node.target)
        self.augment(target, op, value)

    def _augmented_name(self, name: str):
        found = self.positions.frame.lookup_local(name)
        if found is None:
            self.positions.frame.lookup_outer(name)
            raise QuadrantsSyntaxError(
                f'"{name}" is a global name; it cannot be changed in a kernel. Of a field, write to its cells: '
                f"`{name}[None]`, `{name}[i]`."
            )
        if found.kind == "argument":
            raise immutable_error(name)
        if found.kind != "var" and not isinstance(found.value, KernelObject):
            raise not_assignable(name, found)
        return found.value

    def augment(self, target, op: str, value) -> None:
        """`target op= value`: atomic for + - & | ^ on memory and on variables shared by a parallel loop."""
        if isinstance(target, KernelObject):
            target.augment(op, value)
            return
        if not isinstance(target, Value) or (target.place is None and not hasattr(target, "targets")):
            raise QuadrantsSyntaxError(_no_target(target))
        if target.immutable:
            raise immutable_error(target.immutable)
        if hasattr(target, "targets"):
            self._augment_slice(target, op, value)
            return
        atomic = ATOMIC_AUGMENTED.get(op)
        if atomic is not None and not self.writer.is_local_place(target.place):
            self.atomics.atomic(atomic, target, value, augmented=op)
            return
        if atomic is not None:
            value = Value(self.places.convert_for(self._check_augment(target, op, value), target.type))
        held = self.places.stable_target(target)
        self.places.assign_to(held, typed.binary(op, held, value))

    def _check_augment(self, target, op, value):
        typed.binary(op, target, value)
        return value

    def _augment_slice(self, target, op: str, value) -> None:
        v = typed.to_value(value)
        held = self.writer.temp(v)
        shape = target.shape
        for k, part in enumerate([self.places.stable_target(t) for t in target.targets]):
            if v.is_tensor:
                item = held[k] if len(shape) == 1 else held[k // shape[1], k % shape[1]]
            else:
                item = held
            self.augment(part, op, item)
