"""Where in the user's program something was declared, for messages that come much later."""

from __future__ import annotations

import linecache
import os
import sys

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Site:
    """A line of the user's program. Formatted only when a message needs it: most declarations never do."""

    __slots__ = ("file", "line", "function")

    def __init__(self, file: str, line: int, function: str):
        self.file, self.line, self.function = file, line, function

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.line).strip()
        return f'  File "{self.file}", line {self.line}, in {self.function}\n    {text}'


def caller_site() -> Site:
    """The innermost line outside this package on the stack of the calling thread."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return Site(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
