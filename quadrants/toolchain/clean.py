"""Which artifacts a cleaning policy drops."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import NamedTuple

_HOUR = 3600 * 1_000_000_000
POLICIES = ("never", "version", "lru", "fifo")


class Entry(NamedTuple):
    """A file of the cache. Times are in nanoseconds."""

    path: str
    version: str
    size: int
    created: int
    used: int


def choose(
    entries: Sequence[Entry], used: Collection[str], max_bytes: int, policy: str, factor: float, version: str
) -> list[Entry]:
    """The entries to drop. `used` holds the paths that must stay."""
    if policy == "never":
        return []
    if policy == "version":
        return [entry for entry in entries if entry.version != version]
    total = sum(entry.size for entry in entries)
    if total < max_bytes:
        return []
    # Times that are yet to come are of a clock that was wrong; such files would never be the oldest.
    latest = time.time_ns() + _HOUR
    times = [entry.used if policy == "lru" else entry.created for entry in entries]
    order = [entries[i] for i in sorted(range(len(entries)), key=lambda i: times[i] if times[i] <= latest else 0)]
    at_least = int(factor * len(entries))
    doomed: list[Entry] = []
    for entry in order:
        if len(doomed) >= at_least and total < max_bytes:
            break
        if entry.path in used:
            continue
        doomed.append(entry)
        total -= entry.size
    return doomed
