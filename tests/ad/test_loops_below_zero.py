"""Stacks of loops that begin below zero: they are as deep as the loop is long, or the launch says that they are not."""

from __future__ import annotations

import pytest
from oracle import check, field
from size_kit import POINTS, ints

import quadrants as qd


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


@qd.func
def first_of(which: qd.template(), r, a, b):
    """Numbers below zero in all the ways that a bound may be made of."""
    begin = r - 40
    if qd.static(which == "negation"):
        begin = -r - 37
    if qd.static(which == "product"):
        begin = (r + 1) * -31
    if qd.static(which == "cells"):
        begin = a - 31
    if qd.static(which == "product of cells"):
        begin = a * b
    if qd.static(which == "quotient"):
        begin = (a - 60) // 2
    if qd.static(which == "extrema"):
        begin = qd.max(qd.min(a * 10, 1), -35)
    if qd.static(which == "choice"):
        begin = a * 9 if b > 0 else -33
    if qd.static(which == "complement"):
        begin = ~(b + 30)
    if qd.static(which == "conversion"):
        begin = qd.cast(a - 30, qd.i16)
    return begin


WAYS = (
    "difference", "negation", "product", "cells", "product of cells", "quotient", "extrema", "choice", "complement",
    "conversion",
)  # fmt: skip


@pytest.mark.parametrize("which", WAYS)
def test_a_loop_from_below_zero(which):
    x, y = field(POINTS), field([0.0] * 4)
    low, high = ints([-3, 1, -7, 0]), ints([3, 5, 6, 0])

    @qd.kernel
    def k(r: qd.i32):
        for i in x:
            v, u = x[i], 0.5 * x[i]
            for j in range(first_of(which, r, low[i], high[i]), 2):
                v = qd.sin(v) * 1.1 + 0.01 * j * u
                u = qd.cos(u) * v
            y[i] = v + u

    for r in (0, 2):
        check(k, [x], [y], r, modes="r")


def test_loops_around_zero():
    x, y, n, p = field(POINTS), field([0.0] * 4), ints([3, 1, 0, 2]), ints([1, 0, 3, 2])

    @qd.kernel
    def k(r: qd.i32):
        for i in x:
            v = x[i]
            for j in range(-r, r + 1):
                v = qd.sin(v) + 0.1 * j
            for j, l in qd.ndrange((-n[i], r), (n[i] - 3, 2)):
                v = qd.sin(v) + 0.1 * j * l
            for j in range(-3, n[p[i]]):
                for _ in range(j * 2, j):
                    v = qd.cos(v) * v
            for _ in range(-n[p[i]], 2):
                v = qd.sin(v * v) + 0.1
            for j in range(-n[i], n[i]):
                for _ in range(j, 2):
                    v = qd.sin(v) + 0.1
            y[i] = v

    for r in (0, 1, 4):
        check(k, [x], [y], r, modes="r")


def test_cells_at_indices_below_zero():
    x, y, m, n = field(POINTS), field([0.0] * 4), ints([-3, -1, 0, -2]), ints([0, -1, 3, 1])
    counts, others = qd.field(qd.i32, 8, offset=(-4,)), ints([9, 1, 2, 3, 0, 2])
    for k in range(-4, 4):
        counts[k] = abs(k) * 3

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for j in range(m[i], n[i]):
                for _ in range(counts[j]):
                    v = qd.sin(v) + 0.1
                for _ in range(others[j + 3]):
                    v = qd.cos(v) * v
            y[i] = v

    check(k, [x], [y], modes="r")


def test_a_loop_that_begins_nobody_knows_where_is_not_longer_than_its_stacks():
    x, y = field(POINTS), field([0.0] * 4)

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(qd.cast(qd.floor(x[i] * 40), qd.i32), 3):
                v = qd.sin(v) + 0.1
            y[i] = v

    y.grad.fill(1)
    with pytest.raises(qd.QuadrantsAssertionError, match="Adstack overflow"):
        k.grad()
        qd.sync()
