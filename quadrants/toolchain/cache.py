"""The disk cache: one sealed file an artifact, named by what it was made from.

    <root>/<version>/<first 2 digits of the key>/<the other 62><suffix>

Nothing here waits for another process. A file appears whole under its name (`os.replace`), or not at all; two processes
that make the same artifact both put it, and either copy is right. The access time of a file is its last use, its
modification time is its creation; both are set here, so mount options do not matter.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from quadrants import _logging
from quadrants._version import __version_str__
from quadrants.toolchain import artifact, scratch
from quadrants.toolchain.clean import POLICIES, Entry, choose

DEFAULT_MAX_BYTES = 100 << 20
_STALE_SECONDS = 3600.0
_TEMPORARY = ".tmp-"
_FAILED = "failed"
_FAILED_KEPT = 20
# Paths that this process has read or written, through whichever cache object: cleaning spares them.
_used: set[str] = set()


def make_key(*parts: str) -> str:
    """The key of what is made from `parts`: 64 hexadecimal digits. No two lists of parts share one."""
    from hashlib import sha256

    state = sha256()
    for part in (__version_str__, *parts):
        data = part.encode("utf-8", "surrogatepass")
        state.update(b"%d\n" % len(data))
        state.update(data)
    return state.hexdigest()


class Info(NamedTuple):
    """What a cache holds: the folder, the files, their bytes, and how many files each package version has."""

    root: str
    entries: int
    bytes: int
    versions: dict[str, int]


class DiskCache:
    """Artifacts in a folder. No method raises for the state of the disk: what cannot be read is a miss, and a folder
    that cannot be written gives one warning and is then only read.

    `root`: the folder, made on first use; None keeps nothing on disk. `max_bytes`, `policy` ("never", "version", "lru",
    "fifo"; else ValueError) and `factor` say what `clean` drops. `version` names the sub-folder. With `quiet`
    nothing is said of a folder that cannot be used.
    """

    def __init__(
        self,
        root: str | None,
        max_bytes: int = DEFAULT_MAX_BYTES,
        policy: str = "lru",
        factor: float = 0.25,
        version: str = __version_str__,
        quiet: bool = False,
    ):
        if policy not in POLICIES:
            raise ValueError(f"the cleaning policy should be one of {', '.join(POLICIES)}, not {policy!r}")
        self.root = os.path.abspath(os.path.expanduser(root)) if root else None
        self.max_bytes = max_bytes
        self.policy = policy
        self.factor = factor
        self.version = version
        self.quiet = quiet
        self._lock = threading.Lock()
        self._trusted: bool | None = None
        self._writable = True

    def path(self, key: str, suffix: str = ".so") -> str:
        """Where the artifact is, or would be. Raises ValueError for a cache without a folder or a malformed key."""
        if self.root is None:
            raise ValueError("this cache keeps nothing on disk")
        if len(key) != 64 or not _is_hex(key):
            raise ValueError(f"a key has 64 hexadecimal digits, not {key!r}")
        return os.path.join(self.root, self.version, key[:2], key[2:] + suffix)

    def get(self, key: str, suffix: str = ".so") -> bytes | None:
        """The artifact, or None. Counts as a use of it."""
        found = self._read(key, suffix)
        return None if found is None else found[1]

    def find(self, key: str, suffix: str = ".so") -> str | None:
        """The path of the artifact when it is there and whole, else None. Counts as a use of it."""
        found = self._read(key, suffix)
        return None if found is None else found[0]

    def put(self, key: str, data: bytes, suffix: str = ".so") -> str | None:
        """Keep `data` under `key`, replacing what is there. Returns its path, None when it could not be kept."""
        if not self._usable() or not self._writable:
            return None
        path = self.path(key, suffix)
        content = artifact.seal(key, data)
        for attempt in range(8):
            try:
                self._publish(path, content)
                break
            except OSError as error:
                # Another process that clears the cache may remove the empty folder between two steps.
                if attempt == 7 or not isinstance(error, (FileNotFoundError, FileExistsError)):
                    self._give_up(error)
                    return None
        _used.add(path)
        return path

    def keep_failed(self, text: str, name: str, suffix: str) -> str | None:
        """Keep a source that did not compile, among the last 20. Returns its path, None when it could not be kept."""
        if not self._usable() or self.root is None:
            return None
        folder = os.path.join(self.root, _FAILED)
        path = os.path.join(folder, scratch.file_stem(name) + "-" + make_key(text)[:8] + suffix)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            scratch.write(path, text.encode())
            kept = sorted((entry.stat().st_mtime, entry.path) for entry in os.scandir(folder) if entry.is_file())
        except OSError:
            return None  # the caller has other folders to try
        for _, old in kept[:-_FAILED_KEPT]:
            if old != path:
                scratch.remove(old)
        return path

    def info(self) -> Info:
        """What is in the folder now, of all versions."""
        versions: dict[str, int] = {}
        total = 0
        for entry in self._entries():
            versions[entry.version] = versions.get(entry.version, 0) + 1
            total += entry.size
        return Info(self.root or "", sum(versions.values()), total, versions)

    def clear(self) -> int:
        """Remove every artifact, kept source and leftover; files that are not of the cache stay. Returns how many
        artifacts went."""
        removed = sum(_remove(entry.path) for entry in self._entries())
        if self.root is not None:
            for path in _files(os.path.join(self.root, _FAILED)):
                _remove(path)
            self._sweep(0.0)
            self._prune()
        return removed

    def clean(self) -> int:
        """Apply the policy: to be called at reset and at exit. Returns how many artifacts were removed.

        "lru" drops the least recently used and "fifo" the oldest: once the size reaches `max_bytes`,
        `floor(factor * entries)` of them and as many more as bring it below. What this process used stays, unless
        `max_bytes` is 0, which keeps nothing. "version" drops what other versions left; "never" drops nothing.
        """
        if self.policy == "never" or not self._usable() or not self._writable:
            return 0
        self._sweep(_STALE_SECONDS)
        entries = list(self._entries())
        used = _used if self.max_bytes > 0 else set()
        doomed = choose(entries, used, self.max_bytes, self.policy, self.factor, self.version)
        removed = sum(_remove(entry.path) for entry in doomed)
        if removed:
            _logging.debug(f"Removed {removed} of {len(entries)} files from the kernel cache {self.root}")
        return removed

    # ---- reading and writing

    def _publish(self, path: str, content: bytes) -> None:
        folder = os.path.dirname(path)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        temporary = os.path.join(folder, f"{_TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}")
        scratch.write(temporary, content)
        try:
            os.replace(temporary, path)
        except OSError:
            scratch.remove(temporary)
            raise

    def _read(self, key: str, suffix: str) -> tuple[str, bytes] | None:
        if not self._usable():
            return None
        path = self.path(key, suffix)
        try:
            with open(path, "rb") as file:
                owner = os.fstat(file.fileno())
                content = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            _logging.debug(f"Ignored the cached kernel {path}: {error}")
            return None
        if not _is_trusted(owner):
            _logging.debug(f"Ignored the cached kernel {path}: it belongs to another user")
            return None
        payload = artifact.unseal(key, content)
        if payload is None:
            _logging.debug(f"Ignored the cached kernel {path}: it is damaged; it will be compiled again")
            return None
        _used.add(path)
        try:
            os.utime(path, ns=(time.time_ns(), owner.st_mtime_ns))
        except OSError:
            pass  # a cache that can only be read does not remember its use
        return path, payload

    # ---- the state of the folder

    def _usable(self) -> bool:
        """Whether the folder may be read. Code is loaded from it, so it must be this user's or the system's."""
        if self.root is None:
            return False
        if self._trusted is None:
            self._trusted = True
            try:
                state = os.stat(self.root)
            except FileNotFoundError:
                return True
            except OSError as error:
                self._trusted = False
                self._warn(error.strerror or str(error))
                return False
            if not os.path.isdir(self.root):
                self._trusted = False
                self._warn("it is a file, not a folder")
            elif not _is_trusted(state):
                self._trusted = False
                self._warn(f"it belongs to another user (id {state.st_uid})")
        return self._trusted

    def _give_up(self, error: OSError) -> None:
        with self._lock:
            first, self._writable = self._writable, False
        if first:
            self._warn(error.strerror or str(error))

    def _warn(self, reason: str) -> None:
        if self.quiet:
            return
        _logging.warn(
            f"The kernel cache {self.root} cannot be used: {reason}. Kernels are compiled again in every process. "
            "Name another folder with qd.init(offline_cache_file_path=...), or turn it off with offline_cache=False."
        )

    # ---- the files

    def _entries(self) -> Iterator[Entry]:
        for version, path in self._candidates():
            if os.path.basename(path).startswith(_TEMPORARY):
                continue
            try:
                state = os.stat(path)
            except OSError:
                continue  # another process removed it
            yield Entry(path, version, state.st_size, state.st_mtime_ns, state.st_atime_ns)

    def _sweep(self, age: float) -> None:
        """Remove what killed writers left behind."""
        oldest = time.time() - age
        for _, path in self._candidates():
            if os.path.basename(path).startswith(_TEMPORARY):
                try:
                    if os.stat(path).st_mtime <= oldest:
                        scratch.remove(path)
                except OSError:
                    continue

    def _candidates(self) -> Iterator[tuple[str, str]]:
        """The files that have the form of ours. The folder may be one that holds other things too."""
        if self.root is None:
            return
        for folder in _folders(self.root):
            version = os.path.basename(folder)
            for shelf in _folders(folder):
                if len(os.path.basename(shelf)) != 2 or not _is_hex(os.path.basename(shelf)):
                    continue
                for path in _files(shelf):
                    name = os.path.basename(path)
                    if name.startswith(_TEMPORARY) or (_is_hex(name[:62]) and name[62:63] == "."):
                        yield version, path

    def _prune(self) -> None:
        """Remove folders that are empty now, the root last."""
        if self.root is None:
            return
        for folder in _folders(self.root):
            for shelf in _folders(folder):
                _remove_folder(shelf)
            _remove_folder(folder)
        _remove_folder(self.root)


def _is_hex(text: str) -> bool:
    return bool(text) and all(c in "0123456789abcdef" for c in text)


def _is_trusted(state: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or state.st_uid in (os.geteuid(), 0)


def _list(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []  # not there, not a folder, or not ours to see


def _folders(folder: str) -> Iterator[str]:
    return (entry.path for entry in _list(folder) if entry.is_dir(follow_symlinks=False))


def _files(folder: str) -> Iterator[str]:
    return (entry.path for entry in _list(folder) if entry.is_file(follow_symlinks=False))


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False  # another process was first, or it may not go; either way it is not counted
    return True


def _remove_folder(path: str) -> None:
    try:
        os.rmdir(path)
    except OSError:
        pass  # not empty
