"""Folders whose content is trusted later, or that are cleaned: reached through what was checked.

A folder is opened once. Its descriptor tells the owner and the mode, and all in it is named relative to that: no path
is looked up twice. Below the folder that was named no symbolic link is followed, and nothing but a regular file is
read. What is made here is the owner's alone: folders 0700, files 0600, whatever the umask.

Where the system has no such descriptors (Windows) names are joined instead, and its own access rules have to do.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterator

# What a folder or file has to be: the reason why it is not, or "".
Rule = Callable[[os.stat_result], str]

_HAS_DESCRIPTORS = hasattr(os, "geteuid") and os.open in os.supports_dir_fd
_EXACT = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
# With O_PATH a folder can be looked at though its mode forbids to read it.
_FOLDER = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", os.O_RDONLY)
_TEMPORARY = ".tmp-"


class Refused(OSError):
    """A folder or file that is there and must not be used; `strerror` says why and `filename` which."""


def trusted(state: os.stat_result) -> str:
    """The rule for what is believed: this user's or the system's, and nobody else may write it."""
    if not _HAS_DESCRIPTORS:
        return ""
    if state.st_uid not in (os.geteuid(), 0):
        return f"it belongs to another user (id {state.st_uid})"
    if state.st_mode & 0o022:
        return f"its group or everybody may write it (mode {stat.S_IMODE(state.st_mode):o}; `chmod go-w` would do)"
    return ""


def own(state: os.stat_result) -> str:
    """The rule for what is cleaned: this user's."""
    if _HAS_DESCRIPTORS and state.st_uid != os.geteuid():
        return f"it belongs to another user (id {state.st_uid})"
    return ""


def private(state: os.stat_result) -> str:
    """The rule for what only this user may write."""
    return own(state) or trusted(state)


def known(state: os.stat_result) -> str:
    """The rule for what is written and never read: this user's or the system's, as /tmp is."""
    return "" if _HAS_DESCRIPTORS and state.st_uid == 0 else own(state)


def anyone(state: os.stat_result) -> str:
    """The rule for what is only looked at."""
    return ""


def is_temporary(name: str) -> bool:
    """Whether `Folder.publish` makes files of this name: `.tmp-<pid>-<16 hex>`."""
    pid, _, tail = name[len(_TEMPORARY) :].partition("-")
    return name.startswith(_TEMPORARY) and pid.isdecimal() and len(tail) == 16 and is_hex(tail)


def is_hex(text: str) -> bool:
    """Whether it is of lower-case hexadecimal digits alone."""
    return bool(text) and not text.strip("0123456789abcdef")


def is_fixed(path: str) -> bool:
    """Whether nobody else can put another file under this path: only then may it be looked up again.

    Every folder on the way belongs to this user or the system, and is written by nobody else or sticky, as /tmp is.
    """
    if not _HAS_DESCRIPTORS:
        return True
    path = os.path.realpath(path)
    while True:
        try:
            state = os.lstat(path)
        except OSError:
            return False
        if state.st_uid not in (os.geteuid(), 0):
            return False
        if state.st_mode & 0o022 and not state.st_mode & stat.S_ISVTX:
            return False
        parent = os.path.dirname(path)
        if parent == path:
            return True
        path = parent


def open_folder(path: str, rule: Rule, create: bool = False) -> Folder:
    """The folder; with `create` it is made if it is missing, and all above it. Raises Refused, or OSError as `os.open`
    does."""
    try:
        handle = _open_folder(path, None, 0)
    except FileNotFoundError:
        if not create:
            raise
        _make(path)
        handle = _open_folder(path, None, 0)
    except NotADirectoryError:
        if os.path.lexists(path):
            raise Refused(errno.ENOTDIR, "it is a file, not a folder", path) from None
        raise
    return Folder(path, handle, rule)


