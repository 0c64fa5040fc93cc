"""The AST of a user's function, with positions in the user's own file."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass

from quadrants import program_text
from quadrants.errors import QuadrantsSyntaxError

# By the identity of code objects, which the entries keep alive. Equal ones may have other text: files, comments and the
# annotations of local variables do not count when code objects are compared.
_cache: dict = {}


@dataclass(slots=True, eq=False, repr=False)
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
    fn = inspect.unwrap(fn)
    code = fn.__code__
    found = _cache.get(id(code))
    if found is None:
        found = _cache[id(code)] = (code, _from_lines(fn) or _parse(fn))
        _mangle(found[1].tree, fn)
    program_text.show(code)
    return found[1]


def class_of(fn) -> str:
    """The name of the class that a method was written in; "" of another function."""
    owner = fn.__qualname__.split(".")
    return owner[-2] if len(owner) > 1 and owner[-2] != "<locals>" else ""


def mangled(name: str, owner: str) -> str:
    """What Python makes of a name that is written in a class: `__x` is private to it."""
    owner = owner.lstrip("_")
    return f"_{owner}{name}" if owner and name.startswith("__") and not name.endswith("__") else name


def _mangle(tree: ast.AST, fn) -> None:
    """Give private variables and parameters the names that they have in the code."""
    owner, code = class_of(fn), fn.__code__
    names = (*code.co_varnames, *code.co_names, *code.co_freevars, *code.co_cellvars)
    if not owner or not any(name.startswith(f"_{owner.lstrip('_')}__") for name in names):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = mangled(node.id, owner)
        elif isinstance(node, ast.arg):
            node.arg = mangled(node.arg, owner)


def _from_lines(fn) -> Source | None:
    """The function that starts at the line its code names: what `inspect` finds too, in a tenth of the time.

    A line that is indented no deeper than the `def` ends the function, unless a bracket or a string is open there: then
    the text up to it does not parse.
    """
    code = fn.__code__
    lines = program_text.lines_of(code, fn.__globals__)
    start = code.co_firstlineno - 1
    if start >= len(lines):
        return None
    indent = _indent(lines[start])
    end = start
    while end < len(lines) and not lines[end].lstrip().startswith("def "):
        end += 1
    while end < len(lines):
        end += 1
        while end < len(lines) and (_is_empty(lines[end]) or _indent(lines[end]) > indent):
            end += 1
        text = "".join(lines[start:end])
        try:
            # Under a header the text may keep its indentation, so that strings over several lines keep theirs.
            tree = ast.parse(f"if 1:\n{text}" if indent else text).body[0]
            tree = tree.body[0] if isinstance(tree, ast.If) and indent else tree
        except SyntaxError:
            continue
        if not isinstance(tree, ast.FunctionDef) or tree.name != code.co_name:
            return None
        while _is_empty(lines[end - 1]):
            end -= 1
        line0 = start - 1 if indent else start
        return Source(tree, code.co_filename, line0, 0, "".join(lines[start:end]), fn.__name__)
    return None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_empty(line: str) -> bool:
    stripped = line.lstrip()
    return not stripped or stripped.startswith("#")


def _parse(fn) -> Source:
    try:
        lines, first = inspect.getsourcelines(fn)
    except (OSError, TypeError) as error:
        raise program_text.missing(fn) from error
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
