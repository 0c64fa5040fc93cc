"""Texts that several compilers make compute what they compute as one."""

from __future__ import annotations

import numpy as np
import pytest
import several
from expectations import differences
from harness import path_that_runs, program_names

import quadrants as qd
from quadrants.emit import units
from quadrants.toolchain import shares

pytestmark = [pytest.mark.sampled, pytest.mark.cpu_only]


@pytest.fixture
def short(tmp_path) -> str:
    """A search path on which the shortest texts are shared out, and there are three compilers."""
    return path_that_runs("import several; several.apply()", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("program", program_names())
def test_program(arch_name: str, program: str, short: str) -> None:
    problems = differences(program, arch_name, short)
    assert not problems, "\n".join(problems)


@pytest.fixture
def shared(monkeypatch) -> list[int]:
    """How many compilers each text had, in a process where all texts are shared out."""
    for module, name in ((units, "FAIR"), (units, "SMALLEST"), (units, "_LOPSIDED"), (shares, "hardware_threads")):
        monkeypatch.setattr(module, name, getattr(module, name))  # put back after `apply`
    several.apply()
    counts = []
    compile_all = shares._compile_all

    def watched(source, name, masks, options, compiler):
        counts.append(len(masks))
        return compile_all(source, name, masks, options, compiler)

    monkeypatch.setattr(shares, "_compile_all", watched)
    return counts


def test_tasks_and_functions_meet_again(arch, shared):
    qd.init(arch=qd.cpu, offline_cache=False)

    @qd.real_func
    def power(x: qd.i32, n: qd.i32) -> qd.i32:
        if n == 0:
            return 1
        return x * power(x, n - 1)

    @qd.kernel
    def run(x: qd.types.ndarray(dtype=qd.i32, ndim=1)) -> qd.i32:
        offset = x[0] + 1
        for i in x:
            x[i] = power(i, 3) + offset
        total = 0
        for i in x:
            total += x[i]
        return total

    x = np.zeros(100, np.int32)
    x[0] = 4
    assert run(x) == sum(i**3 + 5 for i in range(100))
    assert shared == [3]


def test_debug_checks_of_other_units_are_told(arch, shared):
    qd.init(arch=qd.cpu, debug=True, offline_cache=False)
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def run(n: qd.i32):
        for i in range(4):
            x[i] = i
        for i in range(4):
            x[i + n] = i

    run(0)
    with pytest.raises(AssertionError, match="x\\[i \\+ n\\]|out of bound|index"):
        run(2)
    assert shared and min(shared) > 1
