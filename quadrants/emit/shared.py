"""Shared arrays of a task as declarations at the top of its text."""

from __future__ import annotations

from quadrants.emit.dialects import Dialect
from quadrants.ir.places import elements
from quadrants.ir.types import element_dtype


def declarations(task, dialect: Dialect, prelude) -> list:
    """Lines that declare the shared arrays of a task: each by itself, or as parts of one piece of memory."""
    dynamic = dynamic_bytes(task, dialect) > 0
    lines = [dialect.shared_pool] if dynamic else []
    for decl, offset in task.shared_arrays:
        whole = elements(decl) > 1
        count = 1
        for extent in decl.shape:
            count *= extent
        form = dialect.shared_part if dynamic else dialect.shared
        name = prelude.type(decl.type if whole else element_dtype(decl.type))
        lines.append(form.format(type=name, name=decl.name, count=count, offset=offset))
    return lines


def dynamic_bytes(task, dialect: Dialect) -> int:
    """What the launch of a task asks for: 0 where declarations suffice."""
    return task.shared_bytes if task.shared_bytes > dialect.shared_static else 0
