"""Functions that call themselves, for languages whose functions cannot; compilers may accept them, and be wrong."""

from __future__ import annotations

from quadrants.errors import QuadrantsCompilationError
from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.passes.user_lines import at_users_line, definition, located


def refuse_recursion(module: n.Module, *, arch: str) -> n.Module:
    """Raise where a function is called while it runs, with the calls that lead there."""
    for f in module.functions:
        chain = _chain(f, f, [])
        if not chain:
            continue
        calls = located(f.body, f.loc)
        loc = next(at for node, at in calls if isinstance(node, n.Call) and node.func.name == chain[1])
        text = f"recursive call of '{f.name}' ({' -> '.join(chain)}): functions of {arch} cannot call themselves"
        text = f"{text}, by way of others neither. Write a loop, or use another arch, such as qd.cpu."
        raise QuadrantsCompilationError(at_users_line(loc or definition(module), text))
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
