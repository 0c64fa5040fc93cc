"""What a crash in native code prints while `debug=True`."""

from __future__ import annotations

import faulthandler
import sys

_watching = False


def watch() -> None:
    """Print where every thread stands on SIGSEGV, SIGABRT, SIGBUS, SIGFPE and SIGILL, unless somebody does already."""
    global _watching
    if not faulthandler.is_enabled() and sys.__stderr__ is not None:
        faulthandler.enable(sys.__stderr__, all_threads=True)
        _watching = True


def unwatch() -> None:
    """Undo `watch`."""
    global _watching
    if _watching:
        faulthandler.disable()
        _watching = False
