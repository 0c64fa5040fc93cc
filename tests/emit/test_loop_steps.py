"""Steps of counters that a loop keeps below a bound are those of C, which compilers may take for never overflowing."""

from __future__ import annotations

import re

import numpy as np
import pytest

import quadrants as qd

Ints, Floats = qd.types.ndarray(qd.i32, 1), qd.types.ndarray(qd.f32, 2)


@qd.kernel
def kept(x: Floats, n: Ints, out: qd.types.ndarray(qd.f32, 1)):
    for j in n:
        total = qd.f32(0.0)
        i = j % 2
        while i < n[j]:
            total += x[i, j]
            i = i + 32
        k = n[j] - 1
        while k >= 0 and total < 1e6:
            y = x[k, j] * 2
            if y > 0.5:
                total += y
            k -= 3
        m = qd.i64(3)
        while n[j] > m:
            total = total + x[m, j]
            m += 7
        out[j] = total


@qd.kernel
def not_kept(x: Floats, n: Ints, out: qd.types.ndarray(qd.f32, 1)):
    for j in n:
        total = qd.f32(0.0)
        twice = 0
        while twice < n[j]:
            total += x[twice, j]
            twice += 16
            if total > 3.0:
                twice += 8
        inner = 0
        while inner < n[j]:
            total += x[inner, j]
            for _ in range(2):
                inner += 11
        other = 0
        while total < 50.0:
            total += x[other, j] + 1.0
            other += 1 + 4
            if other > 50:
                other = 0
        seen = 0
        while seen < n[j]:
            total += x[seen, j]
            seen += 13
            if seen < 0:
                break
        late = 0
        while late < n[j]:
            if late > 40:
                break
            total += x[late, j]
            late += 17
        both = 0
        while both < n[j] and both >= 0:
            total += x[both, j]
            both += 18
        maybe = 0
        while maybe < n[j]:
            total += x[maybe, j] if total < 1e6 else 0.0
            maybe += 19
        sum_ = 0
        while sum_ < n[j]:
            total += x[sum_ % 64, j]
            sum_ += 23
        far = 0
        while far < n[j]:
            total += x[far, j]
            far += 70000
        out[j] = total


def arguments():
    x = (np.arange(64 * 4, dtype=np.float32) % 7 / 8).reshape(64, 4)
    return x, np.array([0, 5, 40, 64], np.int32), np.zeros(4, np.float32)


def steps(kernel) -> list[str]:
    return re.findall(r"\w+ [-+]= \d+\w*;", kernel.source(*arguments(), arch="cuda"))


def test_steps_that_a_bound_keeps_are_plain():
    """An index of 64 bits is cut to 32, and may be one of the array when it has wrapped."""
    assert [s for s in steps(kept) if s.startswith(("i ", "k ", "m "))] == ["i += 32;", "k -= 3;", "m += 7ull;"]


def test_others_wrap():
    """Those of which a round may see that they have wrapped, before it takes them for an index or without that."""
    found = [s for s in steps(not_kept) if re.match(r"(twice|inner|seen|late|both|maybe|sum_|far) ", s)]
    assert {int(re.findall(r"\d+", s)[0]) for s in found} == {8, 11, 13, 16, 17, 18, 19, 23, 70000}
    assert all(s.endswith("u;") for s in found), found


@qd.kernel
def overflowing(start: qd.i32, n: qd.i32, step: qd.template()) -> qd.i32:
    i = start
    k = 0
    while i < n:
        i += step
        k += 1
        if i < 0 or k > 9:
            break
    return k


def test_a_counter_that_wraps_is_below_zero(init):
    init()
    most = 2**31 - 1
    assert [overflowing(most - 100, most, 64), overflowing(most - 3, most, 5), overflowing(0, 100, 64)] == [2, 1, 2]


def kept_in_python(x, n):
    out = []
    for j in range(4):
        total = np.float32(0)
        for i in range(j % 2, n[j], 32):
            total += x[i, j]
        for k in range(n[j] - 1, -1, -3):
            if x[k, j] * 2 > 0.5:
                total += x[k, j] * 2
        for m in range(3, n[j], 7):
            total += x[m, j]
        out.append(total)
    return out


def not_kept_in_python(x, n):
    out = []
    for j in range(4):
        total, twice, other = np.float32(0), 0, 0
        while twice < n[j]:
            total += x[twice, j]
            twice += 24 if total > 3 else 16
        for k in range(0, n[j], 22):
            total += x[k, j]
        while total < 50:
            total += x[other, j] + 1
            other = other + 5 if other + 5 <= 50 else 0
        for step, most in ((13, 64), (17, 41), (18, 64), (19, 64), (23, 64), (70000, 64)):
            for k in range(0, min(n[j], most), step):
                total += x[k, j]
        out.append(total)
    return out


@pytest.mark.parametrize("kernel, model", [(kept, kept_in_python), (not_kept, not_kept_in_python)])
def test_loops_count_as_in_python(arch, kernel, model):
    x, n, out = arguments()
    kernel(x, n, out)
    np.testing.assert_array_equal(out, np.array(model(x, n), np.float32))
