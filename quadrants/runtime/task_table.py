"""Which task of the process has which id; see `ir.task_ids`."""

from __future__ import annotations

import threading

_lock = threading.Lock()
_tasks: dict[int, tuple[tuple[int, ...], str, int]] = {}  # id -> (what the id was made of, kernel, number)


def register(kernel: str, ids: tuple[int, ...]) -> tuple[int, ...]:
    """The ids under which the tasks of a kernel are known from now on. Known ones stay; where another task has the id
    already, the next free one is taken.

    ids: as compiled. The same ones of the same kernel always mean the same tasks.
    """
    with _lock:
        return tuple(_place(wanted, (ids, kernel, number)) for number, wanted in enumerate(ids))


def _place(wanted: int, task: tuple[tuple[int, ...], str, int]) -> int:
    found = wanted
    while _tasks.setdefault(found, task) != task:
        found = (found + 1) & 0xFFFFFFFF or 1
    return found


def name_of(task: int) -> str:
    """`kernel_number` of a registered task. KeyError for an id that none has."""
    _, kernel, number = _tasks[task]
    return f"{kernel}_{number}"
