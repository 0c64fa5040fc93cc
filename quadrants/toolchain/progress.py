"""One line on the terminal while a compile takes long; nothing at all when standard error is no terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

DELAY = 0.5

_lock = threading.Lock()
_running: dict[int, tuple[float, str]] = {}
_shown: str | None = None
_serial = 0


@contextmanager
def compiling(name: str, n: int = 1, m: int = 1) -> Iterator[None]:
    """Show "compiling <name> (n of m)" while the body runs, once it has run for half a second."""
    global _serial
    if not _is_terminal():
        yield
        return
    with _lock:
        _serial += 1
        ticket = _serial
        _running[ticket] = (time.monotonic(), f"compiling {name} ({n} of {m})")
    timer = threading.Timer(DELAY, _paint)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with _lock:
            del _running[ticket]
        _paint()


def _is_terminal() -> bool:
    stream = sys.stderr
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # a closed stream
        return False


def _paint() -> None:
    """Bring the line up to date: the compile that has run longest, or nothing."""
    global _shown
    with _lock:
        now = time.monotonic()
        late = [entry for entry in _running.values() if now - entry[0] >= DELAY * 0.9]
        text = min(late)[1] if late else None
        if text == _shown:
            return
        _shown = text
        try:
            sys.stderr.write("\r\x1b[2K" + (text or ""))
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # the terminal went away; the compile goes on
