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


FIELDS = """
import sys
import quadrants as qd


@qd.kernel(fastcache=True)
def gated(x: qd.template(), y: qd.template(), gate: qd.template(), n: qd.template()):
    for i in x:
        if gate[i] > 0.5:
            v = x[i]
            for _ in range(n[None]):
                v = v * 0.5 + v * v * 0.125
            y[i] = v
        else:
            y[i] = 3.0 * x[i]


for padding in range(3):
    qd.init(ad_stack_experimental_enabled=True, ad_stack_sparse_threshold_bytes=0, offline_cache_file_path=sys.argv[1])
    for k in range(padding):
        other = qd.field(qd.f32, 100 + k)
        other.fill(1)
    builder = qd.FieldsBuilder()
    x, y = (qd.field(qd.f32, needs_grad=True) for _ in range(2))
    gate, n = qd.field(qd.f32), qd.field(qd.i32)
    builder.dense(qd.i, 4).place(x, y, x.grad, y.grad)
    builder.dense(qd.i, 4).place(gate)
    builder.place(n)
    tree = builder.finalize()
    for trips, passing in ((2, 1), (40, 2)):
        n[None] = trips
        gate.fill(0)
        gate[passing] = 1
        x.fill(1)
        x.grad.fill(0)
        y.grad.fill(1)
        gated.grad(x, y, gate, n)
        print(padding, trips, passing, *x.grad.to_numpy())
    tree.destroy()
"""


def test_a_kernel_from_the_disk_follows_the_fields_of_its_process(arch_environment, tmp_path):
    """Bounds and conditions are read where the fields are now, not where they were."""
    (tmp_path / "fields.py").write_text(FIELDS)
    for _ in range(2):
        command = [sys.executable, "fields.py", str(tmp_path / "cache")]
        environment = {**os.environ, **arch_environment}
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        lines = [line.split() for line in done.stdout.splitlines() if not line.startswith("[")]
        assert len(lines) == 6
        for _, trips, passing, *found in lines:
            v = slope = 1.0
            for _ in range(int(trips)):
                v, slope = v * 0.5 + v * v * 0.125, (0.5 + 0.25 * v) * slope
            expected = [slope if i == int(passing) else 3.0 for i in range(4)]
            assert all(abs(float(g) - want) <= 1e-5 * want for g, want in zip(found, expected, strict=True)), lines
