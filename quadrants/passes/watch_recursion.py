"""Functions that call themselves end the launch, not the process, when the stack of their thread is used up."""

from __future__ import annotations

from quadrants.banner import whole_line
from quadrants.ir import nodes as n
from quadrants.ir.recursion import recursions
from quadrants.ir.types import u1
from quadrants.passes.user_lines import line_of_call, users


def watch_recursion(module: n.Module) -> n.Module:
    """Check for room first thing in each function that may be called while it runs."""
    for f, chain in recursions(module):
        loc = line_of_call(module, f, chain[1])
        frames = [whole_line(*frame) for frame in users(loc)]
        module.sites.append((("recursion", f.name), frames, module.name))
        f.body = [n.Check(n.Builtin("lane.room", u1), len(module.sites) - 1, (), loc), *f.body]
    return module
