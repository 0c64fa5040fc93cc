"""Names of the user that an assignment binds or stores to, and the items that several names take."""

from __future__ import annotations

import ast

from quadrants.errors import QuadrantsCompilationError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend.containers import Containers
from quadrants.frontend.places import Places, immutable_error, not_assignable
from quadrants.frontend.refs import ArrayRef, ObjectRef
from quadrants.frontend.state import State
from quadrants.frontend.structcell import StructCell
from quadrants.frontend.views import ViewRef
from quadrants.ir.nodes import Const
from quadrants.ir.types import DType
from quadrants.lang import typed
from quadrants.lang.described import type_name
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.kinds import FIELD_KINDS, kind_of
from quadrants.lang.value import Value


class Assignment:
    """What `name = value` means."""

    __slots__ = ("positions", "writer", "places", "containers")

    def __init__(self, state: State, places: Places, containers: Containers) -> None:
        self.positions = state.positions
        self.writer = state.writer
        self.places = places
        self.containers = containers

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
            raise immutable_error(name)
        if found.kind == "var":
            if isinstance(value, (dict,)) and not found.value.is_struct:
                raise QuadrantsTypeError(f"cannot assign a dict to '{found.value.type}'")
            self.places.assign_to(found.value, value)
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
        raise not_assignable(name, found)

    def _new_name(self, name: str, value) -> None:
        if isinstance(value, StructCell):
            value = value.as_value()
        if isinstance(value, (list, tuple, dict)):
            self.positions.frame.bind(name, self.containers.copy_container(value, name), "container")
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

        if isinstance(value, ViewRef):
            return True
        if isinstance(value, (ObjectRef, DType)):
            if isinstance(value, ObjectRef) and value.members is not None:
                raise QuadrantsTypeError("A dataclass argument cannot be stored in a variable; use it by its own name.")
            return True
        return isinstance(value, type) or getattr(type(value), "_qd_data_oriented", False) or kind_of(value) == "view"

    def snapshot(self, value):
        """A copy of a run-time value that later writes cannot change; containers copy their items."""
        if isinstance(value, StructCell):
            return self.writer.temp(value.as_value())
        if isinstance(value, Value) and not isinstance(value.expr, Const):
            return self.writer.temp(value)
        if isinstance(value, KernelObject):
            return value.snapshot()
        if type(value) in (list, tuple):
            return type(value)([self.snapshot(v) for v in value])
        return value

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
        raise QuadrantsSyntaxError(f"Cannot unpack type: {type_name(value)}")

    def target_names(self, target) -> list:
        """[(name, is part of a tuple)]"""
        if isinstance(target, ast.Name):
            return [(target.id, False)]
        items = target.elts if isinstance(target, ast.Tuple) else [None]
        if any(not isinstance(e, ast.Name) for e in items):
            raise QuadrantsSyntaxError(
                "Loop targets must be names. Take apart what is inside in the body: `for i, pair in ..:`, and there "
                "`u, v = pair`."
            )
        return [(e.id, True) for e in items if isinstance(e, ast.Name)]

    def bind_static_targets(self, targets, item) -> None:
        if len(targets) == 1 and not targets[0][1]:
            self.positions.frame.bind(targets[0][0], item, "static")
            return
        values = list(item) if isinstance(item, (tuple, list)) or isinstance(item, Value) else None
        if values is None or len(values) != len(targets):
            raise QuadrantsSyntaxError("The number of targets is not equal to the number of values per iteration")
        for (name, _), value in zip(targets, values):
            self.positions.frame.bind(name, value, "static")
