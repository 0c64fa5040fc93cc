"""Functions that are called while they run."""

from __future__ import annotations

from collections.abc import Iterator

from quadrants.ir import walk
from quadrants.ir.nodes import Function, Module


def recursions(module: Module) -> Iterator[tuple[Function, list[Function]]]:
    """Every function that comes to itself, and the calls that lead there: itself, those between, itself."""
    if not any(f.recursive for f in module.functions):
        return
    called = {id(f): walk.callees(f.body) for f in module.functions}
    for f in module.functions:
        chain = _chain(f, f, called, set())
        if chain:
            yield f, chain


def _chain(f: Function, wanted: Function, called: dict[int, list[Function]], seen: set[int]) -> list[Function]:
    """The functions from `f` to a call of `wanted`; empty where there is none. seen: those that lead nowhere."""
    seen.add(id(f))
    for g in called.get(id(f), ()):
        rest = [g] if g is wanted else _chain(g, wanted, called, seen) if id(g) not in seen else []
        if rest:
            return [f, *rest]
    return []
