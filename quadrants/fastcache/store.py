"""Looking kernels up by their source, and keeping them."""

from __future__ import annotations

import json
import os
import sys

from quadrants import _logging, caller, session
from quadrants.emit import environment
from quadrants.fastcache import describe, entry, features, sources
from quadrants.fastcache.describe import Unknown
from quadrants.frontend import source as source_of
from quadrants.lang.struct_type import StructType
from quadrants.toolchain.cache import make_key

# To be raised when the meaning of a key or of a file changes within a version.
FORMAT = "2"
_ENTRY, _READS = ".kernel", ".reads"
_MOST_READS = 64
_told: set = set()


def look_up(kernel, args: tuple, options: dict, backend):
    """A Lookup for one call of a fastcache kernel; None for arguments that no key can stand for."""
    kernel.src_ll_cache_observations.clear()
    try:
        with describe.at_one_time():
            key = _key(kernel, args, options, backend)
    except Unknown as reason:
        _tell(kernel, reason)
        return None
    kernel.src_ll_cache_observations.cache_key_generated = True
    return Lookup(kernel, args, backend, key)


def _key(kernel, args: tuple, options: dict, backend) -> str:
    code = kernel.fn.__code__
    paths = environment.search_path(kernel.template_path, options.get("template_path") or ())
    parts = [
        "fastcache", FORMAT, sources.package_state(), repr(sys.version_info[:2]),
        code.co_filename, str(code.co_firstlineno), describe.name(kernel.fn), kernel.mode,
        repr(session.cache_key()), str(options["threads"]),
        backend.identity(options), repr(paths), repr(environment.state(paths)),
        repr((kernel._primal.graph, kernel._primal.checkpoints)),
    ]  # fmt: skip
    for (name, a), (_, kind), x in zip(kernel.parameters, kernel.kinds, args):
        parts.append(f"{name}: {describe.annotation(a)} = {features.of_argument(x, kind, name)}")
    return make_key(*parts)


