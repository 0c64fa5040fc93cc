"""What is said of a compile that takes long: a line on the terminal that goes again, or else one line of the log."""

from __future__ import annotations

import _thread
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from quadrants import _logging

DELAY = 0.5  # seconds until the line appears on a terminal
LOG_DELAY = 3.0  # and until a line of the log is written, where there is no terminal

_lock = threading.Lock()
_running: dict[int, tuple[float, str]] = {}
_shown: str | None = None
_serial = 0
_translation: tuple[float, str] | None = None  # when the one under way began, and of which kernel
_told = False  # the log, of it


@contextmanager
def translating(name: str) -> Iterator[None]:
    """The whole way of a kernel from its source, in which `tick` and `compiling` may say that it takes long."""
    global _translation, _told
    outer, outer_told = _translation, _told
    ticket = _start(f"compiling {name}")
    _translation, _told = (time.monotonic(), name), False
    try:
        yield
    finally:
        _translation, _told = outer, outer_told
        _end(ticket)


def tick() -> None:
    """Called now and then while a kernel is translated, which keeps the interpreter busy: no thread has to wait."""
    if _translation is None:
        return
    spent = time.monotonic() - _translation[0]
    if spent >= DELAY and _is_terminal():
        _paint()
    elif spent >= LOG_DELAY and not _told:
        _log(_translation[1], spent)


@contextmanager
def compiling(name: str, n: int = 1, m: int = 1) -> Iterator[None]:
    """Say "compiling <name> (n of m)" if the body takes long. A thread waits for that, and has ended afterwards."""
    terminal = _is_terminal()
    if terminal:
        ticket = _start(f"compiling {name} ({n} of {m})")
        timer = _Timer(DELAY, _paint)
    else:
        spent = time.monotonic() - _translation[0] if _translation is not None else 0.0
        timer = _Timer(max(LOG_DELAY - spent, 0.0), lambda: _log(name, LOG_DELAY))
    try:
        yield
    finally:
        timer.cancel()
        if terminal:
            _end(ticket)
        timer.join()


class _Timer:
    """A call after some seconds unless it is cancelled. What `threading` has for that takes four times as long to start
    and to end, which is a part of every compile."""

    def __init__(self, seconds: float, call: Callable[[], None]) -> None:
        self._wanted = _thread.allocate_lock()
        self._ended = _thread.allocate_lock()
        self._wanted.acquire()
        self._ended.acquire()
        _thread.start_new_thread(self._run, (seconds, call))

    def _run(self, seconds: float, call: Callable[[], None]) -> None:
        try:
            if not self._wanted.acquire(timeout=seconds):
                call()
        finally:
            self._ended.release()

    def cancel(self) -> None:
        self._wanted.release()

    def join(self) -> None:
        self._ended.acquire()


def _start(text: str) -> int:
    global _serial
    with _lock:
        _serial += 1
        _running[_serial] = (time.monotonic(), text)
        return _serial


def _end(ticket: int) -> None:
    with _lock:
        del _running[ticket]
    if _shown is not None:
        _paint()


def _log(name: str, spent: float) -> None:
    global _told
    if not _told:
        _told = _translation is not None
        _logging.info(f"Kernel '{name}' has been compiling for {spent:.0f} s")


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
