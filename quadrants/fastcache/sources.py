"""The text of functions, read again without parsing it, and the state of the package itself."""

from __future__ import annotations

import functools
import hashlib
import inspect
import linecache
import os
import sys

from quadrants.fastcache import describe
from quadrants.frontend import closed_functions


def lines_of(fn) -> int:
    """Number of lines of the source of `fn`, decorators included. OSError if it cannot be read."""
    return len(inspect.getsourcelines(fn)[0])


def digest(fn, count: int) -> str | None:
    """Stands for the `count` lines of `fn` and for its annotations and defaults; None when there is no source.

    It covers what follows up to the first statement, so that a function which grew at its end is another one.
    """
    code = fn.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, fn.__globals__)
    first = code.co_firstlineno - 1
    end = first + count
    if end > len(lines):
        return None
    while end < len(lines) and (not lines[end].strip() or lines[end].lstrip().startswith("#")):
        end += 1
    text = "".join(lines[first : end + 1])
    state = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
    for key, a in getattr(fn, "__annotations__", {}).items():
        state.update(f"\n{key}: {describe.annotation(a)}".encode())
    for x in fn.__defaults__ or ():
        state.update(f"\n= {describe.value(x)}".encode())
    return state.hexdigest()


def outer(fn, path: tuple):
    """What a dotted path from an outer name of `fn` leads to now. Raises LookupError or AttributeError."""
    first, *rest = path
    found = closed_functions.outer(fn, first)
    for name in rest:
        found = getattr(found, name)
    return found


def by_name(module: str, qualname: str):
    """The function of that name, unwrapped, or None."""
    found = sys.modules.get(module)
    for part in qualname.split("."):
        if found is None or part == "<locals>":
            return None
        # Not getattr: a class gives its methods bound to nothing, but class methods bound to itself.
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return unwrapped(found)


def unwrapped(x):
    """The user's function behind a func, a bound func or a function; else None."""
    x = getattr(x, "func", x)
    x = getattr(x, "fn", x)
    return x if hasattr(x, "__code__") else None


# They take no part in what a kernel is translated to.
_APART = ("__pycache__", "cli", "examples", "profiler", "toolchain")


@functools.lru_cache(maxsize=1)
def package_state() -> str:
    """Changes when a file of the package does: one who works on it sees no results of yesterday's code."""
    state = hashlib.blake2b(digest_size=16)
    _add_folder(os.path.dirname(os.path.dirname(__file__)), state)
    return state.hexdigest()


def _add_folder(folder: str, state) -> None:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            if entry.name.endswith(".py"):
                status = entry.stat()
                state.update(f"{entry.name} {status.st_size} {status.st_mtime_ns}\n".encode())
            elif entry.name not in _APART and entry.is_dir():
                _add_folder(entry.path, state)
