"""Private folders of this process: for the compiler's temporary files, and for binaries that live in no cache.

A folder holds a locked file for as long as its process lives. The lock dies with the process, however that ends, so
the next process that needs a folder knows which ones were left behind and removes them.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator

PREFIX = "quadrants-"
_LOCK_NAME = "in-use"
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
    """Parents to try, best first."""
    named = [os.environ.get(variable) for variable in ("QD_TMP_DIR", "TMPDIR", "TEMP", "TMP")]
    seen = set()
    for parent in (*named, "/tmp", "/dev/shm", "/var/tmp", os.path.expanduser("~")):
        if parent and parent not in seen and os.path.isdir(parent):
            seen.add(parent)
            yield parent


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


def file_stem(name: str) -> str:
    """`name` made fit for a file name."""
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in name)[:64] or "kernel"


def keep(data: bytes, name: str, suffix: str, *, executable: bool) -> str:
    """Write `data` to a file that lives as long as the process, and return its path.

    With `executable` the file can be loaded as a shared object. Raises OSError when no folder takes it.
    """
    trouble: OSError | None = None
    for parent in candidates():
        try:
            if executable and not allows_execution(parent):
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
        with open(path, "wb") as file:
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
        made = os.path.join(parent, f"{PREFIX}{os.getpid()}-{os.urandom(6).hex()}")
        os.mkdir(made, 0o700)
        lock = os.path.join(made, _LOCK_NAME)
        handle = -1
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            # Another process may have swept the folder away between these steps, taking it for a dead one's.
            if (_flock(handle) and os.path.exists(lock)) or attempt == 7:
                _held.append(handle)
                atexit.register(_discard, os.getpid(), made)
                return made
        except OSError:
            _delete(made)
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
        with os.scandir(parent) as entries:
            ours = [e.path for e in entries if e.name.startswith(PREFIX) and _is_ours(e)]
    except OSError:
        return  # a folder that can be written but not listed
    for path in ours:
        try:
            handle = os.open(os.path.join(path, _LOCK_NAME), os.O_RDWR)
        except OSError:
            continue  # being made right now, or not one of these folders
        try:
            if _flock(handle):
                _delete(path)
        finally:
            os.close(handle)


def _is_ours(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except OSError:
        return False


def _discard(pid: int, path: str) -> None:
    if os.getpid() == pid:
        _delete(path)


def _delete(path: str) -> None:
    try:
        for name in os.listdir(path):
            remove(os.path.join(path, name))
        os.rmdir(path)
    except OSError:
        import shutil  # a compiler made folders of its own; rare, and the import costs more than all the rest

        shutil.rmtree(path, ignore_errors=True)
