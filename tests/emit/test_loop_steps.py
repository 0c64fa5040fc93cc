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
        k = n[j]
        while k > 0 and total < 1e6:
            total += 1.0
            if k % 2 == 0:
                k -= 3
            else:
                break
        m = qd.i64(3)
        while n[j] >= m:
            total += 0.5
            m += 7
        out[j] = total


@qd.kernel
def not_kept(x: Floats, n: Ints, out: qd.types.ndarray(qd.f32, 1)):
    for j in n:
        total = qd.f32(0.0)
        twice = 0
        while twice < n[j]:
            twice += 16
            total += x[twice % 8, j]
            if total > 3.0:
                twice += 8
        inner = 0
        while inner < n[j]:
            for _ in range(2):
                inner += 11
            total += 1.0
        other = 0
        while total < 50.0:
            other += 13
            total += 1.0
        wrong_way = 0
        while wrong_way > -40:
            wrong_way += 17
            if wrong_way > 30:
                break
        natural = qd.u32(0)
        while natural < 40:
            natural += 19
        last = 2147483640
        while last < 2147483647:
            last += 23
            if last < 0:
                total += 100.0
                break
        far = 0
        while far < n[j]:
            far += 70000
        out[j] = total + qd.f32(other + wrong_way + inner + twice + far % 1000) + qd.f32(natural)


def arguments():
    x = (np.arange(64 * 4, dtype=np.float32) % 7 / 8).reshape(64, 4)
    return x, np.array([0, 5, 40, 64], np.int32), np.zeros(4, np.float32)


def test_steps_that_a_bound_keeps_are_plain():
    text = kept.source(*arguments(), arch="cuda")
    assert re.findall(r"\b[ikm] [-+]= \w+;", text) == ["i += 32;", "k -= 3;", "m += 7ll;"]


def test_others_wrap():
    text = not_kept.source(*arguments(), arch="cuda")
    found = re.findall(r"\w+ \+= (\d+\w*);", text)
    assert set(found) >= {"16u", "8u", "11u", "13u", "17u", "19u", "23u", "70000u"}, found


def kept_in_python(x, n):
    out = []
    for j in range(4):
        total = np.float32(0)
        for i in range(j % 2, n[j], 32):
            total += x[i, j]
        k = n[j]
        while k > 0:
            total += np.float32(1)
            if k % 2:
                break
            k -= 3
        out.append(total + np.float32(0.5) * len(range(3, n[j] + 1, 7)))
    return out


def not_kept_in_python(x, n):
    out = []
    for j in range(4):
        total, twice, inner, other, wrong_way = np.float32(0), 0, 0, 0, 0
        while twice < n[j]:
            twice += 16
            total += x[twice % 8, j]
            if total > 3:
                twice += 8
        while inner < n[j]:
            inner += 22
            total += 1
        while total < 50:
            other += 13
            total += 1
        while wrong_way > -40:
            wrong_way += 17
            if wrong_way > 30:
                break
        out.append(total + 100 + np.float32(other + wrong_way + inner + twice + (70000 % 1000 if n[j] else 0)) + 57)
    return out


@pytest.mark.parametrize("kernel, model", [(kept, kept_in_python), (not_kept, not_kept_in_python)])
def test_loops_count_as_in_python(arch, kernel, model):
    x, n, out = arguments()
    kernel(x, n, out)
    np.testing.assert_array_equal(out, np.array(model(x, n), np.float32))
