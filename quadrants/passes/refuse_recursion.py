"""Functions that call themselves, for languages whose functions cannot; compilers may accept them, and be wrong."""

from __future__ import annotations

from quadrants.errors import QuadrantsCompilationError
from quadrants.ir import nodes as n
from quadrants.ir import walk


def refuse_recursion(module: n.Module) -> n.Module:
    """Raise where a function is called while it runs, with the calls that lead there."""
    for f in module.functions:
        chain = _chain(f, f, [])
        if chain:
            raise QuadrantsCompilationError(
                f"recursive call of '{f.name}' ({' -> '.join(chain)}): the language of this arch has no recursion. "
                "Write a loop, or end the recursion of a @qd.func with qd.static."
            )
    return module


def _chain(f: n.Function, wanted: n.Function, before: list[str]) -> list[str]:
    """The names of the functions from `f` to a call of `wanted`; empty where there is none."""
    here = [*before, f.name]
    for called in dict.fromkeys(node.func for node in walk.walk(f.body) if isinstance(node, n.Call)):
        if called is wanted:
            return [*here, called.name]
        found = [] if called.name in here else _chain(called, wanted, here)
        if found:
            return found
    return []
