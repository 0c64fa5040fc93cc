"""Calls of ordinary Python functions while a kernel is traced: what is wrong with them."""

from __future__ import annotations

import sys
import traceback
import types

from quadrants import banner, tracebacks
from quadrants.errors import QuadrantsCompilationError, QuadrantsTypeError
from quadrants.frontend.positions import mark_inner, told

# They would answer about the objects that stand for values while a kernel is compiled.
_ASK_OBJECTS = {isinstance: "isinstance", type: "type", id: "id", hash: "hash"}

# Modules whose functions have another answer each time.
_ANEW = ("random", "_random", "secrets", "time", "datetime", "uuid")


def refuse_to_ask(name: str, function) -> None:
    """QuadrantsTypeError for a function of Python that has no answer for run-time values."""
    if function is str or function is repr:
        raise QuadrantsTypeError(
            f"`{name}` of a run-time value is not known while the kernel is compiled. Print the value itself, "
            'as in `print(f"{x}")`.'
        )
    if isinstance(function, (type, types.BuiltinFunctionType)) and function in _ASK_OBJECTS:
        raise QuadrantsTypeError(
            f"`{name}` cannot tell anything of a run-time value, which has no Python object: its type is that of its "
            "annotation or first assignment. Decide in Python and pass the answer as a qd.template() argument."
        )


def in_python_only(name: str) -> str:
    """What is said of the functions of containers and sessions that Python scope has alone."""
    return f"{name} cannot be called in Quadrants-scope: call it in Python, before or after the call of the kernel."


def answers_anew(function) -> bool:
    """Whether a function of Python has another answer each time: clocks, random numbers."""
    module = getattr(function, "__module__", None) or type(getattr(function, "__self__", None)).__module__
    return module.startswith("numpy.random") or module.split(".")[0] in _ANEW


def frozen(name: str) -> str:
    """The warning for a call of such a function."""
    return (
        f"`{name}` is called once, while the kernel is compiled; every launch and iteration has the same answer. Take "
        "qd.random() or qd.randn() for random numbers, or pass the value as an argument."
    )


def passes_through(error: Exception) -> bool:
    """Whether an error tells the frontend something, or tells the user all already."""
    of_frontend = type(error).__module__.startswith("quadrants.") and type(error).__module__ != "quadrants.errors"
    return of_frontend or getattr(error, "_qd_located", False)


def failed(function, name: str, error: Exception, runtime: bool) -> BaseException:
    """The error of the kernel for one that a function of Python raised."""
    kind, message = told(error)
    if isinstance(error, TypeError) and not isinstance(error, QuadrantsCompilationError):
        kind, message = QuadrantsTypeError, f"TypeError when calling `{name}`: {error}"
    located = kind(f"{message}{_advice(function, name) if runtime else ''}")
    frames = [(f.f_code, line) for f, line in traceback.walk_tb(error.__traceback__)]
    own = [(code, line) for code, line in frames if not tracebacks.no_user_wrote(code.co_filename)]
    if not own:
        return located
    code, line = own[-1]
    return mark_inner(located, banner.whole_line(code.co_filename, line, code.co_name))


def _advice(function, name: str) -> str:
    if not isinstance(function, types.FunctionType):
        return ""
    module = (function.__module__ or "").split(".")[0]
    if module == "quadrants":
        return ""
    if module in sys.stdlib_module_names:
        return f" `{module}.{name}` is a function of Python, which kernels cannot call with run-time values."
    return (
        f" `{name}` is a plain Python function: it runs once, while the kernel is compiled, and was given a run-time "
        f"value. Decorate `{name}` with @qd.func, so that its body is compiled too."
    )
