"""Gradients and duals of the arrays of a kernel that is differentiated."""

from __future__ import annotations

from quadrants.frontend import memory
from quadrants.ir.nodes import ArrayDecl

WHICH = {"reverse": "grad", "forward": "dual"}


class Companions:
    """Part of the tracer."""

    def field_companions(self, field, decl: ArrayDecl) -> None:
        """Declare the gradient or dual of a field, where it has one, and tell the declaration of the field."""
        which = WHICH.get(self.ad_mode, "")
        has = getattr(field, f"has_{which}", None)
        if not field._is_primal or has is None or not has():
            return
        companion = getattr(field, which)
        found = self.field_decl(companion, f"{decl.name}_{which}")
        setattr(decl, which, found)
        for k, part in enumerate(decl.components or ()):
            whole = found.components
            setattr(part, which, whole[k] if whole else self._component_of(companion, k, f"{found.name}_{k}"))

    def _component_of(self, field, k: int, name: str) -> ArrayDecl:
        """One component of a matrix field as an array of numbers."""
        made = memory._scalar_decl(field, field.cells[k], self.array_name(name))
        self.add_array(made)
        return made
