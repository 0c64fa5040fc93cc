"""The expressions that sizes of stacks are, and what is done with them as such.

A `Size` is an upper bound, in 64-bit integers, made of what is known before a launch:

    const(c)  extent(array, axis)  arg(variable)  read(array; indices)     with i the loop it stands for: loop(i)
    add sub mul max min div         sub is never below zero
    most                            the larger, where that is only a bound of the value
    over(i; begin, end, body)       the largest body for i in [begin, end), 0 when there is none
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from quadrants.ir.nodes import ArrayDecl, Var
from quadrants.ir.types import i32


@dataclass(frozen=True, slots=True)
class Size:
    """One node. `of`: the number, array, (array, axis), variable or loop variable that it is about."""

    op: str
    args: tuple[Size, ...] = ()
    of: Any = None


AxisLoop = tuple[Var, Size, Size]  # the variable, first and last


class Unresolved(Exception):
    """No bound is known; `str()` says what stands in the way."""


def const(value: int) -> Size:
    return Size("const", (), max(0, int(value)))


def most(size: Size) -> Size:
    """A size that is only a bound, and at least zero: it must not be subtracted."""
    return Size("most", (size, const(0)))


def larger(a: Size, b: Size) -> Size:
    """The larger of two bounds."""
    if a.op == b.op == "const":
        return const(max(a.of, b.of))
    return Size("most", (a, b))


def product(sizes: Iterable[Size]) -> Size:
    total: Size | None = None
    for s in sizes:
        total = s if total is None else times(total, s)
    return total or const(1)


def times(a: Size, b: Size) -> Size:
    if a.op == "const" and b.op == "const":
        return const(a.of * b.of)
    return b if a == const(1) else a if b == const(1) else Size("mul", (a, b))


def plus(size: Size, step: int) -> Size:
    if size.op == "const":
        return const(size.of + step)
    if step == 0:
        return size
    return Size("add", (size, const(step))) if step > 0 else Size("sub", (size, const(-step)))


def exact(size: Size) -> bool:
    """Whether a size is the value itself, not only a bound, for given loop variables."""
    return size.op in ("const", "extent", "arg", "loop", "shift", "read", "add", "mul", "max", "min") and all(
        map(exact, size.args)
    )


def walk(size: Size) -> Iterator[Size]:
    yield size
    for a in size.args:
        yield from walk(a)


def mentions(size: Size, var: int) -> bool:
    return any(s.op == "loop" and s.of.id == var for s in walk(size))


def is_index(size: Size, var: int) -> bool:
    return any(s.op == "read" and any(mentions(a, var) for a in s.args) for s in walk(size))


def indexed(size: Size, var: int) -> tuple[ArrayDecl, int]:
    for s in walk(size):
        if s.op == "read":
            for axis, a in enumerate(s.args):
                if mentions(a, var):
                    return s.of, axis
    raise AssertionError("no array is indexed by the loop")


def least_index(size: Size, var: int) -> int:
    """The least value of a loop variable at which there are cells, or zero."""
    least = 0
    for s in walk(size):
        for axis, a in enumerate(s.args if s.op == "read" else ()):
            if mentions(a, var):
                first = s.of.index_offset[axis] if s.of.index_offset else 0
                least = min(least, first - a.of if a.op == "shift" else first)
    return least


def replaced(size: Size, var: int, high: Size, low: Size) -> Size:
    """The size with the loop variable at the end of its range, or at the start where it is subtracted."""
    if size.op == "loop":
        return high if size.of.id == var else size
    if not size.args:
        return size
    if size.op == "sub":
        a, b = size.args
        return Size("sub", (replaced(a, var, high, low), replaced(b, var, low, high)))
    return Size(size.op, tuple(replaced(a, var, high, low) for a in size.args), size.of)


def reads_cells(size: Size) -> bool:
    """Whether a size depends on cells of arrays, and not only on arguments."""
    return any(s.op == "read" for s in walk(size))


def contains_any(size: Size) -> bool:
    return any(s.op == "any" for s in walk(size))


def over_axes(size: Size) -> Size:
    """Indices that may be anything become loops over their axes.

    A read that depends on no loop becomes the largest cell by itself: `n[p] + m[q]` takes one walk over each of the two
    arrays, not one over all pairs of their cells.
    """
    loops: list[AxisLoop] = []

    def visit(s: Size) -> Size:
        if _is_of_any(s) or s.op == "sub" and s.args[0] == const(0) and _is_of_any(s.args[1]):
            return _wrapped(s)
        if s.op == "any":
            loops.append(_axis_loop(s))
            return Size("loop", (), loops[-1][0])
        return Size(s.op, tuple(map(visit, s.args)), s.of) if s.args else s

    return _around(visit(size), loops)


def _is_of_any(s: Size) -> bool:
    """Whether a size is a cell of an array, at an index that may be anything and depends on no loop."""
    return s.op == "read" and contains_any(s) and not any(x.op == "loop" for x in walk(s))


def _wrapped(s: Size) -> Size:
    """The largest of a cell, or of what it is below zero."""
    read = s if s.op == "read" else s.args[1]
    loops = [_axis_loop(x) if x.op == "any" else None for x in read.args]
    indices = [x if loop is None else Size("loop", (), loop[0]) for x, loop in zip(read.args, loops)]
    cell = Size("read", tuple(indices), read.of)
    body = cell if s is read else Size("sub", (s.args[0], cell))
    return _around(body, [loop for loop in loops if loop is not None])


def _axis_loop(s: Size) -> AxisLoop:
    """A loop variable, first and last, for an index that may be anything."""
    array, axis = s.of
    first = Size("const", (), array.index_offset[axis] if array.index_offset else 0)
    if array.shape is not None:
        last = Size("const", (), first.of + array.shape[axis])
    else:
        last = Size("extent", (), (array, axis))
    return Var("qd_any", i32, False), first, last


def _around(size: Size, loops: list[AxisLoop]) -> Size:
    for var, first, last in loops:
        size = Size("over", (first, last, size), var.id)
    return size
