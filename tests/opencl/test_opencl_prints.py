"""What kernels print where OpenCL cannot: through memory from which the host makes the lines."""

from __future__ import annotations

import re

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.cpu_only


@qd.func
def told(i, x):
    print(f"{i:04d}|{x:8.3f}|100%|\0|", qd.Vector([i, -i]), x > 2, qd.u64(2) ** 63 + qd.u64(i), qd.f32(0.1))
    return i


@qd.kernel
def many(n: qd.i32, x: qd.f64) -> qd.i32:
    total = 0
    for i in range(n):
        total += told(i, x * i)
    print("sum", total, qd.i64(-total) * 1_000_000_000, qd.i8(-1), qd.u8(255))
    return total


def test_lines_are_those_of_the_cpu(opencl, capfd):
    found = []
    for start in (opencl, lambda **options: qd.init(arch=qd.cpu, **options)):
        start()
        capfd.readouterr()
        many(1000, 0.5)
        *lines, last = capfd.readouterr().out.splitlines()
        found.append((sorted(lines), last))
    assert found[0] == found[1] and len(found[0][0]) == 1000


@qd.kernel
def overflows(x: qd.types.ndarray(dtype=qd.i32, ndim=1), y: qd.types.ndarray(dtype=qd.u32, ndim=1)):
    for i in range(1):
        x[0] = x[0] + x[1]
        x[1] = -x[1] - x[0]
        x[2] = x[2] * x[2]
        y[0] = y[0] - y[1]
        x[3] = x[3] << 2
        x[4] = x[4] // x[5]


def test_reports_of_overflows_are_those_of_the_cpu(opencl, capfd):
    found = []
    for start in (opencl, lambda **options: qd.init(arch=qd.cpu, **options)):
        start(debug=True)
        capfd.readouterr()
        numbers = [2**31 - 1, 2**31 - 1, 2**20, 2**30, -(2**31), -1]
        overflows(np.array(numbers, np.int32), np.array([0, 1], np.uint32))
        found.append(capfd.readouterr().out)
    assert found[0] == found[1]
    assert set(re.findall(r"(\w+) overflow", found[0])) >= {"Addition", "Multiplication", "Subtraction", "left"}


@pytest.mark.parametrize("threads", [10, 2000])
def test_lines_that_find_no_room_are_counted(opencl, capfd, monkeypatch, threads):
    @qd.kernel
    def numbered(n: qd.i32):
        for i in range(n):
            print("thread", i)

    monkeypatch.setenv("QD_PRINT_BUFFER", "4096")
    opencl()
    capfd.readouterr()
    for _ in range(2):
        numbered(threads)
        lines = capfd.readouterr().out.splitlines()
        whole = [line for line in lines if re.fullmatch(r"thread \d+", line)]
        room = (4096 // 8 - 2) // 2
        assert len(set(whole)) == len(whole) == min(threads, room)
        lost = [f"[Quadrants] {threads - room} prints of kernel 'numbered' lost; set QD_PRINT_BUFFER"]
        assert lines[len(whole) :] == (lost if threads > room else [])


def test_a_size_that_is_no_number_is_refused(opencl, monkeypatch):
    monkeypatch.setenv("QD_PRINT_BUFFER", "1M")
    opencl()
    with pytest.raises(ValueError, match="Invalid QD_PRINT_BUFFER=1M"):
        many(1, 0.0)


def test_what_a_failed_launch_printed_is_shown(opencl, capfd):
    @qd.kernel
    def fails(n: qd.i32):
        for i in range(n):
            print("before", i)
        for i in range(n):
            assert i < 0, "as told"

    opencl(debug=True)
    capfd.readouterr()
    with pytest.raises(qd.QuadrantsAssertionError, match="as told"):
        fails(3)
    assert sorted(capfd.readouterr().out.splitlines()) == ["before 0", "before 1", "before 2"]
    many(0, 0.0)
    assert capfd.readouterr().out == "sum 0 0 -1 255\n"
