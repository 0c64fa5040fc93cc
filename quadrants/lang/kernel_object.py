"""Objects that exist while a kernel is traced and give meaning of their own to `x[i]`, assignment and `op=`.

Shared arrays and register tiles are such objects: Python scope makes and sees none of them.
"""

from __future__ import annotations

from typing import Any

from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError


class KernelObject:
    """What the frontend asks of such an object. `what` names its kind in messages."""

    what = "object"

    def subscript(self, indices: tuple) -> Any:
        """`self[indices]`, as a value or as the target of an assignment."""
        raise QuadrantsTypeError(f"A {self.what} cannot be indexed.")

    def named(self, name: str) -> KernelObject:
        """What `name = self` binds."""
        return self

    def snapshot(self) -> KernelObject:
        """What it is now, where an assignment to several names may change it before it is assigned itself."""
        return self

    def passed(self, name: str) -> KernelObject:
        """What a func receives for a parameter that is no template."""
        return self

    def rebound(self, value: Any, innermost: bool) -> KernelObject:
        """What `name = value` does where `name` stands for this object: the object that it stands for then.

        innermost: the name belongs to the block that the assignment is in.
        """
        raise QuadrantsSyntaxError(f"The name of a {self.what} cannot be assigned again; use another name.")

    def assign(self, value: Any) -> None:
        """`self = value` for what `subscript` returned."""
        raise QuadrantsSyntaxError(f"A {self.what} cannot be assigned.")

    def augment(self, op: str, value: Any) -> None:
        """`self op= value`."""
        raise QuadrantsSyntaxError(f"A {self.what} cannot be the target of an augmented assignment.")
