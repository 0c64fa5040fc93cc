"""The disk cache: one sealed file an artifact, named by what it was made from.

    <root>/<version>/<first 2 digits of the key>/<the other 62><suffix>

Nothing here waits for another process. A file appears whole under its name (`os.replace`), or not at all; two processes
that make the same artifact both put it, and either copy is right. The access time of a file is its last use, its
modification time is its creation; both are set here, so mount options do not matter.

What is read is code, or becomes code: it counts only where nobody but its owner could have written it, who is this user
or the system. `quadrants.folders` says how that is known. docs/guide/cache.md says it to users.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Collection, Iterator
from typing import NamedTuple

from quadrants import _logging, folders
from quadrants._version import __version_str__
from quadrants.config import absolute_folder
from quadrants.folders import Folder, Refused
from quadrants.toolchain import artifact, kept_sources, names
from quadrants.toolchain.clean import POLICIES, Entry, choose

DEFAULT_MAX_BYTES = 100 << 20
_STALE_SECONDS = 3600.0
_FAILED = "failed"
# Another process that clears the cache may remove an empty folder between two steps of a write.
_ATTEMPTS = 16
# Of the process, not of the folder.
_PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
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

    `root`: the folder, made on first use; None or "" keeps nothing on disk, as does a `~` that stands for no folder.
    `max_bytes`, `policy` ("never", "version", "lru", "fifo"; else ValueError) and `factor` say what `clean` drops.
    `version` names the sub-folder. With `quiet` nothing is said of a folder that cannot be used.
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
        if not names.is_version(version) or os.sep in version:
            raise ValueError(f"a version looks like '1.3.3', not {version!r}")
        self.root = absolute_folder(root or "") or None
        self.max_bytes = max_bytes
        self.policy = policy
        self.factor = factor
        self.version = version
        self.quiet = quiet
        self._lock = threading.Lock()
        self._told = False
        self._readable = True
        self._writable = True
        self.changed = False  # whether something was put here since it was made

    def path(self, key: str, suffix: str = ".so") -> str:
        """Where the artifact is, or would be. Whoever opens it looks the path up once more: see `folders.is_fixed`.

        Raises ValueError for a cache without a folder, a malformed key or suffix.
        """
        if self.root is None:
            raise ValueError("this cache keeps nothing on disk")
        if len(key) != 64 or not folders.is_hex(key):
            raise ValueError(f"a key has 64 hexadecimal digits, not {key!r}")
        if not names.is_suffix(suffix):
            raise ValueError(f"a suffix is a dot and up to 8 letters, not {suffix!r}")
        return os.path.join(self.root, self.version, key[:2], key[2:] + suffix)

    @property
    def usable(self) -> bool:
        """Whether there is a folder, and nothing was found so far that forbids to read it."""
        return self.root is not None and self._readable

    def get(self, key: str, suffix: str = ".so") -> bytes | None:
        """The artifact, or None. Counts as a use of it."""
        if not self.usable:
            return None
        path = self.path(key, suffix)
        try:
            content = self._read(key, suffix)
        except FileNotFoundError:
            return None
        except OSError as error:
            _logging.debug(f"Ignored the cached kernel {path}: {error.strerror or error}")
            return None
        payload = artifact.unseal(key, content)
        if payload is None:
            _logging.debug(f"Ignored the cached kernel {path}: it is damaged; it will be compiled again")
            return None
        _used.add(path)
        return payload

    def put(self, key: str, data: bytes, suffix: str = ".so") -> str | None:
        """Keep `data` under `key`, replacing what is there. Returns its path, None when it could not be kept."""
        if not self.usable or not self._writable:
            return None
        path = self.path(key, suffix)
        content = artifact.seal(key, data)
        for attempt in range(_ATTEMPTS):
            try:
                with self._shelf(key, create=True) as shelf:
                    shelf.publish(key[2:] + suffix, content)
                break
            except Refused:
                return None
            except IsADirectoryError as error:
                _logging.debug(f"The kernel {path} is not kept: {error.strerror}")
                return None
            except OSError as error:
                if attempt == _ATTEMPTS - 1 or not isinstance(error, (FileNotFoundError, FileExistsError)):
                    self._give_up(error)
                    return None
        _used.add(path)
        self.changed = True
        return path

    def keep_failed(self, text: str, name: str, suffix: str) -> str | None:
        """Keep a source that did not compile, among the last 20. Returns its path, None when it could not be kept."""
        if not self.usable:
            return None
        try:
            with self._root(create=True) as root, root.folder(_FAILED, folders.trusted, create=True) as folder:
                return kept_sources.keep(folder, text, name, suffix)
        except OSError:
            return None  # the caller has other folders to try

    def info(self) -> Info:
        """What is in the folder now, of all versions."""
        versions: dict[str, int] = {}
        total = 0
        for entry in self._entries():
            versions[entry.version] = versions.get(entry.version, 0) + 1
            total += entry.size
        return Info(self.root or "", sum(versions.values()), total, versions)

    def clear(self) -> int:
        """Remove every artifact, kept source and leftover; what does not have the name of one stays, and so does the
        folder itself. Returns how many artifacts went."""
        if self.root is None:
            return 0
        removed = 0
        for shelf in self._shelves(folders.own):
            for name, _ in shelf.files(_is_ours):
                removed += shelf.remove(name) and names.is_entry(name)
        try:
            with folders.open_folder(self.root, folders.own) as root:
                self._remove_empty(root)
        except OSError:
            pass  # there is none, or it is another user's
        return removed

    def clean(self) -> int:
        """Apply the policy: to be called at reset and at exit. Returns how many artifacts were removed.

        "lru" drops the least recently used and "fifo" the oldest: once the size reaches `max_bytes`,
        `floor(factor * entries)` of them and as many more as bring it below. What this process used stays, unless
        `max_bytes` is 0, which keeps nothing. "version" drops what other versions left; "never" drops nothing.
        """
        if self.policy == "never" or not self.usable or not self._writable:
            return 0
        self._sweep()
        entries = list(self._entries(folders.own))
        used = _used if self.max_bytes > 0 else set()
        doomed = choose(entries, used, self.max_bytes, self.policy, self.factor, self.version)
        removed = self._remove({entry.path for entry in doomed}) if doomed else 0
        if removed:
            _logging.debug(f"Removed {removed} of {len(entries)} files from the kernel cache {self.root}")
        return removed

    # ---- the folder, opened and checked

    def _root(self, create: bool = False) -> Folder:
        """Raises Refused, or OSError as `os.open` does. What is refused once is left alone from then on."""
        assert self.root is not None
        try:
            return folders.open_folder(self.root, folders.trusted, create)
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno not in _PASSING:
                self._refuse(error)
            raise

    def _shelf(self, key: str, create: bool = False) -> Folder:
        with self._root(create) as root:
            try:
                with root.folder(self.version, folders.trusted, create) as version:
                    return version.folder(key[:2], folders.trusted, create)
            except Refused as error:
                self._refuse(error)
                raise

    def _read(self, key: str, suffix: str) -> bytes:
        with self._shelf(key) as shelf:
            return shelf.read(key[2:] + suffix, folders.trusted, use=True)

    def _refuse(self, error: OSError) -> None:
        self._readable = False
        self._warn(error)

    def _give_up(self, error: OSError) -> None:
        self._writable = False
        self._warn(error)

    def _warn(self, error: OSError) -> None:
        with self._lock:
            told, self._told = self._told, True
        if told or self.quiet:
            return
        reason = error.strerror or str(error)
        if isinstance(error, Refused) and error.filename != self.root:
            reason = f"of {error.filename}, {reason}"
        _logging.warn(
            f"The kernel cache {self.root} cannot be used: {reason}. Kernels are compiled again in every process. "
            "Name another folder with qd.init(offline_cache_file_path=...), or turn it off with offline_cache=False."
        )

    # ---- all files

    def _shelves(self, rule: folders.Rule) -> Iterator[Folder]:
        """The shelves of all versions, each open until the next. The root may hold other things too."""
        if self.root is None:
            return
        try:
            root = folders.open_folder(self.root, rule)
        except OSError:
            return
        with root:
            for version in root.folders(names.is_version, rule):
                yield from version.folders(names.is_shelf, rule)

    def _entries(self, rule: folders.Rule = folders.anyone) -> Iterator[Entry]:
        for shelf in self._shelves(rule):
            version = os.path.basename(os.path.dirname(shelf.path))
            for name, state in shelf.files(names.is_entry):
                path = os.path.join(shelf.path, name)
                yield Entry(path, version, state.st_size, state.st_mtime_ns, state.st_atime_ns)

    def _remove(self, paths: Collection[str]) -> int:
        removed = 0
        for shelf in self._shelves(folders.own):
            for name, _ in shelf.files(names.is_entry):
                if os.path.join(shelf.path, name) in paths:
                    removed += shelf.remove(name)
        return removed

    def _sweep(self) -> None:
        """Remove what killed writers left behind. A time that is yet to come tells that the clock was set back."""
        now = time.time()
        for shelf in self._shelves(folders.own):
            for name, state in shelf.files(folders.is_temporary):
                if abs(now - state.st_mtime) >= _STALE_SECONDS:
                    shelf.remove(name)

    @staticmethod
    def _remove_empty(root: Folder) -> None:
        """Remove kept sources, and the folders in the root that are ours and empty now."""
        for failed in root.folders(_FAILED.__eq__, folders.own):
            kept_sources.clear(failed)
        root.remove_folder(_FAILED)
        for version in root.folders(names.is_version, folders.own):
            for name in filter(names.is_shelf, version.names()):
                version.remove_folder(name)
            root.remove_folder(os.path.basename(version.path))


def _is_ours(name: str) -> bool:
    return names.is_entry(name) or folders.is_temporary(name)
