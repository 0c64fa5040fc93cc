"""Which errors are shown at the line of the user that called, without the frames below it."""

from __future__ import annotations

import os
import traceback

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD = os.path.dirname(os.__file__) + os.sep
_OTHERS = os.path.join(_STANDARD, "site-packages") + os.sep
_CORE = (".pxi", ".pyx")
# What looks at arguments, signatures and source texts raises errors of Python for what users did.
_LOOKS_AT_CALLS = ("kernel.py", "program_text.py", "session.py")
_LOOK_AT_CALLS = ("calls", "data", "lang", "tapes")


def end_at_the_call(error: BaseException) -> bool:
    """Whether all frames of an error are the package's own, and the error is of the user, not of the package."""
    frames = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    if not frames or not isinstance(error, Exception) or not all(map(no_user_wrote, frames)):
        return False
    return type(error).__module__.startswith("quadrants.") or _looks_at_calls(frames[-1])


def no_user_wrote(file: str) -> bool:
    """Whether a file is of this package or of Python's library."""
    if file.startswith(_PACKAGE) or file.endswith(_CORE):
        return True
    return file.startswith(_STANDARD) and not file.startswith(_OTHERS)  # of `with`, `inspect`, ..


def _looks_at_calls(file: str) -> bool:
    if not file.startswith(_PACKAGE):
        return file.endswith(_CORE)
    first, _, rest = file[len(_PACKAGE) :].partition(os.sep)
    return first in (_LOOK_AT_CALLS if rest else _LOOKS_AT_CALLS)
