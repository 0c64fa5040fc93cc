"""Who touches what in a parallel loop: programs whose result depends on the order of iterations are `Undefined`."""

from __future__ import annotations

from .errors import Undefined


class Tracker:
    """Notes each access of an iteration. `many` stands for several iterations."""

    def __init__(self):
        self.marks: dict | None = None  # None outside of parallel loops
        self.iteration = 0
        self.ordered = False  # something was done whose result may depend on the order: run it backwards, too

    def begin(self) -> None:
        self.marks = {}

    def end(self) -> None:
        self.marks = None

    def read(self, key) -> None:
        if self.marks is None:
            return
        have = self.marks.get(key)
        if have is None:
            self.marks[key] = ("r", self.iteration)
        elif have[1] != self.iteration:
            if have[0] != "r":
                raise Undefined("a race: one iteration reads what another one writes")
            self.marks[key] = ("r", "many")
        elif have[0] not in ("r", "w"):
            self.marks[key] = ("w", self.iteration)

    def write(self, key) -> None:
        if self.marks is None:
            return
        have = self.marks.get(key)
        if have is not None and have[1] != self.iteration:
            raise Undefined("a race: two iterations write, or one reads what another one writes")
        self.marks[key] = ("w", self.iteration)

    def atomic(self, key, op: str, real: bool) -> None:
        if self.marks is None:
            return
        have = self.marks.get(key)
        if have is None:
            self.marks[key] = (op, self.iteration)
        elif have[0] == op:
            if have[1] != self.iteration:
                self.marks[key] = (op, "many")
                self.ordered |= real or op == "exchange"
        elif have[1] != self.iteration:
            raise Undefined("a race: different atomic operations on one cell, or one beside a plain access")
        else:
            self.marks[key] = ("w", self.iteration)


tracker = Tracker()
