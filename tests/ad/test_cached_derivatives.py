"""Derivatives from the disk: which options they depend on, and what their errors say."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

KEPT = """
import quadrants as qd


@qd.kernel(fastcache=True)
def kept(x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in x:
        v = x[i]
        for _ in range(n):
            v = v * 0.5 + v * v * 0.125
        y[i] = v
"""

PROGRAM = """
import sys
import quadrants as qd
from kept import kept

options = dict(word.split("=") for word in sys.argv[3:])
qd.init(ad_stack_experimental_enabled=True, offline_cache_file_path=sys.argv[1],
        **{name: int(value) for name, value in options.items()})
x, y = (qd.ndarray(qd.f32, 4, needs_grad=True) for _ in range(2))
x.fill(1)
y.grad.fill(1)
try:
    kept.grad(x, y, int(sys.argv[2]))
    qd.sync()
    said = x.grad.to_numpy().tolist()
except qd.QuadrantsAssertionError as error:
    said = str(error).replace("\\n", " ")
print(kept.grad.src_ll_cache_observations.cache_loaded, said)
"""


@pytest.fixture
def run(arch_name, arch_environment, tmp_path):
    """Runs the program with a number of trips and options: (whether it came from the disk, what it said)."""
    (tmp_path / "kept.py").write_text(KEPT)
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(trips: int, *options: str) -> tuple:
        command = [sys.executable, "program.py", str(tmp_path / "cache"), str(trips), *options]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, **arch_environment}
        )
        assert done.returncode == 0, done.stderr
        loaded, said = done.stdout.splitlines()[-1].split(" ", 1)
        return loaded == "True", said

    return run


def test_options_of_stacks_are_part_of_the_key(run):
    plain = run(5)
    assert not plain[0] and run(5) == (True, plain[1])
    for option in ("ad_stack_size=16", "ad_stack_sparse_threshold_bytes=0"):
        assert run(5, option) == (False, plain[1])
        assert run(5, option) == (True, plain[1])
    assert run(5)[0]


def test_an_overflow_of_a_kernel_from_the_disk_names_it(run):
    fresh, said = run(64, "ad_stack_size=16")
    assert not fresh and "verflow" in said and "kept_reverse_grad" in said
    assert run(64, "ad_stack_size=16") == (True, said)


def test_a_kernel_from_the_disk_takes_any_number_of_trips(run):
    """Sizes are found at every launch, by what the disk keeps of them."""
    slopes = {}
    for trips in (2, 0, 40):
        loaded, said = run(trips)
        assert loaded == (trips != 2)
        v = slope = 1.0
        for _ in range(trips):
            v, slope = v * 0.5 + v * v * 0.125, (0.5 + 0.25 * v) * slope
        slopes[trips] = said.strip("[]").split(", ")
        assert all(abs(float(g) - slope) <= 1e-5 * slope for g in slopes[trips])
