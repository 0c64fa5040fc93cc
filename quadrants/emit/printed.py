"""A line that a kernel prints, as formats and arguments of printf, which the host calls where the language has none."""

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


# What a checked operation reports that it does; those that divide are all the same.
_REPORTED = {"add": "Addition", "sub": "Subtraction", "mul": "Multiplication", "shl": "Shift left"}


class PrintedLines:
    """The lines that a kernel may print, by number: formats, and kinds of values as codes of Python's `struct`."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}

    def number(self, form: str, kinds: str) -> int:
        """The number of a line, the same for the same line."""
        return self._numbers.setdefault((form, kinds), len(self._numbers))

    def overflow(self, op: str, where: str) -> int:
        """The number of the report that an operation overflowed."""
        place = where.replace("%", "%%")
        return self.number(f"{_REPORTED.get(op, 'Division')} overflow detected in {place}\n", "")

    def found(self) -> tuple[tuple[str, str], ...]:
        """All lines in the order of their numbers."""
        return tuple(self._numbers)


def recorded(
    parts: Sequence[str | tuple[Expr, str]], value: Callable[[Expr, str], tuple[str, str, Text]]
) -> tuple[str, str, list[Text]]:
    """The format of a print, the kinds of its values, and these.

    value: conversion, kind and text of (expression, user's conversion). A NUL, which would end the format, is a value.
    """
    form, kinds = "", ""
    values: list[Text] = []
    for part in parts:
        if isinstance(part, str):
            count = part.count("\0")
            form += part.replace("%", "%%").replace("\0", "%c")
            kinds += "i" * count
            values += [name("0")] * count
            continue
        conversion, kind, text = value(*part)
        form += conversion
        kinds += kind
        values.append(text)
    return form, kinds, values
