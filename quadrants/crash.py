"""What happens when the process crashes in native code while `debug=True`."""

from __future__ import annotations

import faulthandler
import sys

from quadrants import session

_installed = False


@session.on_init
def _install(cfg) -> None:
    """Print where every thread stands on SIGSEGV, SIGABRT, SIGBUS, SIGFPE and SIGILL, unless somebody else does."""
    global _installed
    if cfg.debug and not faulthandler.is_enabled() and sys.__stderr__ is not None:
        faulthandler.enable(sys.__stderr__, all_threads=True)
        _installed = True


@session.on_reset
def _remove() -> None:
    global _installed
    if _installed:
        faulthandler.disable()
        _installed = False
