"""Private folders of this process: for the compiler's temporary files, and for binaries that live in no cache.

A folder holds a locked file for as long as its process lives. The lock dies with the process, however that ends, so
the next process that needs a folder knows which ones were left behind and removes them.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections.abc import Iterator

from quadrants import folders
from quadrants.config import absolute_folder
from quadrants.toolchain import names
from quadrants.toolchain.names import file_stem

_LOCK_NAME = "in-use"
_EXACT = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
# A compiler that was killed a moment ago may still make a file.
_ATTEMPTS = 30
_lock = threading.RLock()
# One folder a parent; keyed by the process too, because a forked child must not use or delete its parent's.
_folders: dict[tuple[int, str], str] = {}
_held: list[int] = []
_serial = 0


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def candidates() -> Iterator[str]:
    """Parents to try, best first. One in which others can exchange our folder for theirs is the last resort."""
    named = [os.environ.get(variable) for variable in ("QD_TMP_DIR", "TMPDIR", "TEMP", "TMP")]
    found = []
    for parent in (*named, "/tmp", "/dev/shm", "/var/tmp", absolute_folder("~")):
        if parent and parent not in found and os.path.isdir(parent):
            found.append(parent)
            if folders.is_fixed(parent):
                yield parent
    yield from (parent for parent in found if not folders.is_fixed(parent))


def allows_execution(folder: str) -> bool:
    """Whether a shared object in `folder` can be loaded: false on file systems mounted noexec."""
    if not hasattr(os, "ST_NOEXEC"):
        return True
    return not os.statvfs(folder).f_flag & os.ST_NOEXEC


def folder(parent: str) -> str:
    """The private folder of this process under `parent`, made on first use. Raises OSError when it cannot be made."""
    key = (os.getpid(), parent)
    with _lock:
        found = _folders.get(key)
        if found is None or not os.path.isdir(found):
            found = _folders[key] = _make(parent)
        return found


def unique(parent: str, name: str, suffix: str) -> str:
    """A path under `folder(parent)` that nobody else uses; `name` is for the reader only."""
    global _serial
    where = folder(parent)
    with _lock:
        _serial += 1
        return os.path.join(where, f"{file_stem(name)}-{_serial}{suffix}")


def keep(data: bytes, name: str, suffix: str, *, executable: bool) -> str:
    """Write `data` to a file that lives as long as the process, and return its path.

    With `executable` the file can be loaded as a shared object. Raises OSError when no folder takes it.
    """
    trouble: OSError | None = None
    for parent in candidates():
        try:
            if executable and not (allows_execution(parent) and folders.is_fixed(parent)):
                continue
            path = unique(parent, name, suffix)
            write(path, data)
            return path
        except OSError as error:
            trouble = error
    if executable and hasattr(os, "memfd_create"):
        return _keep_in_memory(data, name)
    raise trouble or OSError("no folder for temporary files; set QD_TMP_DIR to one that can be written")


def write(path: str, data: bytes) -> None:
    """Write a whole new file or none: what a full disk cut short is removed. Raises OSError."""
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(path, flags, 0o600), "wb") as file:
            file.write(data)
    except OSError:
        remove(path)
        raise


def remove(path: str) -> None:
    """Delete a file of ours. One that is gone already, or that cannot go, is no reason to stop."""
    try:
        os.unlink(path)
    except OSError:
        pass


def _keep_in_memory(data: bytes, name: str) -> str:
    handle = os.memfd_create(file_stem(name))
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
    _held.append(handle)
    return f"/proc/self/fd/{handle}"


def _make(parent: str) -> str:
    _sweep(parent)
    for attempt in range(8):
        name = f"{names.SCRATCH}{os.getpid()}-{os.urandom(6).hex()}"
        made = os.path.join(parent, name)
        folders.make_folder(made)
        handle = -1
        try:
            handle = os.open(os.path.join(made, _LOCK_NAME), os.O_RDWR | os.O_CREAT | os.O_EXCL | _EXACT, 0o600)
            # Another process may have swept the folder away between these steps, taking it for a dead one's.
            if (_flock(handle) and os.path.exists(os.path.join(made, _LOCK_NAME))) or attempt == 7:
                _held.append(handle)
                atexit.register(_discard, os.getpid(), parent, name)
                return made
        except OSError:
            _delete(parent, name)
            if handle >= 0:
                os.close(handle)
            raise
        os.close(handle)
    raise AssertionError("the loop returns or raises")


def _flock(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows: folders are removed at exit only
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sweep(parent: str) -> None:
    """Remove the folders of dead processes of this user."""
    if not hasattr(os, "geteuid"):
        return
    try:
        with folders.open_folder(parent, folders.anyone) as outer:
            for left in outer.folders(names.is_scratch, folders.private):
                _remove_if_free(outer, left)
    except OSError:
        return  # a folder that can be written but not opened


def _remove_if_free(outer: folders.Folder, left: folders.Folder) -> None:
    """Remove a folder whose lock nobody holds, and hold it meanwhile."""
    try:
        handle = left.open(_LOCK_NAME, os.O_RDWR, folders.private)
    except OSError:
        return  # being made right now, or not one of these folders
    try:
        if _flock(handle):
            left.remove_all()
            outer.remove_folder(os.path.basename(left.path))
    finally:
        os.close(handle)


def _discard(pid: int, parent: str, name: str) -> None:
    if os.getpid() != pid:
        return
    for _ in range(_ATTEMPTS):
        _delete(parent, name)
        if not os.path.exists(os.path.join(parent, name)):
            return
        time.sleep(0.01)


def _delete(parent: str, name: str) -> None:
    with contextlib.suppress(OSError), folders.open_folder(parent, folders.anyone) as outer:
        with outer.folder(name, folders.own) as made:
            made.remove_all()
        outer.remove_folder(name)
