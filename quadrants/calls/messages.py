"""What is wrong with a call: errors of arguments show the line of the call, and say what the kernel takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, Any

from quadrants import caller
from quadrants.errors import QuadrantsRuntimeError, QuadrantsSyntaxError
from quadrants.lang.func import in_class, receiver_of

if TYPE_CHECKING:
    from quadrants.banner import Frame

_OF_ARGUMENTS = (TypeError, ValueError, IndexError, OverflowError, QuadrantsRuntimeError, QuadrantsSyntaxError)


def at_call(error: Exception, kernel: str) -> Exception:
    """The error of an argument of `kernel`, with the place of the call behind its text. Others stay as they are."""
    at_exit = sys.is_finalizing()  # when nothing can be imported any more
    if at_exit or not isinstance(error, _OF_ARGUMENTS) or len(error.args) != 1:
        return error
    from quadrants.banner import format_frame

    if isinstance(error.args[0], str):
        place = format_frame(_place(caller.frame())).rstrip()
        text = f"{error.args[0]}\nIn this call of {kernel}:\n{place}"
        error.args = (text,)
        if isinstance(error, SyntaxError):
            error.msg = text  # what tracebacks show of these
    return error


def tell_of_lost_bits(place: str, number: int, dtype: object) -> None:
    """A warning at the line of the call."""
    caller.warn(
        f"{place}: {number} does not fit in the type {dtype} of the parameter, which gets its low bits. Declare the "
        "parameter with a wider type, or pass a smaller number."
    )


def _place(frame: FrameType) -> Frame:
    from quadrants.banner import Frame, whole_line

    code = frame.f_code
    name = code.co_name
    if sys.version_info >= (3, 11):
        line, end_line, col, end_col = next(islice(code.co_positions(), frame.f_lasti // 2, None))
        if line is not None and end_line is not None and col is not None and end_col is not None:
            return Frame(code.co_filename, line, col, end_line, end_col, name)
    return whole_line(code.co_filename, frame.f_lineno, name)


def bind(
    fn: Callable[..., Any], parameters: list[tuple[str, Any]], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """The arguments of a call in the order of the parameters of `fn`. Raises QuadrantsSyntaxError for any that are
    missing, unexpected, or too many."""
    names = [name for name, _ in parameters]
    if len(args) > len(names):
        given = args[1:] if receiver_of(fn) else args
        raise QuadrantsSyntaxError(f"Too many arguments. {_expected(fn, parameters)[:-1]}, got {_list(given)}.")
    bound = dict(zip(names, args))
    for key, value in kwargs.items():
        if key not in names:
            raise QuadrantsSyntaxError(f"Unexpected argument '{key}'. {_expected(fn, parameters)}")
        if key in bound:
            raise QuadrantsSyntaxError(f"Multiple values for argument '{key}'. {_expected(fn, parameters)}")
        bound[key] = value
    for name in names:
        if name not in bound:
            raise QuadrantsSyntaxError(f"Missing argument '{name}'. {_missing(fn, parameters, args)}")
    return tuple(bound[name] for name in names)


def _expected(fn: Callable[..., Any], parameters: list[tuple[str, Any]]) -> str:
    receiver = receiver_of(fn)
    wanted = [f"{n} : {annotation_text(a)}" for n, a in parameters if n != receiver]
    return f"Expected {_list(wanted)}."


def annotation_text(annotation: Any) -> str:
    """An annotation as a user may have written it."""
    return getattr(annotation, "__name__", None) or str(annotation)


def _list(items: Sequence[Any]) -> str:
    return f"({', '.join(map(str, items))})"


def _missing(fn: Callable[..., Any], parameters: list[tuple[str, Any]], args: tuple[Any, ...]) -> str:
    expected = _expected(fn, parameters)
    if not receiver_of(fn) or args and hasattr(type(args[0]), fn.__name__):
        return expected
    return f"{fn.__name__} is a method: call it on an object, as object.{fn.__name__}(..). {expected}"


def check_receiver(fn: Callable[..., Any], parameters: list[tuple[str, Any]], args: tuple[Any, ...]) -> None:
    """Raise QuadrantsSyntaxError for a method that got no object whose methods may be kernels."""
    if not parameters:
        return
    name, x = parameters[0][0], args[0]
    if name != receiver_of(fn) and not (name == "self" and in_class(fn)):
        return
    if getattr(x, "_qd_data_oriented", False):
        return
    if getattr(x, "_qd_host_struct", False):
        raise QuadrantsSyntaxError(
            "The methods of a @qd.dataclass are no kernels: decorate them with @qd.func and call them from a kernel."
        )
    if type(x).__module__ == "builtins" and not isinstance(x, type):
        raise QuadrantsSyntaxError(
            f"'{name}' is no object of a class: call it on one, as object.{fn.__name__}(..), or annotate it, as in "
            f"`{name}: qd.i32`, if this is no method."
        )
    cls = x if isinstance(x, type) else type(x)
    raise QuadrantsSyntaxError(f"Please decorate class {cls.__name__} with @qd.data_oriented: its methods are kernels.")
