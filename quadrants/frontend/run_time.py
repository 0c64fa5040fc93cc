"""What to write instead where a run-time value stands in the place of one that is known while compiling."""

from __future__ import annotations

import ast

from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend.frame import Frame
from quadrants.frontend.structcell import is_runtime

_MANY = 6  # alternatives that still make a legible condition


def how_to_know(frame: Frame, node: ast.AST) -> str:
    """How the value of the expression `node` becomes known while the kernel is compiled."""
    names = [n for n in dict.fromkeys(x.id for x in ast.walk(node) if isinstance(x, ast.Name)) if _varies(frame, n)]
    parameters = [name for name in names if frame.has_parameter(ast.Name(name))]
    if names and parameters == names:
        return f"annotate {_all(names)} with qd.template()"
    return "pass the value as an argument annotated with qd.template()"


def refuse_range(frame: Frame, call: ast.Call) -> QuadrantsTypeError:
    """The error about `range(..)` of run-time values outside of the header of a loop."""
    written = _all([ast.unparse(a) for a in call.args])
    cure = how_to_know(frame, call)
    if frame.in_static:
        return QuadrantsTypeError(
            f"qd.static needs values that are known while the kernel is compiled, and {written} is a run-time value: "
            f"{cure}, or write the loop without qd.static."
        )
    return QuadrantsTypeError(
        f"`{ast.unparse(call)}` makes its items while the kernel is compiled, and {written} is a run-time value: "
        f"{cure}, or write a loop, `for i in {ast.unparse(call)}:`."
    )


def refuse_static(frame: Frame, node: ast.AST) -> str:
    """What follows on the words that `qd.static(node)` has a run-time value."""
    return f": `{ast.unparse(node)}` is known when the kernel runs. To know it before, {how_to_know(frame, node)}."


def refuse_membership(frame: Frame, node: ast.Compare, text: str) -> QuadrantsSyntaxError:
    """The error about `x in y` and `x not in y` where they have no answer while compiling."""
    cure = _comparisons(node, text)
    if frame.in_static:
        return QuadrantsSyntaxError(
            f"`{ast.unparse(node)}` inside of qd.static has a run-time value: {how_to_know(frame, node)}, or write "
            f"{cure} without qd.static."
        )
    return QuadrantsSyntaxError(
        f'"{text}" is only supported inside `qd.static`. Write {cure}; or, where all values are known while the '
        f"kernel is compiled, `qd.static({ast.unparse(node)})`."
    )


def _comparisons(node: ast.Compare, text: str) -> str:
    """`x in (1, 2)` as comparisons."""
    right = node.comparators[0]
    # What has an effect is written once: comparisons would have it again and again.
    called = any(isinstance(part, ast.Call) for part in ast.walk(node.left))
    kept = f"`x = {ast.unparse(node.left)}` and " if called else ""
    left = "x" if called else ast.unparse(node.left)
    operator, word = ("!=", " and ") if text == "not in" else ("==", " or ")
    items = right.elts if len(node.ops) == 1 and isinstance(right, (ast.Tuple, ast.List, ast.Set)) else []
    if 0 < len(items) <= _MANY:
        return f"{kept}`{word.join(f'{left} {operator} {ast.unparse(item)}' for item in items)}`"
    return f"{kept}a loop that compares `{left} {operator} item`"


def _varies(frame: Frame, name: str) -> bool:
    found = frame.lookup_local(name)
    return found is not None and is_runtime(found.value)


def _all(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
