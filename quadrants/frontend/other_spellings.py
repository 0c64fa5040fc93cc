"""Functions and attributes of Python and NumPy that kernels spell in another way."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Sequence
from typing import Any

from quadrants import spelling
from quadrants.errors import QuadrantsTypeError
from quadrants.frontend.host_operations import is_container
from quadrants.frontend.refs import ArrayRef
from quadrants.frontend.views import ViewRef

_FOLDS = {
    "sum": "total += {0}[i]", "max": "qd.atomic_max(result, {0}[i])", "min": "qd.atomic_min(result, {0}[i])",
    "any": "result |= {0}[i] != 0", "all": "result &= {0}[i] != 0", "mean": "total += {0}[i]",
    "prod": "result *= {0}[i]", "dot": "total += {0}[i] * y[i]", "norm": "total += {0}[i] ** 2",
}  # fmt: skip
_LISTS = ("list", "tuple", "set", "sorted", "reversed", "iter", "enumerate", "zip", "map", "filter")
_OF_ELEMENTS = (*_FOLDS, *_LISTS, "len", "int", "float", "bool", "abs", "round", "pow")
_ASK = ("shape", "ndim", "isscalar")
_GROW = ("append", "extend", "insert", "pop", "remove", "add")
_MADE = ("zeros", "ones", "empty", "full", "array", "asarray", "arange", "linspace", "zeros_like", "ones_like", "eye")
_OPERATORS = {"power": "a ** b", "float_power": "a ** b", "mod": "a % b", "absolute": "abs(x)", "fabs": "abs(x)"}
_ATTRIBUTES = ("shape", "grad", "dtype", "fill")
_OF_VECTORS = ("dot", "cross", "norm", "inner", "outer", "sum", "max", "min")


def refuse(function: Callable, args: Sequence, node: ast.Call) -> None:
    """QuadrantsTypeError for a function of Python that is given a field, an array or a view of one."""
    name = getattr(function, "__name__", "")
    of_numpy = (getattr(function, "__module__", None) or "").split(".")[0] in ("numpy", "math") and name not in _ASK
    found = [k for k, x in enumerate(args) if is_container(x)]
    if not found or not (of_numpy or name in _OF_ELEMENTS and getattr(builtins, name, None) is function):
        return
    written = ast.unparse(node.args[found[0]]) if found[0] < len(node.args) else "x"
    if name in ("enumerate", "zip") and not isinstance(args[found[0]], (ArrayRef, ViewRef)):
        return  # of fields Python asks for their iterator, which says more
    raise QuadrantsTypeError(_of_container(name, written, of_numpy))


def _of_container(name: str, x: str, of_numpy: bool) -> str:
    if name == "len":
        return f"Fields and arrays have no len() in kernels: write `{x}.shape[0]`."
    if name in _FOLDS:
        of = "NumPy's" if of_numpy else "The builtin"
        takes = "does not run in kernels" if of_numpy else "takes a list"
        return f"{of} {name}() {takes}; write a loop with `{_FOLDS[name].format(x)}` for a field or array."
    if name in _LISTS:
        return f"Kernels make no lists of the elements of `{x}`: write a loop, `for i in {x}:`, that reads `{x}[i]`."
    return f"`{name}` takes no field or array as a whole: index it in a loop, as in `{x}[i]`."


def instead_of_numpy(module: str, name: str) -> str:
    """What to write instead of a function of `math` or `numpy` that was given a run-time value."""
    told = f"`{module}.{name}` cannot take a run-time value"
    if name in _MADE:
        return (
            f"{told}: write `qd.Vector([...])` for a few numbers, or make a field or an ndarray before the call of the "
            "kernel."
        )
    if name in _OPERATORS:
        return f"{told}; write `{_OPERATORS[name]}`."
    if name in _OF_VECTORS:
        return f"{told}; vectors have methods for it, as in `v.{name}(..)`, and fields and arrays need a loop."
    package: Any = sys.modules["quadrants"]
    found = [where for where, owner in (("qd", package), ("qd.math", package.math)) if hasattr(owner, name)]
    if found:
        return f"{told}; use `{found[0]}.{name}`."
    return f"{told}; compute with operators and the functions of `qd` and `qd.math`."


def grows(name: str, x: str) -> str:
    """What to write instead of `x.append(value)` for a field on a dynamic node."""
    return (
        f"A field has no attribute '{name}' in kernels. This one is on a dynamic node, which grows: "
        f"`qd.append({x}.parent(), [i], value)`, with the indices of the axes above the node, [] where there is none."
    )


def no_attribute(what: str, name: str, x: str) -> str:
    """That a field or an array, which users call `x`, has no such attribute in kernels, and what to write instead."""
    told = f"{what} has no attribute '{name}' in kernels; "
    if name in _FOLDS:
        return f"{told}write a loop with `{_FOLDS[name].format(x)}`."
    if name in _GROW:
        return (
            f"{told}its extents are fixed. Make it large enough, and count what it holds in a field: "
            f"`{x}[qd.atomic_add(count[None], 1)] = value`."
        )
    if name in ("size", "len"):
        return f"{told}write `{x}.shape[0]`, and the product of all extents for several axes."
    if name in ("T", "transpose"):
        return f"{told}write the indices in the other order, `{x}[j, i]`."
    return f"{told}use .shape, .grad or an index{spelling.hint(name, _ATTRIBUTES)}."
