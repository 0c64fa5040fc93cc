"""Fields as declarations of the kernel, and the gradients, duals and flags that derivatives hang on them."""

from __future__ import annotations

import ast

from quadrants.errors import QuadrantsCompilationError
from quadrants.frontend.state import State
from quadrants.ir.nodes import ArrayDecl
from quadrants.ir.types import i32, tensor_type
from quadrants.lang.kinds import kind_of

WHICH = {"reverse": "grad", "forward": "dual"}
UNNAMED_STRUCT = "<Struct>."
WATCHED = ("validate", "observe")  # modes of the primal that note what it reads


class Fields:
    """Declares every field that a kernel mentions, once."""

    __slots__ = ("options", "names", "positions", "declared")

    def __init__(self, state: State) -> None:
        self.options = state.options
        self.names = state.names
        self.positions = state.positions
        self.declared = state.declared

    def field_decl(self, field, name: str = "") -> ArrayDecl:
        """The declaration of a scalar or matrix field, made once a kernel; `name` is for the text."""
        found = self.declared.fields.get(id(field))
        if found is not None:
            return found[1]
        self.check_placed(field)
        field._check_usable()
        name = self.names.array_name(name or getattr(field, "_name", "") or self.names.hint or "field")
        if kind_of(field) == "field":
            decl = _scalar_decl(field, field.cell, name)
        else:
            decl = self._matrix_decl(field, name)
        self.declared.fields[id(field)] = (field, decl)
        self.declared.add_array(decl)
        if self.options.ad_mode:
            self.field_companions(field, decl)
        return decl

    @staticmethod
    def node_decl(node) -> ArrayDecl | None:
        """What stands for the cells of a node of a tree; None where all of them are active."""
        sparse = node.tree.sparse
        found = sparse.cells_of(node) if sparse is not None else None
        if found is None:
            return None
        levels, within = found
        return ArrayDecl("cells", "field", i32, len(node.shape), tuple(node.shape), levels, within=within)

    def _matrix_decl(self, field, name: str) -> ArrayDecl:
        cells = field.cells
        shape = (field.n,) if field.ndim == 1 else (field.n, field.m)
        first = _scalar_decl(field, cells[0], name)
        first.type = tensor_type(shape, cells[0].dtype)
        if not field.interleaved:
            parts = [_scalar_decl(field, c, self.names.array_name(f"{name}_{k}")) for k, c in enumerate(cells)]
            for part in parts:
                self.declared.add_array(part)
            first.components, first.packed = tuple(parts), None
        return first

    # ------------------------------------------------------------ gradients, duals, flags

    def field_companions(self, field, decl: ArrayDecl) -> None:
        """Declare the gradient or dual of a field, where it has one, and tell the declaration of the field."""
        if self.options.ad_mode in WATCHED:
            if field._is_primal and self.is_watched(decl, field.has_grad()):
                self._field_flags(field, decl)
            return
        which = WHICH.get(self.options.ad_mode, "")
        has = getattr(field, f"has_{which}", None)
        if not field._is_primal or has is None or not has():
            return
        companion = getattr(field, which)
        found = self.field_decl(companion, f"{decl.name}_{which}")
        setattr(decl, which, found)
        for k, part in enumerate(decl.components or ()):
            whole = found.components
            setattr(part, which, whole[k] if whole else self._component_of(companion, k, f"{found.name}_{k}"))

    def is_watched(self, decl: ArrayDecl, has_grad: bool) -> bool:
        """Whether an array gets flags: the rule holds for all with gradients, and for what derivatives read."""
        decl.needed = self.options.needed.has(decl)
        for part in decl.components or ():
            part.needed = decl.needed
        return decl.needed or has_grad and self.options.ad_mode == "validate"

    def _field_flags(self, field, decl: ArrayDecl) -> None:
        flags = field._flags
        flags._name = field._name or decl.label  # what messages of the tape call it
        decl.flags = self.field_decl(flags, f"{decl.name}_flags")
        for k, part in enumerate(decl.components or ()):
            part.flags = self._component_of(flags, k, f"{decl.flags.name}_{k}")

    def _component_of(self, field, k: int, name: str) -> ArrayDecl:
        """One component of a matrix field as an array of numbers."""
        made = _scalar_decl(field, field.cells[k], self.names.array_name(name))
        self.declared.add_array(made)
        return made

    def check_placed(self, field) -> None:
        """QuadrantsCompilationError for a gradient or dual without memory."""
        if not field._is_primal and not field._is_placed():
            name = field._name
            if name.startswith("."):  # of a field without a name: what the user writes
                node = getattr(self.positions.frame.node, "value", None)
                name = ast.unparse(node) if isinstance(node, ast.Attribute) else f"x{name}"
            which = "needs_dual" if name.endswith("dual") else "needs_grad"
            raise QuadrantsCompilationError(
                f"Gradient {name} has not been placed, check whether `{which}=True` was given to its field, or place "
                "it with qd.root.lazy_grad()."
            )


def _levels(cell, size: int):
    return tuple((axis, extent, divisor, stride // size) for axis, extent, divisor, stride in cell.levels)


def _scalar_decl(field, cell, name: str) -> ArrayDecl:
    return ArrayDecl(
        name=name,
        kind="field",
        type=cell.dtype,
        ndim=len(cell.shape),
        shape=tuple(cell.shape),
        levels=_levels(cell, (cell.packing.word if cell.packing is not None else cell.dtype).size),
        index_offset=tuple(cell.index_offset) if cell.index_offset and any(cell.index_offset) else None,
        source=cell,
        label=_label(field, name),
        packed=cell.packing,
        within=cell.within,
    )


def _label(field, name: str) -> str:
    """What messages call it: a member of structs without a name as the user writes it, others as the text does."""
    own = getattr(field, "_name", None) or ""
    return own.removeprefix(UNNAMED_STRUCT) if own.startswith(UNNAMED_STRUCT) else name
