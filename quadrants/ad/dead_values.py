"""Leaves out what is given to a variable and not read again: `w = sqrt(w - x)` at the end of a branch, say.

To run such a statement does no harm; to differentiate it does. Its adjoint is zero, and zero times an infinite slope is
NaN, which would reach what `w` was made of. What only feeds values of this kind goes with them, also around a loop.
"""

from __future__ import annotations

from quadrants.ad.build import zero
from quadrants.ad.prune import reads, target
from quadrants.ir import walk
from quadrants.ir.nodes import Declare, For, If, Store, VarPlace
from quadrants.ir.types import StructType
from quadrants.ir.walk import has_effects


def without_dead_values(body: list, read_behind: set) -> list:
    """`body`, changed in place; `read_behind`: variables that are read after it."""
    return _Values().block(body, read_behind, drops=True)[0]


class _Values:
    def __init__(self) -> None:
        self.around: dict = {}  # loop -> what is read where an iteration begins or ends; it only grows

    def block(self, body: list, live: set, drops: bool) -> tuple[list, set]:
        """The statements that stay, and the variables that are read from the start of the block on; `live` from its
        end on."""
        live, kept = set(live), []
        for s in reversed(body):
            s = self._statement(s, live, drops)
            if s is not None:
                kept.append(s)
        return kept[::-1], live

    def _statement(self, s, live: set, drops: bool):
        if isinstance(s, (Declare, Store)):
            return self._given(s, live)
        if isinstance(s, If):
            return self._if(s, live, drops)
        if isinstance(s, For):
            return self._loop(s, live, drops)
        live |= reads([s])
        return s

    def _given(self, s, live: set):
        key, value = target(s), s.init if isinstance(s, Declare) else s.value
        if key is not None and key not in live and not _stays(s, value):
            # One that is assigned later has to begin somewhere.
            mutable = isinstance(s, Declare) and s.var.mutable
            return Declare(s.var, zero(s.var.type), s.loc) if mutable else None
        if isinstance(s, Declare) or isinstance(s.place, VarPlace):
            live.discard(key)
            live |= reads([value])
        else:
            live |= reads([s])
        return s

    def _if(self, s: If, live: set, drops: bool) -> If:
        then, of_then = self.block(s.then, live, drops)
        orelse, of_else = self.block(s.orelse, live, drops)
        if drops:
            s.then, s.orelse = then, orelse
        live.clear()
        live |= of_then | of_else | reads([s.cond])
        return s

    def _loop(self, s: For, live: set, drops: bool) -> For:
        around = self.around.setdefault(id(s), set())
        around |= live
        while True:
            entered = self.block(s.body, around, drops=False)[1]
            if entered <= around:
                break
            around |= entered
        if drops:
            s.body = self.block(s.body, around, drops=True)[0]
        live |= around | reads([e for pair in s.bounds for e in pair])
        return s


def _stays(s, value) -> bool:
    """Whether more than the variable is at stake, or it is one whose parts are looked at apart."""
    var = s.var if isinstance(s, Declare) else walk.root_var(s.place)
    return var is not None and isinstance(var.type, StructType) or has_effects([value])
