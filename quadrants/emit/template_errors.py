"""Errors of templates, told as file, line and what to write instead."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from quadrants.errors import QuadrantsCompilationError

VARIABLES = {
    "contract": "version of the contract between skeletons and what renders them",
    "kernel": "name of the user's function",
    "doc": "first line of its docstring, or an empty string",
    "prelude": "text of the helper types and functions that this kernel uses",
    "debug": "whether debug checks are compiled in",
    "effort": "optimisation level that pays: 3, or less where one launch does little",
    "units": "how many compilers may share the text",
    "profile": "whether the argument block ends with begin and end of every task, in seconds",
    "start": 'what every task of a device does before all else, or ""',
    "release": 'what lets the task behind one of one thread start while that runs, or ""',
    "args_in_memory": "whether a device's argument block is too large to be passed by value",
    "user_namespace": "the namespace of functions and tasks, or an empty string",
    "fast_math": "whether arithmetic of real numbers may be rounded in other ways than it is written",
    "errors": "whether the frame of a device begins with a failure record",
    "ring": "whether the argument block has the address of memory that lines are printed in",
    "args": 'members of the argument block: name, type ("" for bytes), pointer, count (of an array\'s elements, or 0)',
    "frame": "members of the kernel's frame, values that cross tasks; as `args`",
    "stacks": "name of a CPU task with stacks -> locals, depths and heaps, from which the bytes of their rows follow",
    "heaps": "whether tasks of a device have stacks in the heaps",
    "heap_site": "the message when there is no memory for stacks",
    "cut_site": "number of the message for a loop that the driver ended early, below 0 where no driver does",
    "gate_bytes": "from how many bytes of stacks on a CPU counts the iterations that need them",
    "vector_lanes": "how many threads a task of one thread starts where loops wait for lanes without a thread",
    "functions": "specialisations of @qd.func that the kernel calls",
    "tasks": "launches, in order",
    "launch": "name of a parallel task -> extents, locals, constant (iterations, or None)",
    "steps": "what a launch does, in order: tasks, and loops and checkpoints around them",
    "checkpoints": "number of the first task of every checkpoint",
}
"""What a skeleton is rendered with; documented in docs/guide/templates.md."""

CONTRACT = 2
"""The version of what skeletons are handed and made of; it grows when a template that was right may become wrong."""

BLOCKS = ("header", "prelude", "arguments", "functions", "tasks", "entry")
"""The blocks of a skeleton, in order."""

INNER = ("task_head", "task_body", "indices", "reduction")
"""The blocks inside `tasks`, rendered for every task, which they know as `task`."""


@contextmanager
def told() -> Iterator[None]:
    """Turn an error inside a template into a QuadrantsCompilationError with the template's file and line."""
    try:
        yield
    except QuadrantsCompilationError:
        raise
    except Exception as error:
        place = where(error)
        if place is None:
            raise
        raise QuadrantsCompilationError(f"{place}: {reason(error)}") from error


def where(error: BaseException) -> str | None:
    """`file:line` of the innermost template line that an error passed through; None for errors of other code."""
    import jinja2

    if isinstance(error, jinja2.TemplateSyntaxError):
        return f"{error.filename or error.name}:{error.lineno}"
    found, step = None, error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if file.endswith(".j2") and os.path.isfile(file):
            # Jinja2 rewrites the lines of what it renders, but not of macros that Python calls.
            template = step.tb_frame.f_globals.get("__jinja_template__")
            line = step.tb_lineno if template is None else template.get_corresponding_lineno(step.tb_lineno)
            found = f"{file}:{line}"
        step = step.tb_next
    return found


def reason(error: BaseException) -> str:
    """One sentence, which names what there is where a name was not found."""
    import jinja2

    text = str(error)
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.message or text
    if isinstance(error, jinja2.TemplateNotFound):
        return (
            f"there is no template {text!r}; `python -m quadrants templates list` shows those there are (write "
            "'builtin/c/task.c.j2' for the built-in one)"
        )
    if isinstance(error, jinja2.UndefinedError) and text.endswith(" is undefined"):
        return f"{text}; a template may use {', '.join(VARIABLES)}"
    return text if isinstance(error, jinja2.TemplateError) else f"{type(error).__name__}: {text}"
