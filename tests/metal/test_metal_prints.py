"""Prints of Metal text go through memory; the host makes the lines."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.cpu_only


@qd.kernel
def every_kind(n: qd.i32, x: qd.f32):
    v = qd.Vector([x, -x])
    print(n, x, v, qd.u64(18446744073709551615), qd.i64(-9223372036854775807), qd.f16(0.5), n > 3)
    print(f"{n:5d}| {x:.2f} {x:e} {qd.u32(4294967295):x}", "100%", sep="-", end="!\n")


@qd.kernel
def one_line_each(n: qd.i32):
    for i in range(n):
        print("line", i, i * 0.5)


@pytest.fixture
def metal():
    yield lambda **options: qd.init(arch=qd.metal, emulate=True, enable_fallback=False, **options)
    qd.reset()


def _printed(capfd, run) -> str:
    qd.sync()
    capfd.readouterr()
    run()
    qd.sync()
    return capfd.readouterr().out


def test_lines_are_those_of_the_cpu(metal, capfd):
    metal()
    found = _printed(capfd, lambda: every_kind(7, 2.25))
    qd.init(arch=qd.cpu)
    assert found == _printed(capfd, lambda: every_kind(7, 2.25)) != ""


def test_a_thousand_threads_print_whole_lines(metal, capfd):
    metal()
    lines = _printed(capfd, lambda: one_line_each(1000)).splitlines()
    assert sorted(lines) == sorted(f"line {i} {i * 0.5:.6f}" for i in range(1000))


def test_lines_that_find_no_room_are_counted(metal, capfd, monkeypatch):
    monkeypatch.setenv("QD_PRINT_BUFFER", "4096")
    metal()
    lines = _printed(capfd, lambda: one_line_each(1000)).splitlines()
    fit = (4096 - 16) // (3 * 8)
    assert len(lines) == fit + 1
    assert lines[-1] == f"[Quadrants] {1000 - fit} prints of kernel 'one_line_each' lost; set QD_PRINT_BUFFER"


@qd.kernel
def overflowing(x: qd.types.ndarray(dtype=qd.i64, ndim=1), y: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    for i in range(1):
        y[0] = y[1] + y[2]
        y[0] = y[1] * y[2]
        x[0] = x[1] * x[2]
        x[0] = x[1] - x[2]
        x[0] = x[3] * x[4]
        x[0] = x[1] << 1


def test_overflows_are_reported_as_on_the_cpu(metal, capfd):
    x = np.array([0, 2**62, -(2**62) - 1, -1, -(2**63)], np.int64)
    y = np.array([0, 2**30, 2**30], np.int32)
    metal(debug=True)
    found = _printed(capfd, lambda: overflowing(x.copy(), y.copy()))
    qd.init(arch=qd.cpu, debug=True)
    assert found == _printed(capfd, lambda: overflowing(x.copy(), y.copy()))
    assert found.count("overflow detected") == 6
