"""Functions that call themselves end the launch, not the process, when the stack of their thread is used up."""

from __future__ import annotations

from quadrants.banner import whole_line
from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import u1
from quadrants.passes.user_lines import definition, located, users


def watch_recursion(module: n.Module) -> n.Module:
    """Check for room first thing in each function that may be called while it runs."""
    for f in module.functions:
        call = _recursive_call(f)
        if call is None:
            continue
        loc = call[1] or definition(module)
        frames = [whole_line(*frame) for frame in users(loc)]
        module.sites.append((("recursion", f.name), frames, module.name))
        f.body = [n.Check(n.Builtin("lane.room", u1), len(module.sites) - 1, (), loc), *f.body]
    return module


def _recursive_call(f: n.Function) -> tuple[n.Node, n.Loc | None] | None:
    """The first call by which a function comes to itself, and where that is."""
    for node, loc in located(f.body, f.loc):
        if isinstance(node, n.Call) and (node.func is f or _calls(node.func, f)):
            return node, loc
    return None


def _calls(caller: n.Function, wanted: n.Function) -> bool:
    return any(isinstance(node, n.Call) and node.func is wanted for node in walk.with_functions(caller.body))
