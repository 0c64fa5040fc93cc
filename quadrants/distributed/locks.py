"""One program at a time: a lock on a file, of which the system lets go when the process ends, however it does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(file: Path) -> Iterator[None]:
    """Wait until no other program is in here with the same file, which stays. Where there are no locks, do not wait."""
    handle = _locked(file)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _locked(file: Path) -> int | None:
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:  # of another user, say; what cannot be written there says so itself
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        os.close(handle)
        return None
    return handle
