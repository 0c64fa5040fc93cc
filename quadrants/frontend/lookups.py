"""Names, attributes and subscripts: what an expression finds."""

from __future__ import annotations

import ast

import numpy as np

from quadrants import spelling
from quadrants.errors import QuadrantsCompilationError, QuadrantsIndexError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend.arguments import Arguments
from quadrants.frontend.evaluation import Evaluation
from quadrants.frontend.memory import Memory
from quadrants.frontend.order import Operands
from quadrants.frontend.refs import ArrayRef, ObjectRef, SuperRef
from quadrants.frontend.source import mangled
from quadrants.frontend.sparse import ListCell, Sparse, list_cell
from quadrants.frontend.state import State
from quadrants.frontend.structcell import StructCell, is_runtime
from quadrants.frontend.views import ViewRef, Views
from quadrants.frontend.walker import HANDED_OVER, Walker
from quadrants.lang import access, typed
from quadrants.lang.described import type_name
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.kinds import FIELD_KINDS, is_external, kind_of, unwrapped
from quadrants.lang.value import Value


class Lookups:
    """Reads names, attributes and items, and finds the places that assignments store to."""

    __slots__ = (
        "options", "names", "positions", "writer", "purity", "walker", "evaluation", "memory", "views",
        "arguments", "sparse",
    )  # fmt: skip

    def __init__(
        self,
        state: State,
        walker: Walker,
        evaluation: Evaluation,
        memory: Memory,
        views: Views,
        arguments: Arguments,
        sparse: Sparse,
    ) -> None:
        self.options = state.options
        self.names = state.names
        self.positions = state.positions
        self.writer = state.writer
        self.purity = state.purity
        self.walker = walker
        self.evaluation = evaluation
        self.memory = memory
        self.views = views
        self.arguments = arguments
        self.sparse = sparse

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
        if kind_of(unwrapped(value)) in FIELD_KINDS:
            return unwrapped(value)
        if kind_of(value) in HANDED_OVER:
            raise QuadrantsCompilationError(
                f"The ndarray or tensor '{name}' is not registered as a kernel parameter: pass it as an argument."
            )
        return value

    # ------------------------------------------------------------ subscripts

    def eval_Slice(self, node):
        parts = [self.walker.eval(x) if x is not None else None for x in (node.lower, node.upper, node.step)]
        return slice(*parts)

    def eval_indices(self, node) -> tuple:
        if isinstance(node, ast.Tuple):
            return self.evaluation.eval_Tuple(node)
        return (self.walker.eval(node),)

    def eval_Subscript(self, node):
        base = self.walker.eval(node.value)
        self.names.hint = getattr(node.value, "attr", getattr(node.value, "id", ""))
        return self.index(base, node.slice)

    def index(self, base, slice_node):
        hint = self.names.hint
        if isinstance(base, Value):
            operands = Operands(self.writer)
            operands.add(lambda: base, by_place=True)
            operands.add(lambda: self.eval_indices(slice_node))
            base, indices = operands.values
        else:
            indices = self.eval_indices(slice_node)
        self.names.hint = hint  # of the base: arrays in the indices have names of their own
        if isinstance(base, StructCell):
            base = base.as_value()
        if isinstance(base, Value):
            if base.is_struct and not isinstance(indices[0], str):
                raise QuadrantsTypeError("A struct has no items: write `value.member`, with the name of a member.")
            if base.is_struct:
                return access.member(base, indices[0])
            return access.subscript(base, indices)
        if isinstance(base, ViewRef):
            return self.views.subscript_view(base, indices)
        if isinstance(base, KernelObject):
            return base.subscript(indices)
        kind = kind_of(base)
        if isinstance(base, ArrayRef) or kind in FIELD_KINDS:
            cell = list_cell(self.sparse, base, indices) if kind in FIELD_KINDS else None
            if cell is not None:
                return cell
            if kind == "struct_field":
                return StructCell(self.memory, base, indices)
            return self.memory.subscript_object(base, indices)
        if getattr(base, "_qd_host_matrix", False) and any(is_runtime(i) for i in indices):
            return access.subscript(self.writer.temp(typed.to_value(base)), indices)
        return self._host_index(base, indices)

    def _host_index(self, base, indices):
        key = indices[0] if len(indices) == 1 else indices
        obj = base.obj if isinstance(base, ObjectRef) else base
        if is_external(obj) and not isinstance(obj, np.ndarray):
            what = f"{'An' if type_name(obj)[0] in 'AEIOU' else 'A'} {type_name(obj)}"
            raise QuadrantsCompilationError(
                f"{what} that is not a parameter cannot be read in a kernel; pass it as an argument annotated with "
                "qd.types.ndarray()."
            )
        if isinstance(base, ObjectRef):
            raise QuadrantsCompilationError(f"An object of type {type_name(obj)} cannot be indexed in a kernel.")
        if isinstance(base, np.ndarray) and is_runtime(key):
            raise QuadrantsCompilationError(
                "A NumPy array that is not a parameter is a compile-time constant and needs compile-time indices; pass "
                "it as an argument annotated with qd.types.ndarray() to index it at run time."
            )
        if isinstance(base, (list, tuple, dict, range, str)) and is_runtime(key):
            raise QuadrantsCompilationError(
                f"A compile-time {type_name(base)} needs a compile-time index; make it a vector to index it at "
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
            return self.walker.eval(node)
        if isinstance(node, ast.Subscript):
            base = self.walker.eval(node.value)
            if isinstance(base, (list, dict)):
                key = self.walker.eval(node.slice)
                if is_runtime(key):
                    raise QuadrantsCompilationError(
                        f"A compile-time {type_name(base)} needs a compile-time index; make it a vector to index it at "
                        "run time, or loop over qd.static(range(..))."
                    )
                return (base, key)
            if isinstance(base, tuple):
                raise QuadrantsSyntaxError(
                    "The items of a tuple cannot be assigned; make a list or a qd.Vector([...]) to assign them."
                )
            if isinstance(base, np.ndarray):
                written = ast.unparse(node.value)
                raise QuadrantsSyntaxError(
                    f"The NumPy array `{written}` is no argument of the kernel, so its elements are constants and "
                    "cannot be assigned: pass it as an argument annotated with qd.types.ndarray(), or use a field."
                )
            self.names.hint = getattr(node.value, "attr", getattr(node.value, "id", ""))
            return self.index(base, node.slice)
        if isinstance(node, ast.Attribute):
            base = self.walker.eval(node.value)
            if isinstance(base, (Value, StructCell)):
                return self.attribute(base, node.attr)
            if isinstance(base, ObjectRef):
                raise QuadrantsSyntaxError(
                    f'"{ast.unparse(node)}" is immutable in the kernel: it cannot be assigned; '
                    "keep what changes in a field or an ndarray."
                )
            raise QuadrantsSyntaxError(f'"{ast.unparse(node)}" cannot be assigned in a kernel.')
        raise QuadrantsSyntaxError(f"cannot assign to {type(node).__name__}")

    # ------------------------------------------------------------ attributes

    def eval_Attribute(self, node):
        base = self.walker.eval(node.value)
        name = mangled(node.attr, self.positions.frame.class_name)
        previous, self.positions.frame.node = self.positions.frame.node, node
        result = self.attribute(base, name)
        self.positions.frame.node = previous
        return result

    def attribute(self, base, name: str):
        if name == "deactivate" and isinstance(base, (Value, StructCell)):
            method = self.sparse.deactivation_of(base)
            if method is not None:
                return method
        if isinstance(base, Value):
            return access.attribute(base, name)
        if isinstance(base, (StructCell, ListCell)):
            return base.attribute(name)
        if isinstance(base, ArrayRef):
            return self.arguments.array_attribute(base, name)
        if isinstance(base, ViewRef):
            return self.views.view_attribute(base, name)
        if isinstance(base, ObjectRef):
            return self.arguments.object_attribute(base, name)
        if isinstance(base, SuperRef):
            return self.arguments.method_of_super(base, name)
        if kind_of(base) in FIELD_KINDS:
            return self.arguments.field_attribute(base, name)
        if getattr(base, "_qd_host_matrix", False):
            return self.arguments.host_matrix_attribute(base, name)
        try:
            value = getattr(base, name)
        except AttributeError as error:
            raise QuadrantsCompilationError(f"AttributeError: {spelling.no_attribute(error, base, name)}") from None
        self.purity.note_attribute(base, name, value)
        return self.captured(value, name)
