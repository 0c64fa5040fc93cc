"""Lines that the host makes of the words that a device leaves."""

from __future__ import annotations

import struct

import pytest

from quadrants._ext import core

WIDTHS = {"i": "i4x", "I": "I4x", "q": "q", "Q": "Q", "f": "f4x", "d": "d"}


def line(form: str, kinds: str, *values) -> str:
    words = [struct.pack("<" + WIDTHS[kind], value) for kind, value in zip(kinds, values, strict=True)]
    return core.formatted(form, kinds, b"".join(words))


@pytest.mark.parametrize(
    "form, kinds, values, expected",
    [
        ("plain\n", "", (), "plain\n"),
        ("100%% %d|%5d|%-5d|%+d\n", "iqii", (-1, 2**40, 7, 7), "100% -1|1099511627776|7    |+7\n"),
        ("%u %x %08X %#o", "IIQQ", (2**32 - 1, 255, 255, 8), "4294967295 ff 000000FF 010"),
        ("%x %u", "ii", (-1, -1), "ffffffff 4294967295"),
        ("%f %.3f %e %g %.6f", "ffddd", (0.5, 2.0, 1e10, 0.1, 1 / 3), "0.500000 2.000 1.000000e+10 0.1 0.333333"),
        ("a%cb", "i", (0,), "a\0b"),
        ("%f %f", "df", (float("inf"), float("-inf")), "inf -inf"),
        ("%300d", "i", (1,), " " * 299 + "1"),
        ("größe %d", "i", (1,), "größe 1"),
    ],
)
def test_a_line_is_that_of_printf(form, kinds, values, expected):
    assert line(form, kinds, *values) == expected


def test_values_and_kinds_belong_together():
    with pytest.raises(ValueError, match="2 values take as many words"):
        core.formatted("%d %d", "ii", b"\0" * 8)
    with pytest.raises(ValueError, match="kinds 's' cannot be printed"):
        core.formatted("%s", "s", b"\0" * 8)
