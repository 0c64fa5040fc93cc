"""Where in the user's code a trace is: the functions under translation, and the errors that name their lines."""

from __future__ import annotations

import ast
import os

from quadrants import banner
from quadrants.errors import (
    QuadrantsCompilationError,
    QuadrantsRuntimeError,
    QuadrantsRuntimeTypeError,
    QuadrantsSyntaxError,
)
from quadrants.frontend.frame import Frame
from quadrants.ir.nodes import Loc
from quadrants.lang.described import plain_words

_WIDEST = 64  # bits of a dtype
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Where integers are documented to wrap.
_WRAPPING = (_PACKAGE + "algorithms" + os.sep, os.path.join(_PACKAGE, "distributed", "packing.py"))


class Positions:
    """The frames of the functions under translation, from the kernel inwards.

    frame: the innermost one. statements: how many were begun. def_lines: name of a function -> the line of its `def`.
    """

    __slots__ = ("frames", "frame", "statements", "def_lines")

    frame: Frame  # unset until the kernel is entered

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.statements = 0
        self.def_lines: dict[str, int] = {}

    def enter(self, frame: Frame) -> None:
        """Translate the function of `frame` until `leave`."""
        self.frames.append(frame)
        self.frame = frame

    def leave(self) -> None:
        """Go on in the caller. After an error nobody leaves: its message names all frames."""
        self.frames.pop()
        self.frame = self.frames[-1]

    def return_to(self, depth: int) -> None:
        """Give up the functions below the outer `depth` ones."""
        del self.frames[depth:]
        self.frame = self.frames[-1]

    def note_def(self, frame: Frame) -> None:
        """Of functions of one name the first counts."""
        name, line = frame.label, frame.source.tree.lineno + frame.source.line0
        self.def_lines[name] = min(line, self.def_lines.get(name, line))

    # ------------------------------------------------------------ lines

    @staticmethod
    def line_of(frame: Frame) -> int:
        line: int = getattr(frame.node, "lineno", 1)
        return line + frame.source.line0

    def loc(self) -> Loc:
        return Loc(tuple([(f.source.file, self.line_of(f), f.label) for f in self.frames]))

    def call_path(self) -> tuple:
        """Where the call that is being traced comes from."""
        return tuple((f.source.file, f.name, self.line_of(f)) for f in self.frames)

    def in_package(self) -> bool:
        """Whether what is under translation is a kernel or func of the package itself."""
        return bool(self.frame.source.file.startswith(_PACKAGE))

    def users_frame(self) -> Frame:
        """The innermost function that is the user's own."""
        own = [f for f in self.frames if not f.source.file.startswith(_PACKAGE)]
        return own[-1] if own else self.frame

    def reported_loc(self) -> Loc | None:
        """The place for a report that is printed while the kernel runs: the innermost line that is the user's own.

        A func that stays a function has many callers, so its report cannot name one. None where integers are
        documented to wrap.
        """
        if self.frame.source.file.startswith(_WRAPPING):
            return None
        frames = self.error_frames()
        k = len(frames) - 1
        while k > 0 and self.frames[k].kind == "inline" and frames[k].file.startswith(_PACKAGE):
            k -= 1
        return Loc(self.loc().frames, banner.format_frame(frames[k]).rstrip("\n"))

    def name_of(self, value) -> str:
        """The name in the line under translation that stands for the number `value`; "" where none does."""
        return next((name for name in self._names() if _is_number(self.frame.known(name), value)), "")

    def _names(self) -> dict[str, None]:
        """The names in the lines of the node under translation, which may be a part of what they are about."""
        node = self.frame.node or self.frame.source.tree
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        named = (x for x in ast.walk(self.frame.source.tree) if isinstance(x, ast.Name))
        return dict.fromkeys(x.id for x in named if x.lineno in lines)

    # ------------------------------------------------------------ errors

    def error_frames(self) -> list:
        out = []
        for f in self.frames:
            node = f.node or f.source.tree
            out.append(
                banner.Frame(
                    file=f.source.file,
                    line=node.lineno + f.source.line0,
                    col=node.col_offset + f.source.indent,
                    end_line=(node.end_lineno or node.lineno) + f.source.line0,
                    end_col=(node.end_col_offset or node.col_offset) + f.source.indent,
                    function=f.name,
                )
            )
        return out

    def translate_error(self, error: BaseException) -> BaseException:
        """The user's banner around an error met while tracing; foreign exceptions become compilation errors."""
        if getattr(error, "_qd_located", False):
            return error
        kind, message = told(error)
        if isinstance(error, OverflowError):
            message += self._too_large()
        frames = users([*self.error_frames(), *getattr(error, "_qd_inner", ())])
        located = kind(banner.format_banner(frames, plain_words(message)))
        return mark_located(located)

    def _too_large(self) -> str:
        """What follows on the error of Python about a number that is too large."""
        large = [f"`{name}`" for name in self._names() if _is_large(self.frame.known(name))]
        subject = " and ".join(large) or "A number of this line"
        return f". {subject} is too large for every dtype: write a real number, as in `1e20`, or use larger units."


def _is_number(x, value) -> bool:
    return type(x) is type(value) and x == value


def _is_large(x) -> bool:
    return isinstance(x, int) and x.bit_length() > _WIDEST


def users(frames: list) -> list:
    """The frames up to the last one in the user's files; all where there is none."""
    own = [k for k, frame in enumerate(frames) if not frame.file.startswith(_PACKAGE)]
    return frames[: own[-1] + 1] if own else frames


def mark_located(error: BaseException) -> BaseException:
    """The same error, whose message names its place already."""
    error._qd_located = True  # type: ignore[attr-defined]  # read by translate_error alone
    return error


def mark_inner(error: BaseException, frame: banner.Frame) -> BaseException:
    """The same error, which happened in a function of Python that is not under translation."""
    error._qd_inner = (frame,)  # type: ignore[attr-defined]  # read by translate_error alone
    return error


def told(error: BaseException) -> tuple[type[BaseException], str]:
    """What is raised for an error, and its message."""
    ours = isinstance(error, QuadrantsCompilationError)
    if ours or type(error) in (RuntimeError, QuadrantsRuntimeError, QuadrantsRuntimeTypeError):
        return type(error), str(error)
    if isinstance(error, RecursionError):
        return (
            QuadrantsSyntaxError,
            "Nested too deeply: split the expression, or end the recursion of a @qd.func with qd.static.",
        )
    return QuadrantsCompilationError, f"{type(error).__name__}: {error}"
