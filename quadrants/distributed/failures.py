"""A rank that fails ends the whole job, as the others would wait for it without end."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import traceback
from types import TracebackType
from typing import Any, NoReturn

from quadrants.distributed.engines.interface import Engine

_LINES = 20  # of a traceback of any rank but the first
_READ = 0.2  # seconds, as launchers that abort drop what they have not passed on yet


class _Watch:
    """What is told of failures: the engine of the job. `ending`: somebody has spoken already."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.ending = threading.Lock()

    def fail(self, text: str, code: int) -> None:
        """Print the text once, and end all ranks."""
        if not self.ending.acquire(blocking=False):
            return
        engine = self.engine
        head = f"rank {engine.rank} of {engine.size} ({socket.gethostname()}): "
        sys.stdout.flush()
        # One write, so that lines of several ranks do not mix.
        os.write(2, (head + text.rstrip("\n") + "\n").encode("utf-8", "backslashreplace"))
        time.sleep(_READ)
        engine.abort(code)

    def told(self, kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
        """Fail with a traceback."""
        lines = "".join(traceback.format_exception(kind, error, trace)).splitlines()
        if self.engine.rank > 0 and len(lines) > _LINES - 1:
            lines = [lines[0], "  ..", *lines[-(_LINES - 3) :]]
        self.fail("\n".join(lines), 1)


_watch: _Watch | None = None


def watch(engine: Engine) -> None:
    """From now on an exception that nobody catches, in any thread, and `sys.exit` with a code end all ranks."""
    global _watch
    if _watch is not None:
        _watch.engine = engine
        return
    _watch = _Watch(engine)
    sys.excepthook = _watch.told
    threading.excepthook = _thread_failed
    sys.exit = _exit


def fail(text: str, engine: Engine) -> None:
    """Print the text as what this rank failed by, and end all ranks."""
    watch(engine)
    if _watch is not None:
        _watch.fail(text, 1)


def _thread_failed(failed: Any) -> None:
    if _watch is not None and failed.exc_type is not SystemExit:
        _watch.told(failed.exc_type, failed.exc_value, failed.exc_traceback)


class _Exit(SystemExit):
    """What `sys.exit` raises. Python has no hook for exits, but drops the exception with no frame running."""

    def __del__(self) -> None:
        try:
            sys._getframe(1)
        except ValueError:
            _left(self.code)


def _exit(status: Any = None, /) -> NoReturn:
    """As `sys.exit`, and if the status is not 0, all ranks end once the exception leaves the program."""
    raise _Exit(status)


def _left(code: Any) -> None:
    if code is None or code == 0 or _watch is None or sys.is_finalizing():
        return
    text = f"sys.exit({code!r})" if isinstance(code, int) else str(code)
    _watch.fail(text, code & 0xFF or 1 if isinstance(code, int) else 1)