class Folder:
    """An open folder; a context manager that closes it. `path` is for messages. Raises Refused where `rule` does not
    hold, and closes the handle then."""

    def __init__(self, path: str, handle: int | None, rule: Rule):
        self.path = path
        self._handle = handle
        reason = rule(os.stat(path) if handle is None else os.fstat(handle))
        if reason:
            self.close()
            raise Refused(errno.EPERM, reason, path)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the handle; nothing else may be asked of the folder then."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    # ---- folders in it

    def folder(self, name: str, rule: Rule, create: bool = False) -> Folder:
        """A real folder in this one. Raises Refused, or OSError as `os.open` does."""
        path = os.path.join(self.path, name)
        where = self._at(name)
        if create:
            with contextlib.suppress(FileExistsError):
                make_folder(where, self._handle)
        try:
            handle = _open_folder(where, self._handle, getattr(os, "O_NOFOLLOW", 0))
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                raise Refused(errno.ENOTDIR, "it is no real folder", path) from None
            raise
        return Folder(path, handle, rule)

    def folders(self, matches: Callable[[str], bool], rule: Rule) -> Iterator[Folder]:
        """The real folders in this one whose names match and that fulfil the rule, each open until the next."""
        for name in filter(matches, self.names()):
            try:
                found = self.folder(name, rule)
            except OSError:
                continue  # gone, a link, a file, or another user's
            with found:
                yield found

    def remove_folder(self, name: str) -> None:
        """Remove the folder if it is empty and may be removed."""
        with contextlib.suppress(OSError):
            os.rmdir(self._at(name), dir_fd=self._handle)

    def remove_all(self) -> None:
        """Remove what is in it, as far as that is possible."""
        for name in self.names():
            try:
                with self.folder(name, own) as inner:
                    inner.remove_all()
                self.remove_folder(name)
            except OSError:
                self.remove(name)

    # ---- files in it

    def names(self) -> list[str]:
        """What is in it, sorted; nothing where it may not be listed."""
        try:
            if self._handle is None:
                return sorted(os.listdir(self.path))
            handle = os.open(".", os.O_RDONLY | getattr(os, "O_CLOEXEC", 0), dir_fd=self._handle)
            try:
                return sorted(os.listdir(handle))
            finally:
                os.close(handle)
        except OSError:
            return []

    def files(self, matches: Callable[[str], bool]) -> Iterator[tuple[str, os.stat_result]]:
        """Name and state of the regular files in it whose names match; links are not followed."""
        for name in filter(matches, self.names()):
            try:
                state = os.stat(self._at(name), dir_fd=self._handle, follow_symlinks=False)
            except OSError:
                continue  # another process removed it
            if stat.S_ISREG(state.st_mode):
                yield name, state

    def read(self, name: str, rule: Rule, *, use: bool = False) -> bytes:
        """The content of a regular file; with `use` its access time is set to now.

        Never waits, as the open of a pipe would. Raises Refused, or OSError as `os.open` does.
        """
        with open(self.open(name, os.O_RDONLY, rule), "rb") as file:
            content = file.read()
            if use and os.utime in os.supports_fd:
                with contextlib.suppress(OSError):  # a folder that can only be read does not remember its use
                    os.utime(file.fileno(), ns=(time.time_ns(), os.fstat(file.fileno()).st_mtime_ns))
        return content

    def open(self, name: str, flags: int, rule: Rule) -> int:
        """The handle of a regular file that is there. Raises as `read`."""
        handle = os.open(self._at(name), flags | _EXACT | getattr(os, "O_NONBLOCK", 0), dir_fd=self._handle)
        state = os.fstat(handle)
        reason = rule(state) if stat.S_ISREG(state.st_mode) else "it is no regular file"
        if reason:
            os.close(handle)
            raise Refused(errno.EPERM, reason, os.path.join(self.path, name))
        return handle

    def write(self, name: str, data: bytes) -> None:
        """A new file, whole or not at all. Raises OSError, also when something has that name."""
        handle = os.open(self._at(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | _EXACT, 0o600, dir_fd=self._handle)
        try:
            with open(handle, "wb") as file:
                if stat.S_IMODE(os.fstat(handle).st_mode) != 0o600 and hasattr(os, "fchmod"):
                    with contextlib.suppress(PermissionError):  # a file system without modes; readers look at them
                        os.fchmod(handle, 0o600)
                file.write(data)
        except OSError:
            self.remove(name)
            raise

    def publish(self, name: str, data: bytes) -> None:
        """The file of that name appears whole, in place of what was there, or not at all. Raises OSError."""
        temporary = f"{_TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}"
        self.write(temporary, data)
        try:
            os.replace(self._at(temporary), self._at(name), src_dir_fd=self._handle, dst_dir_fd=self._handle)
        except OSError:
            self.remove(temporary)
            raise

    def remove(self, name: str) -> bool:
        """Delete a file, or a link itself; whether that was possible."""
        try:
            os.unlink(self._at(name), dir_fd=self._handle)
        except OSError:
            return False  # another process was first, or it may not go
        return True

    def _at(self, name: str) -> str:
        if os.path.basename(name) != name or name in ("", ".", ".."):
            raise OSError(errno.EINVAL, "that is no name of a file in a folder", name)
        return name if self._handle is not None else os.path.join(self.path, name)


def _open_folder(where: str, parent: int | None, more: int) -> int | None:
    if _HAS_DESCRIPTORS:
        return os.open(where, _FOLDER | more, dir_fd=parent)
    os.listdir(where)  # raises what an open would
    return None


def _make(path: str) -> None:
    above = os.path.dirname(path)
    if above != path and above and not os.path.isdir(above):
        _make(above)
    with contextlib.suppress(FileExistsError):
        make_folder(path)


def make_folder(where: str, parent: int | None = None) -> None:
    """One new folder of mode 0700; `parent` is a descriptor. Raises OSError as `os.mkdir` does."""
    os.mkdir(where, 0o700, dir_fd=parent)
    handle = _open_folder(where, parent, getattr(os, "O_NOFOLLOW", 0))
    if handle is not None:
        try:
            # A umask may take away what is the owner's own.
            if stat.S_IMODE(os.fstat(handle).st_mode) & 0o700 != 0o700:
                os.chmod(f"/proc/self/fd/{handle}", 0o700)
        finally:
            os.close(handle)
