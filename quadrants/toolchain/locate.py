"""Libraries of compilers: which files there are, and text that changes with them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence


def newest_first(places: Iterable[str], patterns: Sequence[str], unwanted: Sequence[str] = ()) -> Iterator[str]:
    """Files in folders, given as patterns, whose names match one of `patterns` and contain none of `unwanted`.

    Of one folder and pattern the highest version first; a file that several links lead to once.
    """
    seen: set[str] = set()
    for place in places:
        for pattern in patterns:
            for path in sorted(glob.glob(os.path.join(place, pattern)), key=version_of, reverse=True):
                real = os.path.realpath(path)
                if real not in seen and not any(part in path for part in unwanted):
                    seen.add(real)
                    yield path


def version_of(path: str) -> list[int]:
    """The numbers in the name of a file."""
    return [int(number) for number in re.findall(r"\d+", os.path.basename(path))]


def identity(
    kind: str,
    candidates: Iterable[str],
    find: Callable[[], tuple[str, tuple[int, int]]],
    siblings: Callable[[str], list[str]] | None = None,
) -> str:
    """Text for cache keys: changes with the library and with the files that it brings in. Raises as `find`.

    The files are only looked at: loading them takes longer than all the rest of a start with a warm cache.
    """
    path = next((path for path in candidates if os.path.isfile(path)), None)
    if path is None:  # the loader knows it, under a bare name
        name, version = find()
        return f"{kind} {version[0]}.{version[1]} {name}"
    parts = [path, *(siblings(path) if siblings is not None else ())]
    return f"{kind} " + " ".join(_state(part) for part in parts)


def _state(path: str) -> str:
    state = os.stat(path)
    return f"{os.path.basename(os.path.realpath(path))} {state.st_size} {state.st_mtime_ns}"
