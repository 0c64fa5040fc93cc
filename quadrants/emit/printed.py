"""A line that a kernel prints, as formats and arguments of printf."""

from __future__ import annotations

from collections.abc import Callable

from quadrants.emit.text import Text, name


def pieces(parts: tuple, limit: int, argument: Callable) -> list:
    """(format, arguments) of each call that a print takes: one, unless it has more than `limit` values (0: no limit).

    argument: the conversion and the text of (expression, user's conversion). A NUL, which would end the format, is a
    value of its own.
    """
    made: list = [["", []]]

    def value(conversion: str, text: Text) -> None:
        if limit and len(made[-1][1]) == limit:
            made.append(["", []])
        made[-1][0] += conversion
        made[-1][1].append(text)

    for part in parts:
        if not isinstance(part, str):
            value(*argument(*part))
            continue
        first, *rest = part.replace("%", "%%").split("\0")
        made[-1][0] += first
        for text in rest:
            value("%c", name("0"))
            made[-1][0] += text
    return [(form, tuple(texts)) for form, texts in made]
