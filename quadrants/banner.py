"""The text that shows a user where in the source an error happened.

    File "/home/me/sim.py", line 12, in step:
        y = helper(a)
            ^^^^^^^^^

One such block per frame, kernel first, then the message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from quadrants import program_text

WIDTH = 80
TAB = 4

_COMPOUND = r"(?:async\s+)?(?:for|while|if|elif|else|def|class|with|try|except|finally|match)\b"
_CLOSING = {")": "(", "]": "[", "}": "{"}


class Frame(NamedTuple):
    """A place in a source file. Lines count from 1; columns are UTF-8 byte offsets from 0, as in `ast` nodes."""

    file: str
    line: int
    col: int
    end_line: int
    end_col: int
    function: str


def whole_line(file: str, line: int, function: str) -> Frame:
    """All of a line but its indentation, for where only the line is known."""
    text = program_text.line(file, line).rstrip().encode()
    return Frame(file, line, len(text) - len(text.lstrip()), line, len(text), function)


def format_banner(frames: Sequence[Frame], message: str) -> str:
    """Text of an error: a newline, a block for every frame (outermost first), the message."""
    head = "\nYour code:\n" if len(frames) > 1 else "\n"
    return head + "".join(format_frame(frame) for frame in frames) + message


def format_frame(frame: Frame) -> str:
    """One block, ending in a newline. Without source text (a deleted file) only the line that names the place."""
    out = [f"{program_text.called(frame.file)}, line {frame.line}, in {frame.function}:"]
    for text, start, end in _marked_lines(frame):
        out += _underlined(text, start, end)
    return "\n".join(out) + "\n"


def _source_line(frame: Frame, number: int) -> str | None:
    text = program_text.line(frame.file, number)
    return text.rstrip("\r\n") if text else None


def _marked_lines(frame: Frame) -> list:
    """(text, first marked character, one past the last) of every line to show."""
    first = _source_line(frame, frame.line)
    if first is None:
        return []
    start = _character(first, frame.col)
    last_line, end_col = max(frame.line, frame.end_line), frame.end_col
    if _starts_compound(first, start):
        header = _header_end(frame, start, last_line)
        if header is not None:
            return _lines_until(frame, start, *header)
    end_text = _source_line(frame, last_line) or ""
    return _lines_until(frame, start, last_line, _character(end_text, end_col))


def _starts_compound(text: str, start: int) -> bool:
    import re  # a program without errors compiles no pattern

    return re.compile(_COMPOUND).match(text, start) is not None


def _lines_until(frame: Frame, start: int, last_line: int, end: int) -> list:
    rows = []
    for number in range(frame.line, last_line + 1):
        text = _source_line(frame, number) or ""
        body = len(text.rstrip())
        left = start if number == frame.line else len(text) - len(text.lstrip())
        right = min(end, body) if number == last_line else body
        if number == frame.line == last_line:
            right = max(right, left + 1)  # a place without extent still gets its caret
        rows.append((text, left, right))
    return rows


def _header_end(frame: Frame, start: int, last_line: int) -> tuple | None:
    """(line, character past the colon) where the header of a compound statement ends."""
    open_brackets: list = []
    quote = ""
    for number in range(frame.line, last_line + 1):
        text = _source_line(frame, number) or ""
        at = start if number == frame.line else 0
        while at < len(text):
            c = text[at]
            if quote:
                if c == "\\":
                    at += 1
                elif text.startswith(quote, at):
                    at += len(quote) - 1
                    quote = ""
            elif c in "'\"":
                quote = c * 3 if text.startswith(c * 3, at) else c
                at += len(quote) - 1
            elif c == "#":
                break
            elif c in "([{":
                open_brackets.append(c)
            elif c in ")]}":
                if open_brackets and open_brackets[-1] == _CLOSING[c]:
                    open_brackets.pop()
            elif c == ":" and not open_brackets and not text.startswith(":=", at):
                return number, at + 1
            at += 1
        if len(quote) == 1 and not text.endswith("\\"):
            quote = ""
    return None


def _character(text: str, byte_offset: int) -> int:
    """Index of the character at a UTF-8 byte offset."""
    if text.isascii():
        return min(byte_offset, len(text))
    return len(text.encode("utf-8")[:byte_offset].decode("utf-8", "ignore"))


def _cells(text: str, column: int) -> int:
    """Terminal columns of a character that starts at `column`."""
    if text == "\t":
        return TAB - column % TAB
    if text.isascii():
        return 1
    import unicodedata  # only other alphabets need its tables

    if unicodedata.combining(text):
        return 0
    return 2 if unicodedata.east_asian_width(text) in "WF" else 1


def _underlined(text: str, start: int, end: int) -> list:
    """The line, tabs expanded and wrapped, each piece followed by its carets."""
    shown: list = []  # (what to print, its width, caret?) per character
    column = 0
    for i, c in enumerate(text.rstrip()):
        width = _cells(c, column)
        shown.append((" " * width if c == "\t" else c, width, start <= i < end))
        column += width
    if end > len(shown) and start >= len(shown):
        shown.append((" ", 1, True))
    out = []
    for piece in _wrapped(shown):
        out.append("".join(c for c, _, _ in piece).rstrip())
        carets = "".join(("^" if mark else " ") * width for _, width, mark in piece).rstrip()
        if carets:
            out.append(carets)
    return out or [""]


def _wrapped(shown: list) -> list:
    """Pieces of at most WIDTH columns, cut at blanks; only a word too long for a line of its own is cut in two."""
    pieces = []
    while sum(width for _, width, _ in shown) > WIDTH:
        full = _fitting(shown)
        blank = max((i for i in range(full + 1) if _is_blank(shown[i])), default=0)
        word = next((i for i in range(blank + 1, len(shown)) if _is_blank(shown[i])), len(shown)) - blank - 1
        indented = all(_is_blank(cell) for cell in shown[:blank])
        cut = full if indented or word > _fitting(shown[blank + 1 :]) else blank
        pieces.append(shown[:cut])
        shown = shown[cut:]
        while len(shown) > 1 and _is_blank(shown[0]):
            shown = shown[1:]
    return [*pieces, shown]


def _is_blank(cell: tuple) -> bool:
    return not cell[0].strip()


def _fitting(shown: list) -> int:
    """How many of the characters fit in WIDTH columns."""
    total = 0
    for count, (_, width, _) in enumerate(shown):
        total += width
        if total > WIDTH:
            return count
    return len(shown)
