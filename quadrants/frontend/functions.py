"""The functions that a trace emits, and the calls that are under translation."""

from __future__ import annotations

from typing import Any

from quadrants.errors import QuadrantsCompilationError
from quadrants.frontend.options import Options
from quadrants.frontend.positions import Positions
from quadrants.ir.nodes import Function


class CannotPass(Exception):
    """A call that only inlining can express."""


class Functions:
    """Functions by specialisation.

    known: key of a specialisation -> what is known of it. emitted: the functions of the module, callees first.
    calls: keys of the calls under translation, from the outside in. inline_only: user's functions that cannot stay
    functions. inlines_all: whether none can, since derivatives are made of the body of one kernel. stack_matters:
    whether the text of the function under translation depends on where it is called from. kept: objects whose ids are
    part of keys.
    """

    __slots__ = ("positions", "known", "emitted", "calls", "inline_only", "inlines_all", "stack_matters", "kept")

    def __init__(self, options: Options, positions: Positions) -> None:
        self.positions = positions
        self.known: dict[tuple, Any] = {}
        self.emitted: list[Function] = []
        self.calls: list[tuple] = []
        self.inline_only: set[Any] = set()
        self.inlines_all = bool(options.ad_mode)
        self.stack_matters = False
        self.kept: list[Any] = []

    def must_inline(self) -> None:
        """The function under translation has, or returns, what belongs to a task: it and its callers are inlined."""
        if any(f.kind == "real" for f in self.positions.frames):
            raise QuadrantsCompilationError(
                "A @qd.real_func cannot have shared arrays or return tiles; make it a @qd.func."
            )
        inner = False
        for frame in self.positions.frames:
            inner = inner or frame.kind == "function"
            if inner:
                self.inline_only.add(frame.fn)
        raise CannotPass

    def position(self) -> tuple:
        """What `return_to` takes."""
        return len(self.calls), len(self.emitted), len(self.known), self.stack_matters

    def return_to(self, before: tuple) -> None:
        """Forget calls and functions since `position` was asked for."""
        calls, emitted, known, self.stack_matters = before
        del self.calls[calls:]
        del self.emitted[emitted:]
        for key in list(self.known)[known:]:
            del self.known[key]
