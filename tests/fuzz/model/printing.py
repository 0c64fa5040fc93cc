"""Lines that kernels print."""

from __future__ import annotations

import math

from .errors import Undefined, Unmodelled
from .numbers import Num
from .values import Tensor, is_constant

written: list = []  # (whether it was in a parallel loop, text)


def number(x, spec: str = "") -> str:
    if is_constant(x):
        return formatted_constant(x, spec)
    if not x.dtype.real:
        return ("%" + (spec or "d")) % x.value
    if not math.isfinite(x.value):
        raise Undefined("how NaN and infinity are printed")
    return ("%" + (spec or (".12f" if x.dtype.bits == 64 else "f"))) % x.value


def formatted_constant(x, spec: str) -> str:
    if isinstance(x, bool) or not isinstance(x, (int, float)):
        raise Unmodelled("printed constants")
    return ("%" + (spec or ("d" if isinstance(x, int) else "f"))) % x


def formatted(x, spec: str = "") -> str:
    if isinstance(x, str):
        return x
    if isinstance(x, Tensor):
        rows = x.rows()
        return "[" + ", ".join(formatted(list(r)) if isinstance(r, list) else number(r, spec) for r in rows) + "]"
    if isinstance(x, (list, tuple)):
        return "[" + ", ".join(formatted(e, spec) for e in x) + "]"
    if isinstance(x, Num) or is_constant(x):
        return number(x, spec)
    raise Unmodelled("something that cannot be printed")


def line(values: list, sep: str, end: str) -> str:
    return sep.join(formatted(x) for x in values) + end
