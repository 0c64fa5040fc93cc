"""Depths of stacks from one launch to the next: where bounds may come from, other processes, and what it costs."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from oracle import field
from size_kit import POINTS, Case, array, ints, of_array, of_field, slope

import quadrants as qd


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


def test_iterations_that_an_array_decides_are_kept_with_the_depths():
    x, y = field(np.linspace(0.1, 0.9, 64)), field(np.zeros(64))
    count = ints([3, 5])

    @qd.kernel
    def k():
        for i in range(count[0]):
            v = x[i]
            for _ in range(count[1]):
                v = qd.sin(v)
            y[i] = v

    def gradient():
        x.grad.fill(0)
        y.grad.fill(1)
        k.grad()
        return x.grad.to_numpy()

    points = x.to_numpy()
    for rows, trips in ((3, 5), (3, 5), (40, 5), (64, 9), (64, 9), (1, 2), (0, 2), (64, 2)):
        count[0] = rows
        count[1] = trips
        for _ in range(2):
            want = [slope(p, trips) if i < rows else 0.0 for i, p in enumerate(points)]
            assert np.allclose(gradient(), want, rtol=1e-12)


def test_without_write_sets_a_longer_loop_fails(monkeypatch):
    # As above, for what kernels write.
    from quadrants.passes import pipeline

    n = ints([1, 2, 3, 4])
    case = of_field(n)
    assert case.looks() == 1

    def deaf(module):
        return module

    monkeypatch.setattr(pipeline, "PASSES", tuple(deaf if p.__name__ == "note_writes" else p for p in pipeline.PASSES))

    @qd.kernel
    def longer():
        for i in n:
            n[i] = 60

    longer()
    with pytest.raises(qd.QuadrantsAssertionError, match="[Aa]dstack overflow"):
        case.launch()
        qd.sync()
    assert case.looks() == 1


def test_bounds_in_members_and_views():
    x, y = field(POINTS), field(np.zeros(4))

    @qd.data_oriented
    class Holder:
        def __init__(self):
            self.n = array([1, 2, 3, 4])

        @qd.kernel
        def k(self):
            for i in x:
                v = x[i]
                for _ in range(self.n[i]):
                    v = qd.sin(v)
                y[i] = v

    holder = Holder()
    case = Case(holder.k, x, y, (), lambda i: holder.n[i])
    assert [case.looks(), case.looks()] == [1, 0]
    holder.n[2] = 50
    assert [case.looks(), case.looks()] == [1, 0]
    holder.n = array([9, 9, 9, 70])
    assert [case.looks(), case.looks()] == [1, 0]

    @qd.kernel
    def of_view(w: qd.BufferView[qd.i32]):
        for i in x:
            v = x[i]
            for _ in range(w[i]):
                v = qd.sin(v)
            y[i] = v

    whole = array(np.arange(10))
    case = Case(of_view, x, y, (whole[2:6],), lambda i: whole[2 + i])
    assert [case.looks(), case.looks()] == [1, 0]
    case.args, case.trips = (whole[6:10],), lambda i: whole[6 + i]
    case.looks()
    assert case.looks() == 0
    whole[8] = 40
    assert [case.looks(), case.looks()] == [1, 0]


def test_launches_that_know_their_depths_allocate_nothing():
    case = of_array(array([1, 2, 3, 4]))
    assert case.looks() == 1
    kernel, args = case.kernel.grad, case.args
    kernel(*args)
    before = sys.getallocatedblocks()
    for _ in range(2000):
        kernel(*args)
    assert sys.getallocatedblocks() - before < 20
    assert case.hits() == 2001


PROGRAM = """
import sys
import numpy as np
import quadrants as qd

@qd.kernel(fastcache=True)
def kept(x: qd.types.ndarray(qd.f64, 1), y: qd.types.ndarray(qd.f64, 1), n: qd.types.ndarray(qd.i32, 1)):
    for i in range(x.shape[0]):
        v = x[i]
        for _ in range(n[i]):
            v = qd.sin(v)
        y[i] = v

qd.init(arch=getattr(qd, sys.argv[1]), ad_stack_experimental_enabled=True)
x, y = (qd.ndarray(qd.f64, (4,), needs_grad=True) for _ in range(2))
n = qd.ndarray(qd.i32, (4,))
x.fill(1.0)
for trips in (3, 3, 20, 20, 20, 2):
    if n[0] != trips:
        n.fill(trips)
    x.grad.fill(0)
    y.grad.fill(1)
    kept.grad(x, y, n)
    v, slope = 1.0, 1.0
    for _ in range(trips):
        v, slope = np.sin(v), slope * np.cos(v)
    assert np.allclose(x.grad.to_numpy(), slope), trips
(plan,) = kept.grad._plans
print("found", plan.kept.hits, plan.kept.misses)
"""


@pytest.mark.runtime(exclude=("opencl",))  # PoCL links what it loads by `ld`, which is not on this PATH
def test_kernels_from_the_disk_keep_them_too(arch_environment, arch_name, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    said = []
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, str(path), arch_name], capture_output=True, text=True, timeout=120,
            env={**arch_environment, "QD_OFFLINE_CACHE_FILE_PATH": str(tmp_path / "cache")},
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        said += [line for line in run.stdout.splitlines() if line.startswith("found")]
    assert said == ["found 3 3"] * 2
