"""Tests of tests: with a mechanism of reverse mode taken out, the check that is there for it fails.

Each case is a check as other files make it, and a patch that removes what it is about. The check passes without the
patch and fails with it.
"""

from __future__ import annotations

import numpy as np
import pytest
from oracle import check, field, reverse

import quadrants as qd
from quadrants.ad import adstack_saved, races, rules, sweep
from quadrants.ad import reverse as reversal
from quadrants.ad.build import compare, select, zero
from quadrants.ir.nodes import Const, StackDepth
from quadrants.ir.types import i64

POINTS = [0.3, -0.7, 1.3, 0.9]


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, offline_cache=False)


def recurrence():
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(6):
                v = qd.sin(v) * v + 0.4 * x[i]
            y[i] = v

    check(k, [x], [y])


def without_pushes(monkeypatch):
    """Slots stay as they are: zeros are saved in place of what a loop carries."""
    push = adstack_saved.Stack.push
    monkeypatch.setattr(adstack_saved.Stack, "push", lambda self, loop, value: push(self, loop, zero(self.decl.type)))


def without_the_last_slot_first(monkeypatch):
    """The backward loop pops in the order of the pushes."""
    made = reversal.loop_over
    monkeypatch.setattr(reversal, "loop_over", lambda s, env, bounds, backward=False: made(s, env, bounds))


def growing_recurrence():
    x, y = field(POINTS), field(np.zeros(4))
    n = qd.field(qd.i32, ())

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(n[None]):
                v = qd.sin(v) + 0.1
            y[i] = v

    for trips in (2, 9):
        n[None] = trips
        check(k, [x], [y], modes="r")


def without_sizes_of_the_launch(monkeypatch):
    """All stacks have four slots, whatever the bounds of loops are."""
    monkeypatch.setattr(adstack_saved.Depths, "_depth", lambda self, size: StackDepth(Const(4, i64), [], size))
    settle = adstack_saved.Depths._loop

    def loop(self, s, found, values, loops):
        self.forced = 5  # the guard stays
        return settle(self, s, found, values, loops)

    monkeypatch.setattr(adstack_saved.Depths, "_loop", loop)


def components():
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            v = qd.Vector([x[i], 0.5])
            w = v * v
            v[0] = qd.sin(w[0]) + w[1]
            v[1] = v[0] * v[0]
            y[i] = v[0] * v[1]

    check(k, [x], [y])


class _Nothing(set):
    def __contains__(self, item):
        return False


def without_kept_versions(monkeypatch):
    """Variables are overwritten also where the backward sweep needs what they were."""
    start = sweep.Sweep.__init__

    def init(self, *args):
        start(self, *args)
        self.kept = _Nothing()

    monkeypatch.setattr(sweep.Sweep, "__init__", init)


def chain():
    a, b, c = field(POINTS), field(np.zeros(4)), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in a:
            b[i] = a[i] * a[i]
        for i in a:
            c[i] = qd.sin(b[i])

    check(k, [a], [c], modes="r")
    assert (b.grad.to_numpy() == 0).all() and (c.grad.to_numpy() == 0).all()


def without_clearing(monkeypatch):
    """A store leaves the gradient of its target."""
    monkeypatch.setattr(sweep.Backward, "store", lambda self, place, value: None)


def without_the_opposite_order(monkeypatch):
    """Statements and tasks in the order of the primal."""
    monkeypatch.setattr(reversal, "reversed", list, raising=False)


def tie():
    x, z, y = field([0.5]), field([0.5]), field([0.0])

    @qd.kernel
    def k():
        for i in x:
            y[i] = qd.min(x[i], z[i])

    found = reverse(k, [x, z], [y])
    assert [float(g[0]) for g in found] == [0.0, 1.0]


def without_sides_of_ties(monkeypatch):
    """Both operands move the result where they are equal."""
    first, second = rules.ROWS["min"]
    both = ("xy", lambda g, x, y: select(compare("le", x, y), g, zero(g.type)))
    monkeypatch.setitem(rules.ROWS, "min", (both, second))


def race():
    x = field([1.0, 2.0, 3.0, 4.0])

    @qd.kernel
    def k():
        for i in range(1, 4):
            x[i] = x[i - 1] * 2.0

    with pytest.raises(RuntimeError, match="Cross-iteration read-after-write"):
        k.grad()


def without_looking_for_races(monkeypatch):
    """Iterations may read what others write."""
    monkeypatch.setattr(races, "check", lambda *_: None)


MECHANISMS = (
    (without_pushes, recurrence),
    (without_the_last_slot_first, recurrence),
    (without_sizes_of_the_launch, growing_recurrence),
    (without_kept_versions, components),
    (without_clearing, chain),
    (without_the_opposite_order, chain),
    (without_sides_of_ties, tie),
    (without_looking_for_races, race),
)


@pytest.mark.parametrize(("without", "test"), MECHANISMS, ids=lambda function: function.__name__)
def test_the_check_fails_without_its_mechanism(without, test, monkeypatch):
    test()
    without(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test()
