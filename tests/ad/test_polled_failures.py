"""Overflows of launches that nobody waited for: who tells them, and when. A CPU tells them at once."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from oracle import check, field
from stack_kit import recur, recurrence

import quadrants as qd

POINTS = [0.3, -0.7, 1.3, 0.9]
OVERFLOW = "[Aa]dstack overflow"


@pytest.fixture
def short(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_size=32)


def made():
    x, y = field(POINTS), field(np.zeros(4))
    return recurrence(x, y), x, y


def is_late() -> bool:
    """Whether a launch returns before its work is done, also where it may fail."""
    return qd.cfg.arch not in (qd.cpu, qd.opencl) and not qd.cfg.emulate


def keep_busy():
    """Work for the device that takes much longer than any launch."""
    out = qd.field(qd.f64, ())

    @qd.kernel
    def spin(n: qd.i32):
        for _ in range(1):
            out[None] = recur(0.1, n)

    long = 10_000 if qd.cfg.arch == qd.vulkan else 2_000_000  # llvmpipe ends longer loops
    spin(long if is_late() else 1)


def test_a_sync_tells(short):
    k, x, y = made()
    k.grad(5)
    qd.sync()
    with pytest.raises(qd.QuadrantsAssertionError, match=OVERFLOW) as caught:
        keep_busy()
        k.grad(64)
        if is_late():
            k.grad(64)
        qd.sync()
    assert str(caught.value).count("k_reverse_grad") == 1
    qd.sync()
    check(k, [x], [y], 30, modes="r")


@pytest.mark.parametrize("form", ["numpy", "element", "launch"])
def test_whoever_reads_or_launches_tells(short, form):
    k, x, y = made()
    other, _, out = made()
    k.grad(5)
    other(3)
    with pytest.raises(qd.QuadrantsAssertionError, match=OVERFLOW):
        k.grad(64)
        if form == "numpy":
            x.grad.to_numpy()
        elif form == "element":
            x.grad[2]
        else:
            for _ in range(100_000):
                other(4)
    qd.sync()
    other(5)
    assert out.to_numpy()[0] != 0
    check(k, [x], [y], 30, modes="r")


def test_every_kernel_that_failed_is_named(short):
    first, *_ = made()
    second, *_ = made()
    for k in (first, second):
        k.grad(3)
    with pytest.raises(qd.QuadrantsAssertionError, match=OVERFLOW) as caught:
        keep_busy()
        first.grad(64)
        second.grad(50)
        qd.sync()
    assert "runs 64 times" in str(caught.value)
    assert ("runs 50 times" in str(caught.value)) == is_late()
    qd.sync()


def test_a_kernel_with_a_result_tells_by_itself(short):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        for i in x:
            y[i] = recur(x[i], n)
        return n

    assert k.grad(3) == 3
    with pytest.raises(qd.QuadrantsAssertionError, match=OVERFLOW):
        k.grad(64)
    assert k.grad(4) == 4


def test_the_end_of_a_runtime_is_silent(init):
    for _ in range(2):
        init(default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_size=32)
        k, x, y = made()
        k.grad(3)
        qd.sync()
        if is_late():
            keep_busy()
            k.grad(64)
        qd.reset()


PROGRAM = """
import quadrants as qd
qd.init(default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_size=32)
x, y = qd.field(qd.f64, 4, needs_grad=True), qd.field(qd.f64, 4, needs_grad=True)
@qd.kernel
def k(n: qd.i32):
    for i in x:
        v = x[i]
        for _ in range(n):
            v = qd.sin(v) + 0.1
        y[i] = v
k.grad(3)
qd.sync()
try:
    k.grad(64)
except qd.QuadrantsAssertionError:
    pass  # where launches wait
print("the end")
"""


@pytest.mark.runtime(exclude=("metal",))  # which has no f64
def test_a_process_may_end_with_an_overflow_that_nobody_heard_of(arch_environment, tmp_path):
    path = tmp_path / "ends.py"
    path.write_text(PROGRAM)
    env = {**os.environ, **arch_environment}
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=env, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
    assert done.stdout.splitlines()[-1] == "the end"
