"""Names that are not defined where they are used, though the function binds them elsewhere."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Any

from quadrants.errors import QuadrantsNameError

_BLOCKS = {ast.If: "`if`", ast.For: "`for`", ast.While: "`while`", ast.With: "`with`"}
_USUAL = {"np": "numpy as np", "numpy": "numpy", "qd": "quadrants as qd", "torch": "torch"}
_COMPREHENSIONS = (ast.ListComp, ast.DictComp)


def not_defined(name: str, tree: ast.FunctionDef, used: Any, line0: int) -> QuadrantsNameError:
    """The error about `name` at the node `used` of the function `tree`, whose lines are off by `line0`."""
    told = f'Name "{name}" is not defined'
    found = sorted(_bindings(tree, name, None), key=lambda pair: pair[0].lineno)
    before = [pair for pair in found if pair[0].lineno <= getattr(used, "lineno", 0)]
    if before:
        bound, block = before[-1]
        if block is not None and bound is not used:
            return QuadrantsNameError(f"{told}: {_ended(name, bound, block, line0)}")
    elif found:
        line = found[0][0].lineno + line0
        return QuadrantsNameError(f"{told} here: it is bound below, in line {line}. Bind it before it is used.")
    return QuadrantsNameError(f"{told}{_meant(name)}")


def _meant(name: str) -> str:
    """What somebody meant who wrote a name that the module does not have."""
    package: Any = sys.modules["quadrants"]
    for module, owner in (("qd", package), ("qd.math", package.math)):
        if not name.startswith("_") and hasattr(owner, name):
            return f": write `{module}.{name}`."
    if name in sys.stdlib_module_names or name in _USUAL:
        return f": import it above the kernel, at the top of the file, as in `import {_USUAL.get(name, name)}`."
    return ""


def _ended(name: str, bound: ast.Name, block: ast.AST, line0: int) -> str:
    first = getattr(block, "lineno", 0) + line0
    if isinstance(block, _COMPREHENSIONS):
        return f"it was bound by the comprehension in line {first}, and ended with it."
    kind = _BLOCKS[type(block)]
    if isinstance(block, ast.For) and bound in ast.walk(block.target):
        return (
            f"the `for` of line {first} bound it, and it ended with that loop. To keep its value, write "
            f"`last = {name}` in the loop, with `last = 0` before it."
        )
    return (
        f"it was bound in line {bound.lineno + line0}, inside of the {kind} of line {first}, and ended with that "
        f"block. Bind it before line {first}, as in `{name} = 0`, and assign it in the block."
    )


def _bindings(node: ast.AST, name: str, block: ast.AST | None) -> Iterator[tuple[ast.Name, ast.AST | None]]:
    """Where `name` is bound, with the innermost block around each."""
    inner = node if isinstance(node, (*_BLOCKS, *_COMPREHENSIONS)) else block
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name) and child.id == name and isinstance(child.ctx, ast.Store):
            yield child, inner
        yield from _bindings(child, name, inner)
