"""A barrier at the end of each loop and branch with barriers inside, and one behind it.

They keep a compiler from joining that end with what comes next, and what is behind with what was in front: PoCL 3.1
ends the process over such loops, and loses iterations behind such branches.
"""

from __future__ import annotations

from collections.abc import Set

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.passes.agreement import meets, sync
from quadrants.passes.staying import Waiting, leaves


def close(body: list[n.Stmt], meeting: Set[str], together: bool) -> list[n.Stmt]:
    """A body with them. together: all threads of a block leave a loop, or a round of it, at one time; else one that
    some may leave early stays as it is."""
    out: list[n.Stmt] = []
    for s in body:
        walk.update_blocks(s, close, meeting, together)
        out.append(s)
        if isinstance(s, Waiting) and meets([s], meeting) and (together or not _left(s)):
            for end in [s.then, s.orelse] if isinstance(s, n.If) else [s.body]:
                end += [sync()] if end else []
            out.append(sync())
    return out


def _left(s: Waiting) -> bool:
    return any(leaves(b, n.Break, n.Continue) for b in walk.blocks(s))
