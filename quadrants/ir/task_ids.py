"""Numbers of tasks that mean the same in every process: made of what a task is, not of where it is in memory.

FNV-1a over the name of the kernel, a colon and the number of the task. Specialisations of one kernel share its name, so
a digest of their text follows it. 0 stands for no task.
"""

from __future__ import annotations

import hashlib

_OFFSET = 0xCBF29CE484222325
_PRIME = 0x100000001B3
_MASK = 0xFFFFFFFFFFFFFFFF


def fnv1a(data: bytes) -> int:
    """The 64-bit FNV-1a hash."""
    h = _OFFSET
    for byte in data:
        h = (h ^ byte) * _PRIME & _MASK
    return h


def task_id(kernel: str, number: int) -> int:
    """The 32-bit id of a task, never 0."""
    h = fnv1a(kernel.encode() + b":" + number.to_bytes(8, "little"))
    return (h ^ h >> 32) & 0xFFFFFFFF or 1


def specialisation(kernel: str, text: str) -> str:
    """What tells one compiled kernel from others of the same name."""
    return f"{kernel}.{hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}"


def task_ids(kernel: str, text: str, count: int) -> tuple[int, ...]:
    """The ids of the tasks of a kernel that was rendered as `text`."""
    name = specialisation(kernel, text)
    return tuple(task_id(name, number) for number in range(count))
