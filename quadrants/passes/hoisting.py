"""Rewriting of blocks in which an expression may need statements in front of the one that it is in."""

from __future__ import annotations

from quadrants.ir.nodes import Stmt


class Hoisting:
    """A subclass gives `statement(s) -> list`, the statements for one; what that adds to `before` comes in front."""

    def __init__(self) -> None:
        self.before: list[Stmt] = []

    def block(self, body: list[Stmt]) -> list[Stmt]:
        out: list[Stmt] = []
        for s in body:
            outer, self.before = self.before, []
            made = self.statement(s)
            out += [*self.before, *made]
            self.before = outer
        return out

    def statement(self, s: Stmt) -> list[Stmt]:
        raise NotImplementedError
