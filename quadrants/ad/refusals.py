"""What cannot be differentiated, and the errors that say so with file, line and kernel."""

from __future__ import annotations

import os

from quadrants.banner import Frame
from quadrants.errors import QuadrantsCompilationError, QuadrantsRuntimeError


class Refusals:
    """Raises for one kernel."""

    def __init__(self, kernel: str, mode: str):
        self.kernel = kernel
        self.mode = mode

    def raise_(self, text: str, loc=None, kind: type = QuadrantsRuntimeError):
        where = ""
        if loc is not None:
            file, line, function = users_frame(loc)
            where = f'File "{file}", line {line}, in {function}:\n'
        error = kind(f"{where}[kernel={self.kernel}, {self.mode} mode] {text}")
        error._qd_located = True
        raise error

    def random(self, loc):
        self.raise_(
            "RandStmt not supported in automatic differentiation: a second run would draw other numbers. Draw them in "
            "a kernel of their own and read them from a field.",
            loc,
        )

    def mixed(self, loc):
        self.raise_(
            "Invalid program input for autodiff: Mixed usage of for-loops and statements without looping at the top "
            "level. Please split the kernel: one with the loops, one with the other statements, or put the statements "
            "into the loops.",
            loc,
        )

    def dynamic_loop(self, loc):
        self.raise_(
            "Cannot differentiate a loop with a non static range below the top level in reverse mode: past values of "
            "what it carries, if anything, need an adstack. Write qd.static(range(...)), or allow stacks by "
            "qd.init(ad_stack_experimental_enabled=True).",
            loc,
            QuadrantsCompilationError,
        )

    def construct(self, what: str, loc):
        inside = loc.frames[len(_users(loc)) :] if loc is not None else ()
        if inside and "linalg" in os.path.dirname(inside[0][0]):
            name = _LINALG.get(inside[0][2], inside[0][2])
            self.raise_(
                f"qd.{name} is not supported in AutoDiff: call it in a function with a gradient of its own "
                "(qd.ad.grad_replaced).",
                loc,
            )
        self.raise_(f"{what} is not supported in AutoDiff. {_INSTEAD.get(what, '')}".rstrip(), loc)

    def real_function(self, name: str, loc):
        self.raise_(
            f"The call of the real function '{name}' is not supported in AutoDiff. Write '{name}' as a @qd.func.", loc
        )

    def atomic(self, op: str, array, loc):
        self.raise_(
            f"atomic_{op} on '{array.label or array.name}', which has a gradient, has no derivative: only atomic_add "
            "and atomic_sub do. Use an array without gradient, or a kernel with a gradient of its own "
            "(qd.ad.grad_replaced).",
            loc,
        )

    def unknown(self, what: str, loc):
        self.raise_(
            f"The derivative needs {what}, which a second run cannot know. Keep it in an array of integers in one "
            "kernel, and read it in another.",
            loc,
        )

    def bound(self, why: str, loc):
        self.raise_(
            f"adstack bound at {loc.file}:{loc.line} is unresolved: how long this loop is cannot be told before the "
            f"launch, because {why}. Bounds are made of numbers, integer arguments, shapes, and elements of integer "
            "fields and arrays; or set qd.init(ad_stack_size=N).",
            loc,
        )

    def cross_iteration(self, array, loc):
        self.raise_(
            f"Cross-iteration read-after-write of '{array.label or array.name}': one iteration of a parallel loop "
            "reads a cell that another one writes, so the order of the derivative is not known. Read and write "
            "different arrays; or run the loop in order, by qd.loop_config(serialize=True) in front of it, if no "
            "derivative needs a value that is overwritten (`x[i] += x[i - 1]`, not `x[i] *= x[i - 1]`).",
            loc,
        )

    def cross_stores(self, array, loc):
        self.raise_(
            f"Cross-iteration stores to '{array.label or array.name}': two iterations of a parallel loop write to one "
            "cell, and not both add to it, so the order of the derivative is not known. Write to different cells; or "
            "run the loop in order, by qd.loop_config(serialize=True) in front of it, if no derivative needs a value "
            "that is overwritten.",
            loc,
        )


# Functions of the package behind those of the same name, or behind these.
_LINALG = {"eig2": "eig"}
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _users(loc) -> tuple:
    """The frames of a place up to the last one in the user's files; all where there is none."""
    for count in range(len(loc.frames), 0, -1):
        if not loc.frames[count - 1][0].startswith(_PACKAGE):
            return loc.frames[:count]
    return loc.frames


def users_frame(loc) -> tuple:
    """(file, line, function) of a place: the innermost in the user's files, if there is one."""
    return _users(loc)[-1]


_INSTEAD = {
    "`while`": "Write a `for` loop over a range.",
    "`break`": "Put the rest of the loop's body under an `if`.",
    "`continue`": "Put the rest of the loop's body under an `if`.",
}


def frames_of(loc) -> list:
    """A place in the user's code as the message of a check shows it: the whole line."""
    return [Frame(file, line, 0, line, 10**6, name) for file, line, name in loc.frames] if loc is not None else []
