"""The tasks of a long text in units, which several compilers make at once.

Each of them reads the whole text. `QD_UNITS` tells it which units are its own: bit k stands for unit k. Without that it
makes all. A function of the user's is made in every unit whose tasks come to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quadrants.emit.records import EmittedFunction, EmittedTask

MOST = 8
# Characters that keep a compiler busy for several times as long as its start and the helpers before them, on average
# and at least.
FAIR = 8000
SMALLEST = 4000
# How many times its fair share a unit may have.
_LOPSIDED = 1.5


def share_out(tasks: Sequence[EmittedTask], functions: Sequence[EmittedFunction]) -> int:
    """Give every task its unit, so that all have about the same to do. Returns the number of units: as many as pay."""
    reach = _Reach(functions)
    parts = sorted(tasks, key=lambda t: -(_size(t.lines) + reach.size(reach.of(t.calls))))
    alone = _Unit()
    for t in parts:
        alone.take(t, reach)
    for count in range(min(MOST, len(tasks), alone.size // FAIR), 1, -1):
        most = _LOPSIDED * alone.size / count
        filled = [_Unit() for _ in range(count)]
        chosen = [_place(t, filled, most, reach) for t in parts]
        sizes = [unit.size for unit in filled]
        if SMALLEST <= min(sizes) and max(sizes) <= most:
            for t, unit in zip(parts, chosen):
                t.unit = unit
            return count
    return 1


def guards(text: str) -> int:
    """How many parts of a text belong to one unit. A user's template may leave that out."""
    return text.count("#if !defined(QD_UNITS) || QD_UNITS & ")


class _Reach:
    """The functions that calls come to, directly or not, by name."""

    def __init__(self, functions: Sequence[EmittedFunction]) -> None:
        self.functions = {f.name: f for f in functions}

    def of(self, calls: frozenset[str]) -> set[str]:
        found: set[str] = set()
        ahead = [name for name in calls if name in self.functions]
        while ahead:
            name = ahead.pop()
            if name not in found:
                found.add(name)
                ahead += [other for other in self.functions[name].calls if other in self.functions]
        return found

    def size(self, names: set[str]) -> int:
        return sum(_size(self.functions[name].lines) for name in names)


class _Unit:
    """What one compiler has to do."""

    def __init__(self) -> None:
        self.size = 0
        self.functions: set[str] = set()

    def grown(self, task: EmittedTask, reach: _Reach) -> int:
        """Its size, if it also had that task."""
        return self.size + _size(task.lines) + reach.size(reach.of(task.calls) - self.functions)

    def take(self, task: EmittedTask, reach: _Reach) -> None:
        self.size = self.grown(task, reach)
        self.functions |= reach.of(task.calls)


def _place(task: EmittedTask, filled: Sequence[_Unit], most: float, reach: _Reach) -> int:
    """Put a task where most of its functions are, as long as that unit is not too large. Returns the unit."""
    sizes = [unit.grown(task, reach) for unit in filled]
    chosen = min(range(len(filled)), key=lambda k: (sizes[k] > most, sizes[k] - filled[k].size, sizes[k]))
    filled[chosen].take(task, reach)
    return chosen


def _size(lines: Sequence[str]) -> int:
    return sum(map(len, lines))
