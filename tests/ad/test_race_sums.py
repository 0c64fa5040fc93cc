"""Random parallel loops whose indices are sums: one is differentiated if no two iterations reach one cell, which all
pairs of iterations tell. QD_AD_RACES: how many; QD_AD_SEED: of which seed, "new" for another one in each run.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import random
from dataclasses import dataclass

import pytest

import quadrants as qd

COUNT = int(os.environ.get("QD_AD_RACES", 60))
SEED = os.environ.get("QD_AD_SEED", "0")
SIZE = 700
TEXT = """
import quadrants as qd

x, y = (qd.field(qd.f64, {size}, needs_grad=True) for _ in range(2))


@qd.kernel
def k():
    for i in range({outer}):
        for j in range({inner}):
            if {condition}:
                {body}
"""


@dataclass
class Sum:
    """i * this + j * that + number."""

    i: int
    j: int
    number: int

    def __str__(self) -> str:
        return f"{self.i} * i + {self.j} * j + {self.number}"

    def at(self, i: int, j: int) -> int:
        return self.i * i + self.j * j + self.number


@dataclass
class Loop:
    """A parallel loop around another one. inner: how often that runs, a number or an expression of i."""

    outer: int
    inner: str
    condition: str
    written: Sum
    read: Sum | None  # None: the cell of the iteration's number in another field is stored

    def text(self) -> str:
        body = f"y[{self.written}] = x[i]" if self.read is None else f"x[{self.written}] += 0.5 * x[{self.read}]"
        return TEXT.format(size=SIZE, outer=self.outer, inner=self.inner, condition=self.condition, body=body)

    def meets(self) -> bool:
        """Whether an iteration writes to a cell that another one reads, or stores to."""
        written: dict = {}
        read: dict = {}
        other = self.read or self.written
        for i in range(self.outer):
            for j in range(eval(self.inner, {"i": i})):
                if eval(self.condition, {"i": i, "j": j}):
                    written.setdefault(self.written.at(i, j), set()).add(i)
                    read.setdefault(other.at(i, j), set()).add(i)
        return any(len(by | read[cell]) > 1 for cell, by in written.items() if cell in read)


def random_loop(rng: random.Random) -> Loop:
    """One whose cells are in range. Its sums have the inner variable, so that nothing is refused for looks alone."""
    while True:
        inner = rng.choice(("2", "3", "6", "i", "i + 1", "8 - i"))
        loop = Loop(
            8 if inner == "8 - i" else rng.choice((5, 12, 40)), inner,
            rng.choice(("True", "True", "i % 2 == 0", "j > 0", "i < 30", "i + j > 3")),
            random_sum(rng), random_sum(rng) if rng.random() < 0.6 else None,
        )  # fmt: skip
        corners = itertools.product((0, loop.outer - 1), (0, loop.outer + 1))
        cells = [s.at(*corner) for corner in corners for s in (loop.written, loop.read) if s is not None]
        if 0 <= min(cells) and max(cells) < SIZE:
            return loop


def random_sum(rng: random.Random) -> Sum:
    return Sum(
        rng.choice((0, 1, 1, 2, 3, 6, 8, -1, -2)), rng.choice((1, 1, 2, 3, 4, 10, 50, -1, -3)), rng.randint(0, 120)
    )


def is_refused(loop: Loop, folder) -> bool:
    path = folder / "sums_module.py"
    path.write_text(loop.text())
    spec = importlib.util.spec_from_file_location("sums_module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        module.k.grad()
    except qd.QuadrantsRuntimeError as error:
        assert "Cross-iteration" in str(error), str(error)
        return True
    return False


@pytest.mark.parametrize("part", range(4))
def test_loops_are_refused_where_iterations_meet(part, init, tmp_path):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)
    seed = random.randrange(10**9) if SEED == "new" else int(SEED)
    rng = random.Random(f"{seed} {part}")
    for _ in range(COUNT // 4):
        loop = random_loop(rng)
        assert is_refused(loop, tmp_path) == loop.meets(), f"seed {seed}: {loop}"
