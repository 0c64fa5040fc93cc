"""What the backends measured: one record per launch of a task, and its statistics by task name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from quadrants import session


class Launch(NamedTuple):
    """A launch of one task. `start` and `seconds` in seconds; `attributes` what the device reports, e.g. registers."""

    name: str
    start: float
    seconds: float
    attributes: dict | None = None


class StatisticalResult:
    """Times of one task name, in milliseconds."""

    def __init__(self, name: str):
        self.name = name
        self.counter = 0
        self.min_time = 0.0
        self.max_time = 0.0
        self.total_time = 0.0

    def insert_record(self, time: float) -> None:
        """Count one launch of `time` milliseconds."""
        self.min_time = time if self.counter == 0 else min(self.min_time, time)
        self.max_time = max(self.max_time, time)
        self.total_time += time
        self.counter += 1

    @property
    def average(self) -> float:
        return self.total_time / self.counter if self.counter else 0.0


class KernelRecords:
    """Launches since init or the last clear. Appending is safe from any thread."""

    def __init__(self) -> None:
        self._launches: list[Launch] = []

    def append(self, name: str, start_s: float, seconds: float, attributes: dict | None = None) -> None:
        """Note a launch that began at `start_s` (any clock, the same for all) and ran for `seconds`."""
        self._launches.append(Launch(name, start_s, seconds, attributes))

    def clear(self) -> None:
        self._launches = []

    def __len__(self) -> int:
        return len(self._launches)

    def __iter__(self) -> Iterator[Launch]:
        return iter(list(self._launches))

    def statistics(self) -> list[StatisticalResult]:
        """One entry per task name, largest total first."""
        by_name: dict[str, StatisticalResult] = {}
        for launch in self:
            by_name.setdefault(launch.name, StatisticalResult(launch.name)).insert_record(launch.seconds * 1e3)
        return sorted(by_name.values(), key=lambda result: -result.total_time)

    def total_seconds(self) -> float:
        return sum(launch.seconds for launch in self)


kernel_records = KernelRecords()
session.on_clear(kernel_records.clear)
