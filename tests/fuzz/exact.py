"""A subject of the hunt: real numbers that no order of operations rounds, with fast_math.

`python -m fuzz.hunt --subject exact -n 1000`. All values are whole numbers small enough for 24 bits, and every quotient
is one of a product by its factor, so that sums in another order, products fused with sums and the sign of zero give the
same; a quotient taken with a rounded reciprocal does not. Besides, reals at and next to whole multiples of others are
divided with `//`, and such multiples of whole numbers with `%`.
"""

from __future__ import annotations

import random

import numpy as np

from .check import Outcome, check
from .execute import Arch
from .grammar.program import Program

_MOST = 1 << 20
_DIVISORS = (3, 5, 7, 9, 11, 13, 41, 47, 49, 55, 61, 82, 83, 97, 98, 103, 107, 109, 113, 115, 117, 123, 151, 187, 997)
_WAYS = ("qd.cast({}, qd.i32)", "qd.floor({}, qd.i32)", "qd.ceil({}, qd.i32)", "qd.cast({} // 1.0, qd.i32)")


class _Writer:
    """Expressions of whole real numbers, each with the largest value that it can have."""

    def __init__(self, seed: int, size: int):
        self.rng = random.Random(seed ^ 0xE8AC7)
        self.size = size
        self.real = self.rng.choice(("f32", "f32", "f64"))
        # What is known while compiling, what only the launch knows, and what differs from one iteration to the next.
        self.leaves = {"a": 12, "b": 12, "x[i]": 20, "v.x": 9, "v.y": 9}

    def leaf(self) -> tuple[str, int]:
        if self.rng.random() < 0.25:
            value = self.rng.randint(1, 16)
            return f"{value}.0", value
        name = self.rng.choice(sorted(self.leaves))
        return name, self.leaves[name]

    def divisor(self) -> tuple[str, int]:
        """A number that is never zero: a literal, the parameter `h`, or a cell."""
        return self.rng.choice(((f"{self.rng.choice(_DIVISORS)}.0", 997), ("h", 997), ("h", 997), ("d[i]", 997)))

    def number(self, depth: int) -> tuple[str, int]:
        if depth <= 0:
            return self.leaf()
        kind = self.rng.choice(("sum", "sum", "product", "quotient", "quotient", "quotient", "extremum", "select"))
        if kind == "quotient":
            divisor, most = self.divisor()
            text, size = self.number(depth - 1)
            if size * most < _MOST:
                return f"(({text} * {divisor}) / {divisor})", size
        (a, m), (b, n) = self.number(depth - 1), self.number(depth - 1)
        if kind == "product" and m * n < 200:
            return f"({a} * {b})", m * n
        if kind == "extremum":
            return f"{self.rng.choice(('min', 'max'))}({a}, {b})", max(m, n)
        if kind == "select":
            return f"({a} if {self.number(0)[0]} < {self.number(0)[0]} else {b})", max(m, n)
        return (f"({a} {self.rng.choice('+-')} {b})", m + n) if m + n < 1000 else (a, m)

    def whole(self, depth: int) -> str:
        """A number as an integer: rounded in one of the ways that leave whole numbers alone."""
        text, _ = self.number(depth)
        return self.rng.choice(_WAYS).format(text)

    def near(self, divisors) -> list[float]:
        """A number at or next to a whole multiple of each."""
        real = np.dtype(self.real.replace("f", "float")).type
        multiples = [real(self.rng.randint(-4000, 4000)) * real(x) for x in divisors]
        steps = [self.rng.choice((-np.inf, 0, 0, np.inf)) for _ in divisors]
        return [float(np.nextafter(x, real(to)) if to else x) for x, to in zip(multiples, steps, strict=True)]

    def floored(self, number: int) -> list[str]:
        """`//` and `%` by a cell, by what the launch knows, and by a literal, of numbers and of vectors."""
        form = self.rng.choice(("//", "//", "vector", "%", "vector %"))
        if form == "//":
            divisor = self.rng.choice(("q[i]", "q[i]", "q[0]", "g", repr(self.g)))
            return [f"y[i] += qd.cast(p[{self.rng.choice('i0')}] // {divisor}, qd.i32)"]
        if form == "%":
            return ["y[i] += qd.cast((n[i] % d[i]) * 4096.0, qd.i32)"]
        w = f"w{number}"
        if form == "vector":
            divisor = self.rng.choice(("q[i]", "g", "qd.Vector([q[i], g, q[7]])"))
            lines = [f"{w} = qd.Vector([p[i], p[0], p[7]]) // {divisor}"]
            return [*lines, f"y[i] += qd.cast({w}.x + {w}.y, qd.i32) ^ qd.cast({w}.z, qd.i32)"]
        lines = [f"{w} = qd.Vector([n[i], n[0]]) % qd.Vector([d[i], d[0]])"]
        return [*lines, f"y[i] += qd.cast({w}.x * 4096.0, qd.i32) ^ qd.cast({w}.y * 4096.0, qd.i32)"]

    def statement(self, number: int) -> list[str]:
        kinds = ("cell", "cell", "vector", "vector", "index", "compare", "several", "floored", "floored")
        kind = self.rng.choice(kinds)
        if kind == "floored":
            return self.floored(number)
        if kind == "vector":
            divisor, _ = self.divisor()
            parts = ", ".join(self.leaf()[0] for _ in range(3))
            w = f"w{number}"
            used = f"y[i] += qd.cast({w}.x + 3.0 * {w}.y, qd.i32) - qd.floor({w}.z, qd.i32)"
            return [f"{w} = qd.Vector([{parts}]) * {divisor} / {divisor}", used]
        if kind == "several":
            divisor, _ = self.divisor()
            names = [f"q{number}_{k}" for k in range(self.rng.randint(2, 4))]
            lines = [f"{name} = ({self.leaf()[0]}) * {divisor} / {divisor}" for name in names]
            return [*lines, f"y[i] += {' + '.join(f'qd.cast({name}, qd.i32)' for name in names)}"]
        if kind == "index":
            return [f"y[qd.cast(x[i] * h / h, qd.i32) % 8] ^= {self.whole(1)}"] if self.serial else []
        if kind == "compare":
            text, _ = self.number(1)
            divisor, _ = self.divisor()
            return [f"y[i] += qd.cast({text} * {divisor} / {divisor} == {text}, qd.i32)"]
        return [f"y[i] += {self.whole(self.rng.randint(1, 3))}"]

    def module(self) -> str:
        self.serial = self.rng.random() < 0.3
        fractions = [self.rng.choice((1, -1)) * self.rng.randint(1, 999) / 100 for _ in range(8)]
        self.g = fractions[0]
        body = [line for k in range(self.size) for line in self.statement(k)] or ["y[i] += 1"]
        lines = "\n".join(f"        {line}" for line in body)
        serial = "    qd.loop_config(serialize=True)\n" if self.serial else ""
        values = [self.rng.randint(-20, 20) for _ in range(8)]
        divisors = [self.rng.choice(_DIVISORS) for _ in range(8)]
        a, b, vx, vy = (self.rng.randint(-9, 9) for _ in range(4))
        h = self.rng.choice(_DIVISORS)
        near, wholes = self.near(fractions), self.near(divisors)
        kind = f"'{self.real[0]}{int(self.real[1:]) // 8}'"
        return f"""
import numpy as np
import quadrants as qd

x = qd.field(qd.{self.real}, shape=8)
d = qd.field(qd.{self.real}, shape=8)
n = qd.field(qd.{self.real}, shape=8)
p = qd.field(qd.{self.real}, shape=8)
q = qd.field(qd.{self.real}, shape=8)
y = qd.field(qd.i32, shape=8)
vector = qd.types.vector(2, qd.{self.real})

@qd.kernel
def program(a: qd.{self.real}, b: qd.{self.real}, g: qd.{self.real}, h: qd.{self.real}, v: vector):
{serial}    for i in x:
{lines}

def main():
    x.from_numpy(np.array({values}, {kind}))
    d.from_numpy(np.array({divisors}, {kind}))
    n.from_numpy(np.array({wholes}, {kind}))
    p.from_numpy(np.array({near}, {kind}))
    q.from_numpy(np.array({fractions}, {kind}))
    program({a}.0, {b}.0, {self.g}, {h}.0, [{vx}.0, {vy}.0])
    return {{'y': y.to_numpy()}}
"""


def program(seed: int, size: int | None, off) -> Program:
    """The program of a seed; without a size, of one that follows from the seed."""
    return Program(_Writer(seed, seed % 8 + 1 if size is None else size).module(), {"fast_math": True})


def check_seed(seed: int, size: int | None, off, arch: Arch) -> Outcome:
    found = program(seed, size, off)
    return check(found.text, found.options, arch)


__all__ = ["check", "check_seed", "program"]
