"""The AST of a user's function, with positions in the user's own file."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass

from quadrants.errors import QuadrantsSyntaxError

_cache: dict = {}


@dataclass(slots=True)
class Source:
    """A parsed function. `line0` and `indent` are added to AST positions to get file positions."""

    tree: ast.FunctionDef
    file: str
    line0: int
    indent: int
    text: str
    name: str


def of_function(fn) -> Source:
    """Parse `fn` once. OSError if its source cannot be read (exec, stdin)."""
    code = fn.__code__
    found = _cache.get(code)
    if found is None:
        found = _cache[code] = _parse(fn)
    return found


def _parse(fn) -> Source:
    try:
        lines, first = inspect.getsourcelines(fn)
    except (OSError, TypeError) as error:
        raise OSError(
            f"Cannot find source code for Object: {fn!r}. A kernel is compiled from its source text: "
            "define it in a file or a notebook cell, not through exec, python -c or standard input."
        ) from error
    text = "".join(lines)
    dedented = textwrap.dedent(text)
    indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    try:
        tree = ast.parse(dedented).body[0]
    except (SyntaxError, IndexError):
        tree = None
    if not isinstance(tree, ast.FunctionDef):
        raise QuadrantsSyntaxError(
            f'Unsupported node "Lambda": {inspect.getsourcefile(fn)}:{first}: write the kernel or func with `def`.'
        )
    file = inspect.getsourcefile(fn) or code_file(fn)
    return Source(tree, file, first - 1, indent, text, fn.__name__)


def code_file(fn) -> str:
    return fn.__code__.co_filename


def contains_loop(source: Source) -> bool:
    """Whether the function has a `for` or `while` statement anywhere."""
    return any(isinstance(node, (ast.For, ast.While)) for node in ast.walk(source.tree))
