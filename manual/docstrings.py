"""Docstrings, taken apart: what they say, as Markdown, and their example.

An example is the last part of a docstring: lines that are indented by four, or a last paragraph that is a program.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

_SECTION = re.compile(r"^(Args|Raises|Returns|Errors|Attributes): *(.*)$")
_NAMED = re.compile(r"(^|[.;)] )([a-z_]\w*(?:, [a-z_]\w*)*)(?=: )", re.MULTILINE)  # "order: ..", "n, m: .."
_ROW = re.compile(r"^([\w*][\w*, ]*|[\w.]+): +(.*)$")


def of(value: Any) -> str:
    """The docstring of an object, without its indentation; "" where there is none of its own."""
    if not (callable(value) or isinstance(value, property) or inspect.isdatadescriptor(value)):
        return ""
    found = inspect.getdoc(value) or ""
    if isinstance(value, type):
        return found if "__doc__" in vars(value) and vars(value)["__doc__"] else ""
    return found


def split(text: str) -> tuple[str, str]:
    """(what it says, its example or "")."""
    blocks = re.split(r"\n\s*\n", text.strip("\n"))
    said, example = [], []
    for block in blocks:
        (example if all(line.startswith("    ") for line in block.splitlines()) else said).append(block)
    if not example and len(said) > 1 and _is_program(said[-1]):
        example = [said.pop()]
    return "\n\n".join(said), textwrap.dedent("\n\n".join(example)).strip()


def _is_program(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return "qd." in text


def markdown(text: str) -> str:
    """What a docstring says (`split`) as Markdown: sections become lists."""
    return "\n\n".join("\n".join(_block(block)) for block in re.split(r"\n\s*\n", text) if block.strip())


def _block(block: str) -> Iterator[str]:
    lines = block.splitlines()
    section = None
    if not any(map(_SECTION.match, lines)):
        block = _NAMED.sub(_quoted, block)
        lines = block.splitlines()
    for line in lines:
        head = _SECTION.match(line)
        if head:
            section = head[1]
            yield f"**{section}** {plain(head[2])}".rstrip()
            yield ""
            continue
        row = _ROW.match(line.strip()) if section and line.startswith("    ") else None
        if row and len(line) - len(line.lstrip()) == 4:
            yield f"- `{row[1]}`: {plain(row[2])}"
        elif section:
            yield f"    {plain(line.strip())}"
        elif line.startswith("- "):
            yield f"- {plain(line[2:])}"
        else:
            yield plain(line)


def _quoted(found: re.Match) -> str:
    return found[1] + ", ".join(f"`{name}`" for name in found[2].split(", "))


# What Markdown would take for markup; it knows no backslash in front of the two that have names.
_MARKUP = re.compile(r"[*_<>|\[\]]")
_ENTITIES = {"<": "&lt;", "|": "&#124;"}


def plain(text: str) -> str:
    """Text in which nothing but code between backticks means something to Markdown."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if i % 2 else _MARKUP.sub(_escaped, part) for i, part in enumerate(parts))


def _escaped(found: re.Match) -> str:
    return _ENTITIES.get(found[0], f"\\{found[0]}")
