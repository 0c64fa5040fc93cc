"""Timeline of host phases and task launches, in the JSON format of Chrome's trace viewer."""

from __future__ import annotations

import os

from quadrants import session
from quadrants.profiler import scoped_profiler
from quadrants.profiler.records import kernel_records

_phases: list[dict] = []


def _event(name: str, start: float, seconds: float, thread: object, category: str) -> dict:
    return {
        "cat": category,
        "pid": os.getpid(),
        "tid": thread,
        "ph": "X",
        "name": name,
        "ts": start * 1e6,
        "dur": seconds * 1e6,
    }


def _record_phase(name: str, start: float, seconds: float, thread: int) -> None:
    _phases.append(_event(name, start, seconds, thread, "host"))


@session.on_init
def _follow_option(cfg) -> None:
    scoped_profiler.observer = _record_phase if cfg.timeline else None


@session.on_clear
def _stop() -> None:
    scoped_profiler.observer = None
    _phases.clear()


def timeline_save(path: str) -> None:
    """Write what `qd.init(timeline=True, kernel_profiler=True)` recorded so far; times in microseconds."""
    import json

    session.get_runtime().prog.synchronize()
    tasks = [_event(t.name, t.start, t.seconds, "tasks", "task") for t in kernel_records]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(_phases + tasks, file, indent=1)


def timeline_clear() -> None:
    """Forget the recorded events, and with them the launch records of the kernel profiler."""
    session.get_runtime().prog.synchronize()
    _phases.clear()
    kernel_records.clear()
