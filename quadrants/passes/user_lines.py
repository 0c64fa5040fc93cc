"""The user's lines in errors of passes."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from typing import Any

from quadrants import program_text
from quadrants.banner import format_banner, whole_line
from quadrants.ir import nodes as n
from quadrants.ir import walk

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def located(body: Any, loc: n.Loc | None) -> Iterator[tuple[n.Node, n.Loc | None]]:
    """Each node with the place of the statement that it is in; `loc` where there is none."""
    for node in walk.walk(body):
        loc = getattr(node, "loc", None) or loc
        yield node, loc


def assigned(file: str, line: int, otherwise: str) -> str:
    """What the assignment of a line assigns to, as it is written there; `otherwise` where that is not plain."""
    text = program_text.line(file, line).strip()
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a statement of several lines
        return otherwise
    targets = [t for s in ast.walk(tree) if isinstance(s, ast.Assign) for t in s.targets]
    single = len(targets) == 1 and not isinstance(targets[0], (ast.Tuple, ast.List))
    return (ast.get_source_segment(text, targets[0]) if single else None) or otherwise


def definition(module: n.Module) -> n.Loc:
    """The line at which the kernel begins."""
    assert module.loc is not None
    file, line, name = module.loc.frames[0]
    return n.Loc(((file, module.def_lines.get(name, line), name),))


def line_of_call(module: n.Module, caller: n.Function, called: n.Function) -> n.Loc:
    """Where a function first calls another one, or itself."""
    calls = located(caller.body, caller.loc)
    return next(at for node, at in calls if isinstance(node, n.Call) and node.func is called) or definition(module)


def at_users_line(loc: n.Loc, text: str) -> str:
    """The text of an error behind the lines that lead to it."""
    return format_banner([whole_line(*frame) for frame in users(loc)], text)


def users(loc: n.Loc) -> Sequence[tuple[str, int, str]]:
    """The frames up to the last one in the user's files; all where there is none."""
    own = [k for k, (file, *_) in enumerate(loc.frames) if not file.startswith(_PACKAGE)]
    return loc.frames[: own[-1] + 1] if own else loc.frames
