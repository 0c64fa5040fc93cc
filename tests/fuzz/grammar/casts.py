"""Casts of numbers."""

from __future__ import annotations

from .types import INTS, Expr, Type, dtype


class Casts:
    def __init__(self, g):
        self.g = g

    @property
    def draw(self):
        return self.g.draw

    def in_range(self, e: Expr) -> Expr:
        """A real that every integer type can hold, where others are a known defect."""
        if not e.type.real or e.type.shape or self.draw.on("wrapped_reals"):
            return e
        clamped = Expr(f"qd.max(qd.min({e.text}, 100.0), 0.0)", self.g.promoted(e.type, Type(self.g.fp)))
        return clamped if clamped.type == e.type else Expr(f"qd.cast({clamped.text}, qd.{e.type.dtype.name})", e.type)

    def cast(self, e: Expr, name: str) -> Expr:
        if name in INTS or name == "int":
            e = self.in_range(e)
        if name in ("int", "float"):
            return Expr(f"{name}({e.text})", Type(self.g.ip if name == "int" else self.g.fp))
        if e.literal:
            return Expr(f"qd.cast({e.text}, qd.{name})", Type(dtype(name)))
        return Expr(self.draw.pick((f"qd.cast({e.text}, qd.{name})", f"qd.{name}({e.text})")), Type(dtype(name)))
