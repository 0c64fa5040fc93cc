"""How the statements of a function end, as far as its text tells."""

from __future__ import annotations

import ast
from collections.abc import Sequence


def ends(body: Sequence[ast.stmt]) -> bool:
    """Whether whoever runs these statements returns, or stays in a loop, in any case."""
    return any(_ends(s) for s in body)


def _ends(s: ast.stmt) -> bool:
    if isinstance(s, ast.Return):
        return True
    if isinstance(s, ast.If):
        return ends(s.body) and ends(s.orelse)
    if isinstance(s, ast.While):
        return isinstance(s.test, ast.Constant) and bool(s.test.value) and not _breaks(s.body)
    return False


def _breaks(body: Sequence[ast.stmt]) -> bool:
    """Whether there is a `break` of the loop around these statements."""
    for s in body:
        if isinstance(s, ast.Break):
            return True
        if isinstance(s, ast.If) and (_breaks(s.body) or _breaks(s.orelse)):
            return True
    return False
