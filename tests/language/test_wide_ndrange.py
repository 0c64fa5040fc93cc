"""Bounds of `qd.ndrange` that 32 bits do not hold: indices are what the bounds are."""

import pytest
from language_kit import raises

import quadrants as qd

RANGES = [
    (qd.i64, 2**40, 2**40 + 5),
    (qd.i64, -(2**40) - 3, -(2**40)),
    (qd.i64, 2**40 + 2**31 + 2, 2**40 + 2**31 + 5),
    (qd.i64, 7, 3),
    (qd.u32, 2**31 - 2, 2**31 + 2),
    (qd.u32, 9, 4),
    (qd.u64, 2**63 - 1, 2**63 + 3),
]


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(("dtype", "first", "last"), RANGES)
def test_bounds_of_every_wide_type(arch, init, dtype, first, last, debug):
    init(debug=debug)
    count, total = qd.field(qd.i32, 4), qd.field(dtype, 4)

    @qd.kernel
    def walk(a: dtype, b: dtype):
        for i, j in qd.ndrange((a, b), 2):
            qd.atomic_add(count[0], 1)
            qd.atomic_add(total[0], i - a)
        for j, i in qd.ndrange(2, (a, b), axes=(1, 0)):
            qd.atomic_add(count[1], 1)
            qd.atomic_add(total[1], i - a)
        for k in range(1):
            for i, j in qd.ndrange((a, b), 2):
                i -= a
                count[2] += 1
                total[2] += i
        for i in qd.ndrange((a, b)):
            if i < a or i >= b:
                count[3] += 100
            qd.atomic_add(count[3], 1)

    walk(first, last)
    n = max(0, last - first)
    assert count.to_numpy().tolist() == [2 * n, 2 * n, 2 * n, n]
    assert total.to_numpy().tolist()[:3] == [n * (n - 1)] * 3


def test_bounds_of_two_types(arch):
    found = qd.field(qd.i64, ())

    @qd.kernel
    def walk(a: qd.i32, b: qd.i64):
        for i, j in qd.ndrange((a, b), 1):
            found[None] += i

    walk(-3, 2)
    assert found[None] == -5


def test_constants(arch):
    found = qd.field(qd.i64, ())

    @qd.kernel
    def walk():
        for i, j in qd.ndrange((2**40, 2**40 + 3), 1):
            found[None] += i

    walk()
    assert found[None] == 3 * 2**40 + 3

    @qd.kernel
    def too_far():
        for i, j in qd.ndrange(2**70, 1):
            found[None] += i

    with raises(qd.QuadrantsTypeError, "exceeded the range of a loop bound: i64"):
        too_far()


def test_more_iterations_than_a_loop_counts(init):
    init(debug=True)
    found = qd.field(qd.i64, ())

    @qd.kernel
    def walk(n: qd.i64):
        for i, j in qd.ndrange(n, 1):
            found[None] += 1

    with pytest.raises(qd.QuadrantsAssertionError, match="more than 2147483647 iterations"):
        walk(2**33)


def test_a_derivative(init):
    init()
    loss, x = (qd.field(qd.f32, (), needs_grad=True) for _ in range(2))
    x[None] = 1

    @qd.kernel
    def add(a: qd.i64, b: qd.i64):
        for i, j in qd.ndrange((a, b), 2):
            loss[None] += x[None] * qd.cast(i - a, qd.f32)

    with qd.ad.Tape(loss):
        add(2**40, 2**40 + 4)
    assert (loss[None], x.grad[None]) == (12, 12)
