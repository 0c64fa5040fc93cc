"""Bounds of the axes of `qd.ndrange`, of which the loop variables have their type."""

from __future__ import annotations

from .draw import Draw
from .types import I32, Type, dtype


def entry(draw: Draw, low: int, stop: int, within=None, literal: str = "i32") -> tuple:
    """(text, type of the variable) of an axis from `low` to `stop`, or of one that ends earlier, or has nothing in it.
    within: draws an index expression between two numbers, whose value only the launch knows. literal: the type of
    Python's integers, among them the 0 where an axis begins that says its end alone.
    """
    plain = Type(dtype(literal))
    if draw.chance(0.1):
        return draw.pick((f"({low}, {low})", f"({low}, {low - 2})", *("0",) * (low == 0))), plain
    if within is not None and draw.chance(0.3):
        end = f"qd.cast({within(low, stop, 1).text}, qd.i32)"
        if draw.chance(0.2):
            return f"(qd.i32({low}), {end})", I32
        return f"({low}, {end})" if low else end, plain
    if not draw.chance(0.25):
        return f"({low}, {stop})" if low else str(stop), plain
    name = draw.pick(("i64", "i64", "u32", "u64") if low >= 0 else ("i64",))
    wide = draw.pick((f"qd.{name}({{}})", f"qd.cast({{}}, qd.{name})")).format
    joined = Type(dtype("i64" if (literal, name) == ("i64", "u32") else name))
    if low == 0 and draw.chance(0.5):
        return wide(stop), joined
    if draw.chance(0.3):
        return f"({wide(low)}, {wide(stop)})", Type(dtype(name))
    first, last = draw.pick(((wide(low), str(stop)), (str(low), wide(stop))))
    return f"({first}, {last})", joined


def far(draw: Draw, count: int) -> tuple:
    """(text, type of the variable) of an axis of which 32 bits hold no bound."""
    firsts = {"i64": (2**40 - 1, -(2**33) - 1, 2**31 - 1), "u32": (2**31 - 1,), "u64": (2**33, 2**63 - 1)}
    name = draw.pick(firsts)
    first = draw.pick(firsts[name])
    return f"(qd.{name}({first}), qd.{name}({first + count}))", Type(dtype(name))
