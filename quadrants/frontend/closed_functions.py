"""Python functions of users that give the same for the same arguments, as far as their text and what they name do."""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import math
import types
from typing import Any, NamedTuple

import numpy as np

from quadrants.errors import QuadrantsSyntaxError
from quadrants.frontend import source

_NUMBERS_AND_TEXT = (bool, int, float, complex, str, bytes, range, type(None))
# Not `set`, `hash`, `id` and `repr`, whose answers differ from process to process, nor what looks at or changes the
# state of the program.
_BUILTINS = {
    getattr(builtins, name)
    for name in (
        "abs all any bool bytes complex dict divmod enumerate filter float int isinstance len list map max min pow "
        "range reversed round sorted str sum tuple zip ArithmeticError AssertionError IndexError KeyError "
        "NotImplementedError OverflowError RuntimeError TypeError ValueError ZeroDivisionError"
    ).split()
}
_FORMS = (
    ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While,
    ast.If, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.Assert, ast.Raise, ast.BoolOp, ast.BinOp, ast.UnaryOp,
    ast.Compare, ast.IfExp, ast.Call, ast.Constant, ast.Name, ast.Tuple, ast.List, ast.Dict, ast.Subscript, ast.Slice,
    ast.ListComp, ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.keyword, ast.Starred, ast.Attribute,
    ast.NamedExpr, ast.Lambda, ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip


class Dependence(NamedTuple):
    """functions: those that ran, the called one first. captures: (function, name, value) of what they found outside,
    each before the function that it led to."""

    functions: list
    captures: list[tuple[Any, str, Any]]


def dependence(fn, args: list) -> Dependence | None:
    """What the result of `fn(*args)` depends on besides the arguments; None where that cannot be told."""
    if not all(_is_constant(x) for x in args):
        return None
    found = Dependence([], [])
    return found if _add(fn, found) else None


def _is_constant(x) -> bool:
    """Whether `x` is a number or text, or a tuple of such: what nobody can change."""
    if type(x) is tuple:
        return all(_is_constant(item) for item in x)
    return type(x) in _NUMBERS_AND_TEXT or (isinstance(x, np.generic) and not x.dtype.hasobject)


def _add(fn, found: Dependence) -> bool:
    if fn in found.functions:
        return True
    if not isinstance(fn, types.FunctionType) or hasattr(fn, "__wrapped__") or fn.__kwdefaults__:
        return False
    if not all(_is_constant(x) for x in fn.__defaults__ or ()) or not _closed_text(fn):
        return False
    found.functions.append(fn)
    for name in _outer_names(fn.__code__):
        try:
            value = outer(fn, name)
        except (LookupError, AttributeError):
            return False
        found.captures.append((fn, name, value))
        if value is math or _is_constant(value) or _is_builtin(value):
            continue
        if not _add(value, found):
            return False
    return True


def _is_builtin(value) -> bool:
    return isinstance(value, (type, types.BuiltinFunctionType)) and value in _BUILTINS


def outer(fn, name: str):
    """What an outer name of `fn` is now. Raises LookupError or AttributeError."""
    if name in fn.__code__.co_freevars:
        try:
            return fn.__closure__[fn.__code__.co_freevars.index(name)].cell_contents
        except ValueError:
            raise LookupError(name) from None
    return fn.__globals__[name] if name in fn.__globals__ else getattr(builtins, name)


@functools.lru_cache(maxsize=1024)
def _outer_names(code: types.CodeType) -> tuple[str, ...]:
    """Globals, builtins and variables of enclosing functions that the code reads, in a steady order."""
    names = dict.fromkeys(code.co_freevars)
    for inner in _codes(code):
        names.update(dict.fromkeys(i.argval for i in dis.get_instructions(inner) if i.opname == "LOAD_GLOBAL"))
    return tuple(names)


def _codes(code: types.CodeType):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _closed_text(fn) -> bool:
    """Whether all that is written there computes, and changes nothing that was there before."""
    try:
        tree = source.of_function(fn).tree
    except (OSError, QuadrantsSyntaxError):
        return False
    if tree.decorator_list:
        return False
    parts = [part for statement in tree.body for part in ast.walk(statement)]
    return all(isinstance(part, _FORMS) and not _reaches_inside(part) for part in parts)


def _reaches_inside(part: ast.AST) -> bool:
    return isinstance(part, ast.Attribute) and (part.attr.startswith("_") or not isinstance(part.ctx, ast.Load))
