"""What is wrong with the signature of a kernel or func, at the line of its `def`."""

from __future__ import annotations

import inspect

from quadrants import banner, program_text
from quadrants.errors import QuadrantsSyntaxError


def at_definition(error: QuadrantsSyntaxError, fn) -> QuadrantsSyntaxError:
    """The error with the place of the `def` of `fn` above its message."""
    code = inspect.unwrap(fn).__code__
    lines = program_text.lines_of(code)
    line = code.co_firstlineno
    while line < len(lines) and not lines[line - 1].lstrip().startswith(("def ", "async def ")):
        line += 1
    if line > len(lines):
        return error
    text = lines[line - 1]
    # The banner shows a header up to its colon, wherever that is.
    place = banner.Frame(code.co_filename, line, len(text) - len(text.lstrip()), len(lines), 0, fn.__name__)
    return type(error)(banner.format_banner([place], str(error)))


def require_function(fn, decorator: str) -> None:
    """TypeError for what has no body that could be compiled."""
    if not hasattr(inspect.unwrap(fn) if callable(fn) else fn, "__code__"):
        called = f"of type {type(fn).__name__}" if not callable(fn) else "without Python source"
        raise TypeError(f"{decorator} compiles a function that is written with `def`; {fn!r} is {called}")


def refuse_async(fn, decorator: str) -> None:
    """QuadrantsSyntaxError for `async def`: there is nothing in a kernel to wait for."""
    if inspect.iscoroutinefunction(fn) or inspect.isasyncgenfunction(fn):
        raise QuadrantsSyntaxError(
            f"An async function cannot be decorated with {decorator}: write `def {fn.__name__}`. Kernels that are "
            "called in an async function run like any other call; `await` in it what Python waits for."
        )
