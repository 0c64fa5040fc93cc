"""A line that a kernel prints, as formats and arguments of printf."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quadrants.emit.text import Text, name
from quadrants.ir.nodes import Expr


def pieces(
    parts: Sequence[str | tuple[Expr, str]], limit: int, argument: Callable[[Expr, str], tuple[str, Text]]
) -> list[tuple[str, tuple[Text, ...]]]:
    """(format, arguments) of each call that a print takes: one, unless it has more than `limit` values (0: no limit).

    argument: the conversion and the text of (expression, user's conversion). A NUL, which would end the format, is a
    value of its own.
    """
    forms = [""]
    values: list[list[Text]] = [[]]

    def value(conversion: str, text: Text) -> None:
        if limit and len(values[-1]) == limit:
            forms.append("")
            values.append([])
        forms[-1] += conversion
        values[-1].append(text)

    for part in parts:
        if not isinstance(part, str):
            value(*argument(*part))
            continue
        first, *rest = part.replace("%", "%%").split("\0")
        forms[-1] += first
        for text in rest:
            value("%c", name("0"))
            forms[-1] += text
    return [(form, tuple(texts)) for form, texts in zip(forms, values)]
