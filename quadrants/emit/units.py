"""A long text in units, which several compilers make at once.

Each of them reads the whole text. `QD_UNITS` tells it which units are its own: bit k stands for unit k. Without that it
makes all. A task is part of one unit. Where code is linked, so are a few large functions of the user's, those that let
the units be about as large as one another; other units call them. All other functions are made anew wherever they are
called, since there they may be inlined.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quadrants.emit.dialects import Dialect
    from quadrants.emit.records import EmittedFunction, EmittedTask

    Parts = Sequence[EmittedTask | EmittedFunction]

# Characters that keep a compiler busy for several times as long as its start and the helpers before them: of a unit on
# average, and at least.
FAIR = 8000
SMALLEST = 4000
# How many times its fair share a unit may have.
_LOPSIDED = 1.5
_CUTS = 4  # for each unit, at most


def share_out(tasks: Sequence[EmittedTask], functions: Sequence[EmittedFunction], dialect: Dialect) -> int:
    """Give every task and function its units, and return how many there are: as many as pay."""
    parts: Parts = [*tasks, *functions]
    if dialect.most_units == 1 or sum(map(_size, parts)) < 2 * FAIR:
        return 1
    code = _Code(parts)
    names = [t.name for t in tasks]
    whole = code.size(code.reach(names, ()))
    count = min(dialect.most_units, whole // FAIR)
    if count <= 1:
        return 1
    if not dialect.linked:
        units = _by_tasks(code, names, count)
        for t in tasks:
            t.units = sum(1 << k for k, unit in enumerate(units) if t.name in unit)
        return len(units)
    while count > 1:
        units = _shared(code, names, count, whole / count)
        sizes = [code.size(unit) for unit in units]
        if SMALLEST <= min(sizes) and max(sizes) <= _LOPSIDED * whole / count:
            _note(units, parts, functions)
            return count
        count //= 2
    return 1


def kept(
    text: str, count: int, tasks: Sequence[EmittedTask], functions: Sequence[EmittedFunction], dialect: Dialect
) -> int:
    """The number of units after templates of the user's, who may leave out what keeps them apart."""
    parts: Parts = [*tasks, *functions] if dialect.linked else tasks
    wanted = dialect.linked + sum(x.units != 2**count - 1 for x in parts)  # one is for what calls the tasks
    return count if text.count("#if !defined(QD_UNITS) || QD_UNITS & ") >= wanted else 1


class _Code:
    """The size of everything in a text, in characters, and what it calls, by name."""

    def __init__(self, parts: Parts) -> None:
        self.sizes = {x.name: _size(x) for x in parts}
        self.calls = {x.name: [name for name in sorted(x.calls) if name in self.sizes] for x in parts}
        self.large = {name for name in self.sizes if self.size(self.reach([name], ())) >= SMALLEST}

    def size(self, names: Iterable[str]) -> int:
        return sum(self.sizes[name] for name in names)

    def reach(self, roots: Iterable[str], apart: Collection[str]) -> set[str]:
        """The roots, and what they come to without what stands apart."""
        found = set(roots)
        ahead = list(found)
        while ahead:
            for name in self.calls[ahead.pop()]:
                if name not in found and name not in apart:
                    found.add(name)
                    ahead.append(name)
        return found


def _shared(code: _Code, tasks: Sequence[str], count: int, share: float) -> list[set[str]]:
    """What each of so many units has, if all may have about that share."""
    apart: list[str] = []
    pieces = {name: code.reach([name], ()) for name in tasks}
    while len(apart) < _CUTS * count:
        largest = max(pieces, key=lambda name: code.size(pieces[name]))
        cut = _cut(code, largest, pieces[largest], apart) if code.size(pieces[largest]) > share else ""
        if not cut:
            break
        apart.append(cut)
        pieces = {name: code.reach([name], apart) for name in (*tasks, *apart)}
    return _placed(code, sorted(pieces.values(), key=code.size, reverse=True), count, _LOPSIDED * share)


def _by_tasks(code: _Code, tasks: Sequence[str], count: int) -> list[set[str]]:
    """At most so many units of whole tasks, the largest first."""
    units: list[set[str]] = [set() for _ in range(count)]
    for piece in sorted((code.reach([name], ()) for name in tasks), key=code.size, reverse=True):
        unit = min(units, key=lambda unit: code.size(unit | piece))
        unit |= piece
    return [unit for unit in units if unit]


def _cut(code: _Code, root: str, piece: set[str], apart: Sequence[str]) -> str:
    """The function that takes about half of a piece with it when it stands apart, "" where there is none."""
    whole = code.size(piece)
    found, best = "", whole / 2
    for name in sorted((piece & code.large) - {root}):
        left = code.size(code.reach([root], (*apart, name)))
        if SMALLEST <= min(left, whole - left) and abs(left - whole / 2) < best:
            found, best = name, abs(left - whole / 2)
    return found


def _placed(code: _Code, pieces: Iterable[set[str]], count: int, most: float) -> list[set[str]]:
    """Each piece in the unit that already has most of it, as long as that one is not too large."""
    units: list[set[str]] = [set() for _ in range(count)]
    for piece in pieces:
        sizes = [code.size(unit | piece) for unit in units]
        grown = [size - code.size(unit) for size, unit in zip(sizes, units)]
        units[min(range(count), key=lambda k: (sizes[k] > most, grown[k], sizes[k]))] |= piece
    return units


def _note(units: Sequence[set[str]], parts: Parts, functions: Sequence[EmittedFunction]) -> None:
    for x in parts:
        x.units = sum(1 << k for k, unit in enumerate(units) if x.name in unit)
    for f in functions:
        f.apart = any(x.units & ~f.units for x in parts if f.name in x.calls)


def _size(part: EmittedTask | EmittedFunction) -> int:
    return sum(map(len, part.lines))
