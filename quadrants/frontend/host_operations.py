"""Operators on objects known while compiling: Python's own, with errors of a kernel."""

from __future__ import annotations

import ast
import operator

import numpy as np

from quadrants.errors import QuadrantsTypeError
from quadrants.frontend.refs import ArrayRef
from quadrants.frontend.reports import Reports
from quadrants.frontend.views import ViewRef
from quadrants.lang.kinds import FIELD_KINDS, kind_of

HOST_BINARY = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "bit_and": operator.and_,
    "bit_or": operator.or_, "bit_xor": operator.xor, "shl": operator.lshift, "shr": operator.rshift,
}  # fmt: skip
HOST_COMPARE = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip
HOST_UNARY = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}

ELEMENT_BY_ELEMENT = "Fields and arrays are computed with element by element: index them, as in `a[i] * b[i]`"


def is_container(x) -> bool:
    """Whether something is a field, array or view: its elements are known at run time only."""
    return isinstance(x, (ArrayRef, ViewRef)) or kind_of(x) in FIELD_KINDS


def without_width(x):
    """A number of NumPy as one that neither wraps nor is rounded to fewer digits than Python's; else `x`."""
    if isinstance(x, (np.integer, np.bool_)):
        return x.item()
    return np.float64(x) if isinstance(x, np.floating) else x


def on_host(operation, *operands):
    """`operation(*operands)`; QuadrantsTypeError for operands that it does not take."""
    try:
        with np.errstate(all="ignore"):  # constants may be nan and inf, as values of the run may
            return operation(*map(without_width, operands))
    except QuadrantsTypeError:
        raise
    except TypeError as error:
        text = str(error).replace("ArrayRef", "Ndarray").replace("ViewRef", "BufferView")
        if any(map(is_container, operands)):
            whole = any(getattr(x, "shape", None) == () for x in operands if is_container(x))
            text += f". {'A field with one cell has its number at `x[None]`.' if whole else ELEMENT_BY_ELEMENT}"
        raise QuadrantsTypeError(text) from None


def unary_on_host(reports: Reports, operator_type: type[ast.unaryop], x):
    """`-x`, `+x` or `~x`, as `on_host`."""
    if operator_type is ast.Invert and isinstance(x, (bool, np.bool_)):
        reports.log_once(
            f"`~` of {bool(x)}, which is known while the kernel is compiled, is {~int(x)} as in Python, and true; "
            "write `not`"
        )
    return on_host(HOST_UNARY[operator_type], x)
