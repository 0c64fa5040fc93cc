"""Assignments to a variable that all iterations of a parallel loop share are told of at the user's line."""

import warnings

import numpy as np
import pytest

import quadrants as qd


def largest():
    @qd.kernel
    def k(x: qd.types.ndarray()) -> qd.f32:
        m = 0.0
        for i in x:
            m = qd.max(m, x[i])
        return m

    return k


def largest_by_branch():
    @qd.kernel
    def k(x: qd.types.ndarray()) -> qd.f32:
        m = 0.0
        for i in x:
            if x[i] > m:
                m = x[i]
        return m

    return k


def total():
    @qd.kernel
    def k(x: qd.types.ndarray()) -> qd.f32:
        m = 0.0
        for i in x:
            m = m + x[i]
        return m

    return k


def elements():
    @qd.kernel
    def k(x: qd.types.ndarray()) -> qd.f32:
        m = qd.Vector([0.0, 0.0])
        for i in x:
            m[1] = m[1] + x[i]
        return m[1]

    return k


def sums():
    @qd.kernel
    def k(x: qd.types.ndarray()) -> qd.f32:
        m, most = 0.0, 0.0
        for i in x:
            m += x[i]
            qd.atomic_max(most, x[i])
        return m + most

    return k


def found():
    @qd.kernel
    def k(x: qd.types.ndarray()) -> qd.i32:
        at = -1
        for i in x:
            if x[i] == 3.0:
                at = i
        return at

    return k


def in_order():
    @qd.kernel
    def k(x: qd.types.ndarray()) -> qd.f32:
        m = 0.0
        for _ in range(1):
            for i in range(x.shape[0]):
                m = m + x[i]
        return m

    return k


def one_by_one():
    @qd.kernel
    def k(x: qd.types.ndarray()) -> qd.f32:
        m = 0.0
        qd.loop_config(serialize=True)
        for i in range(x.shape[0]):
            m = m + x[i]
        return m

    return k


def private():
    @qd.kernel
    def k(x: qd.types.ndarray()) -> qd.f32:
        m = 0.0
        for i in x:
            v = 0.0
            v = v + x[i]
            m += v
        return m

    return k


def run(make):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = make()(np.array([1.0, 3.0, 2.0], np.float32))
    return value, [w for w in caught if "one variable for all iterations" in str(w.message)]


@pytest.mark.parametrize("make", [largest, largest_by_branch, total, elements])
def test_a_race_is_told_of_at_its_line(arch, make):
    caught = run(make)[1]
    assert len(caught) == 1 and caught[0].filename == __file__
    with open(__file__) as file:
        line = file.read().splitlines()[caught[0].lineno - 1].strip()
    assert line.startswith(("m = qd.max", "m = x[i]", "m = m + x[i]", "m[1] = m[1]"))
    written = line.split(" =")[0]
    assert f"'{written}' is" in str(caught[0].message) and f"`{written} += ..`" in str(caught[0].message)


def items():
    @qd.func
    def step(d: qd.template(), x):
        d["v"][1] = d["v"][1] + x
        d["c"] = max(
            d["c"],
            x,
        )

    @qd.kernel
    def k(x: qd.types.ndarray()) -> qd.f32:
        d = {"v": [0.0, 0.0], "c": 0.0}
        for i in x: d["v"][0] = d["v"][0] + x[i]  # fmt: skip # noqa: E701
        for i in x:
            step(d, x[i])
        return d["v"][0] + d["v"][1]

    return k


def test_items_are_named_as_they_are_written(arch):
    named = [str(w.message).split("'")[1] for w in run(items)[1]]
    assert named[:2] == ['d["v"][0]', 'd["v"][1]'] and len(named) == 3


@pytest.mark.parametrize(
    ("make", "value"), [(sums, 9.0), (found, 1), (in_order, 6.0), (one_by_one, 6.0), (private, 6.0)]
)
def test_what_is_right_is_not_told_of(arch, make, value):
    assert run(make) == (value, [])