class Lookup:
    """What the disk knows of one kernel called with arguments like these."""

    def __init__(self, kernel, args: tuple, backend, key: str):
        self.kernel = kernel
        self.args = args
        self.backend = backend
        self.cache = backend.cache
        self.key = key

    # ------------------------------------------------------------ reading

    def load(self):
        """The plan, made without a trace; None when there is no entry that still holds."""
        for reads in self._known_reads() or [[]]:
            found = self._holding(reads)
            if found is None:
                continue
            self.kernel.src_ll_cache_observations.cache_validated = True
            plan = self.backend.load(self.kernel, self.args, found.recipe, found.artifact)
            if plan is not None:
                self.kernel.src_ll_cache_observations.cache_loaded = True
                return plan
        return None

    @describe.at_one_time()
    def _holding(self, reads: list):
        """The entry of arguments that are read this way, if all that it depends on is as it was."""
        try:
            found = self._entry(self._entry_key(reads))
        except Unknown as reason:
            # These arguments are not like those that this way of reading them belongs to.
            if reason.kind == "PROPERTY_RAISED":
                _tell(self.kernel, reason)
            return None
        changed = self._changed(found) if found is not None else ""
        if changed:
            _logging.debug(f"[FASTCACHE] {self.kernel.fn.__name__} is translated again: {changed}")
            return None
        return found

    def _entry_key(self, reads: list) -> str:
        texts = [f"{n}.{path}: {features.of_member(self.args[n], path, mode)}" for n, path, mode in reads]
        return make_key(self.key, *texts)

    def _known_reads(self) -> list:
        content = self._read(self.key, _READS)
        try:
            return [[(n, tuple(path), mode) for n, path, mode in reads] for reads in json.loads(content or b"[]")]
        except (ValueError, TypeError) as error:
            self._damaged(f"Failed to parse {self.cache.path(self.key, _READS)}: {error}")
            return []

    def _entry(self, key: str):
        content = self._read(key, _ENTRY)
        if content is None:
            return None
        try:
            return entry.decode(content)
        except (ValueError, TypeError, LookupError) as error:
            self._damaged(f"Failed to parse {self.cache.path(key, _ENTRY)}: {error}")
            return None

    def _read(self, key: str, suffix: str) -> bytes | None:
        content = self.cache.get(key, suffix)
        if content is None and self.cache.usable and os.path.lexists(self.cache.path(key, suffix)):
            self._damaged(f"Failed to read from cache: {self.cache.path(key, suffix)}")
        return content

    def _damaged(self, text: str) -> None:
        name = self.kernel.fn.__name__
        caller.warn(f"{text}. The kernel {name} is translated again and the file replaced.")

    def _changed(self, found) -> str:
        """What differs from when the entry was written, or ""."""
        functions: list = []
        for reach, count, digest in found.functions:
            fn = self._reach(reach, functions)
            functions.append(fn)
            try:
                if fn is None or sources.digest(fn, count) != digest:
                    return f"the function {reach[-1]}"
            except Unknown as reason:
                return f"the function {reach[-1]} ({reason})"
        for number, path, text in found.captures:
            try:
                now = describe.value(sources.outer(functions[number], path), captured=True)
            except (Unknown, LookupError, AttributeError):
                return ".".join(path)
            if now != text:
                return ".".join(path)
        return ""

    def _reach(self, reach: tuple, functions: list):
        how, *rest = reach
        try:
            if how == "kernel":
                return self.kernel.fn
            if how == "name":
                return sources.by_name(*rest)
            if how == "capture":
                return sources.unwrapped(sources.outer(functions[rest[0]], rest[1]))
            if how == "method":
                return sources.unwrapped(sources.outer(functions[rest[0]], rest[1]).methods[rest[2]])
            x = self.args[rest[0]]
            for name in rest[1]:
                x = getattr(x, name)
            return sources.unwrapped(x)
        except (LookupError, AttributeError):
            return None

    # ------------------------------------------------------------ writing

    @describe.at_one_time()
    def keep(self, record, recipe, artifact: str) -> None:
        """Write the entry of what was just compiled, if everything it depends on can be told from outside."""
        name = self.kernel.fn.__name__
        reads = [(param, path, mode) for (param, path), (_, mode) in record.reads.items()]
        try:
            key = self._entry_key(reads)
            functions = self._functions(record)
            captures = [
                entry.Capture(number, path, describe.value(x, captured=True))
                for (number, path), x in record.captures.items()
            ]
        except Unknown as reason:
            _tell(self.kernel, reason)
            return
        unseen = record.unseen or ("" if functions else "a function that it calls cannot be found by name")
        if any(type(label) is not int for label in recipe.labels):
            unseen = "a later process could not name the members that label its checkpoints"
        if unseen or recipe.cells or recipe.keep:
            _logging.debug(f"[FASTCACHE] {name} is not kept: {unseen or 'it reads fields'}")
            return
        known = self._known_reads()
        if reads and reads not in known:
            content = json.dumps([*known[-_MOST_READS:], reads], separators=(",", ":")).encode()
            if self.cache.put(self.key, content, _READS) is None:
                return
        content = entry.Entry(functions, captures, recipe, artifact).encode()
        if self.cache.put(key, content, _ENTRY) is not None:
            self.kernel.src_ll_cache_observations.cache_stored = True

    def _functions(self, record) -> list | None:
        out = []
        for number, fn in enumerate(record.functions):
            reach = ("kernel",) if number == 0 else self._way_to(fn, record)
            text = source_of.of_function(fn).text
            count = len(text.splitlines())
            digest = sources.digest(fn, count)
            if reach is None or digest is None:
                return None
            out.append(entry.Source(reach, count, digest))
        return out

    @staticmethod
    def _way_to(fn, record) -> tuple | None:
        if sources.by_name(fn.__module__, fn.__qualname__) is fn:
            return "name", fn.__module__, fn.__qualname__
        for (number, path), x in record.captures.items():
            if number >= record.functions.index(fn):
                continue
            if sources.unwrapped(x) is fn:
                return "capture", number, path
            methods = x.methods if isinstance(x, StructType) else {}
            if sources.unwrapped(methods.get(fn.__name__)) is fn:
                return "method", number, path, fn.__name__
        for (param, path), (x, _) in record.reads.items():
            if sources.unwrapped(x) is fn:
                return "member", param, path
        return None


def _tell(kernel, reason: Unknown) -> None:
    """The log of a kernel that is translated in every process."""
    if reason.silent:
        return
    if reason.kind == "UNKNOWN_TYPE":
        if str(reason) not in _told:
            _told.add(str(reason))
            _logging.warn(f"[FASTCACHE][UNKNOWN_TYPE] {reason} has no description that holds in other processes")
    elif reason.kind == "CACHED_PROPERTY":
        _logging.warn(
            f"[FASTCACHE][CACHED_PROPERTY] The kernel reads functools.cached_property {reason}; use @property instead"
        )
    elif reason.kind == "PROPERTY_RAISED":
        _logging.warn(f"[FASTCACHE][PROPERTY_RAISED] {reason}")
    _logging.warn(
        f"[FASTCACHE][INVALID_FUNC] The pure function {kernel.fn.__name__} could not be fast cached"
        + (f": it reads {reason}" if reason.kind == "FIELD" else "")
    )
