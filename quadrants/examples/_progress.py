"""A progress bar on stderr, and only when stderr is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
_WIDTH = 30
_SECONDS_BETWEEN_UPDATES = 0.1


def bar(items: Sequence[T], label: str, stream=None) -> Iterator[T]:
    """Yields the items; on a terminal a line shows how many are done and how long the rest will take."""
    stream = sys.stderr if stream is None else stream
    if not stream.isatty():
        yield from items
        return
    start = last = time.monotonic()
    try:
        for done, item in enumerate(items):
            now = time.monotonic()
            if done == 0 or now - last > _SECONDS_BETWEEN_UPDATES:
                last = now
                stream.write("\r" + line(label, done, len(items), now - start))
                stream.flush()
            yield item
        stream.write("\r" + line(label, len(items), len(items), time.monotonic() - start))
    finally:
        stream.write("\n")
        stream.flush()


def line(label: str, done: int, total: int, seconds: float) -> str:
    """The text of the bar after `seconds` of work on `done` of `total` items."""
    filled = _WIDTH * done // max(total, 1)
    left = f"{seconds / done * (total - done):5.1f} s left" if 0 < done < total else f"{seconds:5.1f} s     "
    return f"{label} [{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total} {left}"
