"""A compiler that is started before there is a text for it.

To start gcc with its two children, and for them to set up their tables, takes as long as their work on a small kernel.
So one waits, past all that, while a kernel is traced or another compiler works:

    main file, read at the start      standard input, opened once everything else is set up
    "no text? then stop"       after  #include "/dev/stdin"  <- blocks until the text comes, or this process is gone

At most one waits in a process. It is stopped after some seconds without a compile, and at the end of the process.
"""

from __future__ import annotations

import atexit
import functools
import os
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from quadrants.toolchain import scratch
from quadrants.toolchain.process import Child

IDLE_SECONDS = 3.0
# A wrapper could read the text and leave none for the compiler, or this process could die before it sends it.
_MAIN = b"#ifndef QD_TEXT\n#error no text\n#endif\n"
# What the text has to start with.
PREFIX = b"#define QD_TEXT\n"


class Waiting(NamedTuple):
    """A compiler that waits for its text, and where it will put the object. `stamp` is of the program behind it."""

    command: tuple[str, ...]
    env: dict[str, str]
    stamp: str
    child: Child
    main: str
    output: str
    since: float

    def clean(self) -> None:
        """Remove its files."""
        scratch.remove(self.main)
        scratch.remove(self.output)


_lock = threading.Lock()
_waiting: Waiting | None = None
_timer: threading.Timer | None = None


def _after_fork() -> None:
    """The compiler is the parent's; `process` has closed the pipes to it."""
    global _lock, _waiting, _timer
    _lock = threading.Lock()
    _waiting = _timer = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def wanted(command: Sequence[str]) -> bool:
    """Whether a compiler of this command may wait: it is gcc itself, and there is a second core for it to start on."""
    if os.environ.get("QD_WARM_COMPILER", "1") == "0" or not hasattr(os, "sched_getaffinity"):
        return False
    if not _is_gcc(command[0]):
        return False
    return all(word.startswith("-") for word in command[1:]) and len(os.sched_getaffinity(0)) > 1


@functools.lru_cache(maxsize=8)
def _is_gcc(program: str) -> bool:
    return "gcc" in os.path.basename(os.path.realpath(program))


def keep(command: tuple[str, ...], env: dict[str, str], stamp: str) -> None:
    """Have a compiler wait that runs `command` in `env`; one that does already, and is of this stamp, stays.

    When it cannot be started nothing waits, and whoever compiles next finds out why.
    """
    global _waiting, _timer
    with _lock:
        if _waiting is not None and _waiting[:3] == (command, env, stamp) and _waiting.child.alive():
            return
        _drop()
        _waiting = _start(command, env, stamp)
        if _waiting is not None and _timer is None:
            _timer = _later(IDLE_SECONDS)


def take(command: tuple[str, ...], env: dict[str, str], stamp: str) -> Waiting | None:
    """The compiler that waits with this command, environment and stamp, if one does; it is the caller's then."""
    global _waiting
    with _lock:
        waiting = _waiting
        if waiting is None or waiting[:3] != (command, env, stamp):
            return None
        _waiting = None
    if waiting.child.alive():
        return waiting
    waiting.child.stop()
    waiting.clean()
    return None


def drop() -> None:
    """Stop the compiler that waits, if any."""
    global _timer
    with _lock:
        _drop()
        if _timer is not None:
            _timer.cancel()
            _timer = None


def _start(command: tuple[str, ...], env: dict[str, str], stamp: str) -> Waiting | None:
    parent = next(scratch.candidates(), None)
    if parent is None:
        return None
    try:
        output = scratch.unique(parent, "next", ".o")
        main = output.removesuffix(".o") + ".c"
        scratch.write(main, _MAIN)
        arguments = ("-include", "/dev/stdin", "-x", "c", "-c", main, "-o", output)
        child = Child((*command, *arguments), {**env, "TMPDIR": os.path.dirname(output)})
    except OSError:
        return None
    return Waiting(command, env, stamp, child, main, output, time.monotonic())


def _drop() -> None:
    global _waiting
    waiting, _waiting = _waiting, None
    if waiting is not None:
        waiting.child.stop()
        waiting.clean()


def _later(seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, _expire)
    timer.daemon = True
    timer.start()
    return timer


def _expire() -> None:
    global _timer
    with _lock:
        _timer = None
        left = IDLE_SECONDS if _waiting is None else _waiting.since + IDLE_SECONDS - time.monotonic()
        if left <= 0.0:
            _drop()
        elif _waiting is not None:
            _timer = _later(left)


atexit.register(drop)
