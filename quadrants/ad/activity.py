"""Which values carry derivatives.

A variable is *varied* if it depends on a cell with a companion (its gradient or dual), *useful* if such a cell depends
on it, and *active* if it is both. Only active variables get an adjoint or a dual.
"""

from __future__ import annotations

from quadrants.ad import matrix_rules, rules
from quadrants.ad.build import is_differentiated
from quadrants.ir import walk
from quadrants.ir.nodes import (
    Atomic,
    Binary,
    Cast,
    Cell,
    Declare,
    Elem,
    Load,
    Make,
    MatOp,
    Select,
    StopGrad,
    Store,
    Unary,
    VarPlace,
)
from quadrants.ir.types import StructType, element_dtype
from quadrants.ir.walk import root


def is_real(t) -> bool:
    return t is not None and not isinstance(t, StructType) and element_dtype(t).is_real


class Activity:
    """What one kernel's statements pass on. `companion`: of an array declaration, or None. `writes`: whether the kernel
    writes any cell that has a companion; if not, it has no derivative.
    """

    def __init__(self, body: list, companion):
        self.companion = companion
        self.stopped: set = set()
        self._find_stopped(body, frozenset())
        assignments = list(_assignments(body))
        self.varied: set = set()
        self._known: dict = {}
        grown = True
        while grown:
            grown = False
            self._known.clear()
            for place, e in assignments:
                at = root(place)
                if not isinstance(at, VarPlace) or at.var.id in self.varied:
                    continue
                if (is_real(at.var.type) or is_differentiated(e)) and self.is_varied(e):
                    self.varied.add(at.var.id)
                    grown = True
        useful = self._useful(assignments)
        self.active = self.varied & useful
        self.writes = any(self._is_sink(place) for place, _ in assignments)

    def is_active(self, var) -> bool:
        return var.id in self.active

    # ------------------------------------------------------------ varied

    def is_varied(self, e) -> bool:
        """Whether a derivative flows through an expression."""
        found = self._known.get(id(e))
        if found is None or found[0] is not e:
            found = self._known[id(e)] = (e, self._is_varied(e))
        return found[1]

    def _is_varied(self, e) -> bool:
        if not is_real(e.type) and not is_differentiated(e):
            return False
        if isinstance(e, Load):
            if id(e) in self.stopped:
                return False
            at = root(e.place)
            if isinstance(at, VarPlace):
                return at.var.id in self.varied
            return self.companion(at.array) is not None
        return any(self.is_varied(x) for x in passing(e))

    # ------------------------------------------------------------ useful

    def _is_sink(self, place) -> bool:
        at = root(place)
        return isinstance(at, Cell) and self.companion(at.array) is not None and is_real(place.type)

    def _useful(self, assignments: list) -> set:
        useful: set = set()
        readers: dict = {}
        queue: list = []
        for place, e in assignments:
            at = root(place)
            reads = {x.var.id for x in self._read(e)}
            if self._is_sink(place):
                queue += reads
            elif isinstance(at, VarPlace):
                readers.setdefault(at.var.id, set()).update(reads)
        while queue:
            var = queue.pop()
            if var not in useful:
                useful.add(var)
                queue += readers.get(var, ())
        return useful

    def _read(self, e) -> list:
        """Variables that an expression's derivative reaches."""
        if not is_real(e.type) and not is_differentiated(e):
            return []
        if isinstance(e, Load):
            at = root(e.place)
            return [at] if isinstance(at, VarPlace) else []
        return [v for x in passing(e) for v in self._read(x)]

    # ------------------------------------------------------------ stop_grad

    def _find_stopped(self, body: list, arrays: frozenset) -> None:
        """Loads of arrays that `stop_grad` names in their block or in one around it."""
        arrays = arrays | {s.array for s in body if isinstance(s, StopGrad)}
        for s in body:
            blocks = walk.blocks(s)
            for inner in blocks:
                self._find_stopped(inner, arrays)
            if arrays and not blocks:
                for node in walk.walk([s]):
                    if isinstance(node, Load) and isinstance(root(node.place), Cell):
                        if root(node.place).array in arrays:
                            self.stopped.add(id(node))


def passing(e) -> list:
    """The operands of an expression through which a derivative can flow."""
    if isinstance(e, (Unary, Binary)):
        operands = (e.a,) if isinstance(e, Unary) else (e.a, e.b)
        return [x for x, rule in zip(operands, rules.of(e.op, len(operands))) if rule is not None]
    if isinstance(e, Select):
        return [e.a, e.b]
    if isinstance(e, (Cast, Elem)):
        return [e.a]
    if isinstance(e, Make):
        return list(e.parts)
    if is_differentiated(e):
        return list(e.args)
    if isinstance(e, MatOp):
        return [x for x, rule in zip(e.args, matrix_rules.of(e.op, len(e.args))) if rule is not None]
    return []


def _assignments(body: list):
    """(place, value) of everything that is written, in order."""
    for node in walk.only(body, (Declare, Store, Atomic)):
        if isinstance(node, Declare):
            if not isinstance(node.init, Atomic):
                yield VarPlace(node.var, node.var.type), node.init
        elif isinstance(node, Store):
            yield node.place, node.value
        else:
            for a in node.args:
                yield node.place, a
