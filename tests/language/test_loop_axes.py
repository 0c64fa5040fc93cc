"""Axes of loops that are empty, and loops with a step."""

import pytest

import quadrants as qd


@pytest.mark.parametrize("empty", [0, (2, 2), (3, 1)])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_axis_that_is_always_empty_beside_one_of_run_time(arch, empty, at):
    total, cells = qd.field(qd.i32, ()), qd.field(qd.i32, 4)
    axes = [2, 2, 2]
    axes[at] = empty
    first, second, third = axes

    @qd.kernel
    def sums(n: qd.i32) -> qd.i32:
        count = 0
        for i, j, k, l in qd.ndrange(first, n, second, third):
            total[None] += i + j + k + l + 1
        for I in qd.grouped(qd.ndrange(first, second, n)):
            total[None] += I[0] + 1
        for i, j in qd.ndrange(empty, n):
            count += 1
        for i, j in qd.ndrange(n, empty):
            cells[i] = 7
        for i in range(n):
            count += 10
        return count

    grouped = empty in axes[:2]
    assert sums(3) == 30
    assert total[None] == (0 if grouped else 2 * 2 * 3 // 2 * 3)
    assert cells.to_numpy().tolist() == [0] * 4


def test_loops_with_a_step_as_the_message_has_them(arch):
    seen = qd.field(qd.i32, 16)

    @qd.kernel
    def steps(a: qd.i32, b: qd.i32, s: qd.i32) -> qd.i32:
        count = 0
        for _ in range(1):
            for k in range(-((a - b) // s)):
                i = a + k * s
                seen[k] = i
                count += 1
        return count

    for bounds in (
        (0, 10, 3),
        (0, 9, 3),
        (9, 0, -3),
        (10, 0, -3),
        (5, 5, 1),
        (5, 5, -2),
        (0, 5, -1),
        (5, 0, 2),
        (-4, 4, 5),
    ):
        count = steps(*bounds)
        assert seen.to_numpy()[:count].tolist() == list(range(*bounds)), bounds
