"""The forms of an index: text that a kernel takes and that Python itself evaluates.

In sight are `i` (0 to 15), `n` (how many cells there are), `at` (16 valid indices), and the functions below.
"""

from __future__ import annotations

FORMS = (
    "i", "5", "two", "i + 1", "i - 1", "3 - i", "n - 1 - i", "3 - i - 1", "i - 3 + two",
    "i * 2 % n", "i * i % n", "(i + 2) * 3 % n", "i // 2", "i // 2 * 2", "i % 3", "i - i % 4",
    "i & 1", "i | 1", "i ^ 1", "i << 1", "i >> 1", "~i + n", "i - 3 & 3", "3 - i & 1", "i & 1 | 2", "1 << (i & 1)",
    "-(-i)", "-(i - n + 1)", "-i + n - 1", "abs(i - 3)",
    "i if i < 3 else 2", "3 if i > 3 else i", "qd.select(i > 2, 2, i)", "qd.select(i > 2, i - 1, i + 1)",
    "min(i + 2, n - 1)", "max(i - 3, 0)", "min(max(i, 1), 2)",
    "i > 4", "qd.cast(i > 4, qd.i32)", "1 - (i > 4)", "i + (i > 4)", "not i", "int(i > 2 and i < 9)",
    "at[i]", "at[i] ^ 1", "at[at[i]]", "at[i ^ 1] + 1", "flip(i, n)", "flip(i, n) - 1", "hop(i, n)", "flip(at[i], n)",
    "qd.cast(0.5 * i, qd.i32)", "int(i / 2)", "qd.floor(0.5 * i, qd.i32)",
    "qd.u8(i)", "qd.u8(i) + qd.u8(1)", "qd.u32(i) >> 1",
    "qd.i64(i)", "qd.i64(i) + 1", "qd.i64(i) * 2 % n", "qd.i16(i) - 1",
)  # fmt: skip

FUNCTIONS = """\
two = 2


@qd.func
def flip(k, n):
    return n - 1 - k


@qd.real_func
def hop(k: qd.i32, n: qd.i32) -> qd.i32:
    r = k
    while r >= n:
        r -= n
    return r
"""


class _Words:
    """What `qd` means in these forms, in Python."""

    i32 = i16 = i64 = staticmethod(int)

    @staticmethod
    def u8(x):
        return int(x) & 0xFF

    @staticmethod
    def u32(x):
        return int(x) & 0xFFFFFFFF

    @staticmethod
    def cast(x, dtype):
        return dtype(x)

    @staticmethod
    def floor(x, dtype):
        return dtype(x // 1)

    @staticmethod
    def select(c, a, b):
        return a if c else b


class _Cells(list):
    """A list without Python's negative indices."""

    def __getitem__(self, k):
        if k < 0:
            raise IndexError(k)
        return super().__getitem__(k)


def evaluate(form: str, i: int, n: int, at: list) -> int | None:
    """The index that `form` means in iteration `i`; None where it reads outside of `at`."""
    names = {"qd": _Words, "two": 2, "flip": lambda k, n: n - 1 - k, "hop": lambda k, n: k % n if k >= n else k}
    try:
        return int(eval(form, {**names, "i": i, "n": n, "at": _Cells(at)}))
    except IndexError:
        return None
