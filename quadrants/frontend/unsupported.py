"""What to write instead of Python that kernels do not have."""

from __future__ import annotations

import ast

from quadrants.errors import QuadrantsSyntaxError

_OUTSIDE = "Import it above the kernel, at the top of the file"
_NO_COROUTINE = "Kernels run to their end: call the kernel from the coroutine, in Python"
_INSTEAD = {
    "Try": "Kernels catch no errors: test for the condition with `if`, or catch around the call of the kernel",
    "Raise": "Write `assert condition, message`, which debug=True checks, or set a flag in a field",
    "Import": _OUTSIDE,
    "ImportFrom": _OUTSIDE,
    "Delete": "Names end with their block: leave the statement out",
    "Global": "Keep what kernels change in a field or an ndarray",
    "Nonlocal": "Keep what kernels change in a field or an ndarray",
    "ClassDef": "Define the class outside, and make it a struct with @qd.dataclass",
    "Yield": "Store the values in a field or an ndarray, and read that when the kernel has run",
    "Await": _NO_COROUTINE,
    "AsyncFor": _NO_COROUTINE,
    "AsyncWith": _NO_COROUTINE,
    "AsyncFunctionDef": _NO_COROUTINE,
    "Match": "Write `if`, `elif` and `else`",
    "Lambda": "Define a function with `def` and decorate it with @qd.func",
    "Set": "Write a list, or a dict",
    "SetComp": "Write a list, `[... for ...]`",
    "GeneratorExp": "Write a list, `[... for ...]`",
    "TypeAlias": "Name the type above the kernel",
    "TemplateStr": "Write an f-string",
}
_INSTEAD["TryStar"] = _INSTEAD["Try"]
_INSTEAD["YieldFrom"] = _INSTEAD["Yield"]


def unsupported(node: ast.AST) -> QuadrantsSyntaxError:
    """The error about a node that no part translates."""
    kind = type(node).__name__
    instead = _INSTEAD.get(kind, "Compute it in Python, and pass the result to the kernel")
    return QuadrantsSyntaxError(f'Unsupported node "{kind}": {instead}.')
