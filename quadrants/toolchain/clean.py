"""Which artifacts a cleaning policy drops."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

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
    order = sorted(entries, key=lambda entry: entry.used if policy == "lru" else entry.created)
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
