"""Functions that call themselves, for languages whose functions cannot; compilers may accept them, and be wrong."""

from __future__ import annotations

from quadrants.errors import QuadrantsCompilationError
from quadrants.ir import nodes as n
from quadrants.ir.recursion import recursions
from quadrants.passes.user_lines import at_users_line, line_of_call


def refuse_recursion(module: n.Module, *, arch: str) -> n.Module:
    """Raise where a function is called while it runs, with the calls that lead there."""
    for f, chain in recursions(module):
        names = " -> ".join(g.name for g in chain)
        text = f"recursive call of '{f.name}' ({names}): functions of {arch} cannot call themselves"
        text = f"{text}, by way of others neither. Write a loop, or use another arch, such as qd.cpu."
        raise QuadrantsCompilationError(at_users_line(line_of_call(module, f, chain[1]), text))
    return module
