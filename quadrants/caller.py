"""Lines of the user, and what is said of them: nothing else in the package gives warnings."""

from __future__ import annotations

import contextlib
import os
import sys
import types
import warnings

_shown: dict[str, dict] = {}  # by file, in the form that `warnings` keeps
_PASSED = (os.path.dirname(os.path.abspath(__file__)) + os.sep, contextlib.__file__)


def frame() -> types.FrameType:
    """The innermost frame that is not of this package; of one that runs by itself, the outermost."""
    found = sys._getframe(1)
    while found.f_back is not None and found.f_code.co_filename.startswith(_PASSED):
        found = found.f_back
    return found


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """A Python warning at the line of the user that is running."""
    at = frame()
    registry = at.f_globals.setdefault("__warningregistry__", {})
    module = at.f_globals.get("__name__") or "<unknown>"
    warnings.warn_explicit(text, category, at.f_code.co_filename, at.f_lineno, module, registry)


def warn_at(file: str, line: int, text: str, category: type[Warning] = UserWarning) -> None:
    """A Python warning at a line of a kernel. As with all of Python's, the filters decide how often it is shown: by
    default once, though a kernel is translated again for a derivative or other arguments.
    """
    warnings.warn_explicit(text, category, file, line, registry=_shown.setdefault(file, {}))
