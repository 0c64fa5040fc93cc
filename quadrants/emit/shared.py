"""Shared arrays of a task: each by itself, or as parts of one piece of memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quadrants.emit.dialects import Dialect
from quadrants.emit.members import element_type
from quadrants.emit.records import SharedArray
from quadrants.ir.nodes import Task
from quadrants.ir.words import word_of

if TYPE_CHECKING:
    from quadrants.emit.prelude import Prelude


def arrays(task: Task, dialect: Dialect, prelude: Prelude, words: frozenset[int]) -> list[SharedArray]:
    """The shared arrays of a task: parts of the memory that the launch gives where declarations do not suffice. words:
    those that have words instead (see `emit.words`)."""
    parts = dynamic_bytes(task, dialect) > 0
    return [
        SharedArray(
            prelude.type(word_of(decl.type)) if decl.id in words else element_type(prelude, decl),
            decl.name,
            math.prod(decl.shape or ()),
            offset if parts else None,
        )
        for decl, offset in task.shared_arrays
    ]


def dynamic_bytes(task: Task, dialect: Dialect) -> int:
    """What the launch of a task asks for: 0 where declarations suffice."""
    return task.shared_bytes if task.shared_bytes > dialect.shared_static else 0
