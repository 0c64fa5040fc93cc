"""The three examples of the guide to templates run as they are printed there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import quadrants as qd
from quadrants.emit import template_check

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "templates.md"

PROGRAM = """
import numpy as np
import quadrants as qd

qd.init(arch=qd.cpu, template_path=[{folder!r}])

@qd.kernel
def twice(x: qd.types.ndarray()):
    x[0] = 5.0
    for i in range(x.shape[0]):
        x[i] *= 2.0

x = np.ones(100_000, np.float32)
for _ in range(3):
    twice(x)
assert x[0] == 10.0 and (x[1:] == 8.0).all()
"""


@qd.kernel
def waves(x: qd.types.ndarray()):
    for i in range(x.shape[0]):
        x[i] += qd.sin(x[i]) + qd.cos(x[i])


@qd.kernel
def rows(x: qd.types.ndarray(ndim=2)):
    for i, j in qd.ndrange((1, x.shape[0]), x.shape[1]):
        x[i, j] += 10.0 * i + j


def example(folder: Path, which: str) -> str:
    """Writes an example of the guide to a folder; returns it."""
    text = GUIDE.read_text().split("## Three examples")[1].split(f"**{which}")[1]
    code = re.search(r"```jinja\n(.*?)```", text, re.DOTALL).group(1)
    path = folder / re.match(r"\{# (\S+) #\}", code).group(1)
    path.parent.mkdir(parents=True)
    path.write_text(code)
    assert template_check.check(folder) == []
    return str(folder)


def test_a_count_of_launches(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(folder=example(tmp_path / "templates", "How often")))
    found = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert "twice_0_serial: 3\n" in found.stdout and "twice_1_range_for: 3\n" in found.stdout


def test_a_pragma(tmp_path):
    qd.init(arch=qd.cpu, template_path=[example(tmp_path, "A pragma")])
    x = np.zeros((5, 7), np.float32)
    assert re.search(r"#pragma GCC ivdep\n    for \(", rows.source(x))
    rows(x)
    expected = np.add.outer(10 * np.arange(5), np.arange(7)).astype(np.float32)
    expected[0] = 0
    assert (x == expected).all()
    y = np.zeros(3, np.float32)
    assert re.search(r"#pragma GCC ivdep\n    for \(", waves.source(y))


def test_the_sine_from_a_table(tmp_path):
    x = np.linspace(-50, 50, 10_001, dtype=np.float32)
    qd.init(arch=qd.cpu, template_path=[example(tmp_path, "The sine")])
    found = x.copy()
    waves(found)
    text = waves.source(x)
    assert "sine_table" in text and "cosf" in text
    error = np.abs(found - (x + np.sin(x) + np.cos(x)))
    assert 1e-6 < error.max() < 1e-4


@pytest.mark.parametrize("arch", ["cuda", "amdgpu"])
def test_inner_blocks_of_devices(arch, tmp_path):
    name = {"cuda": "cuda/task.cu.j2", "amdgpu": "hip/task.hip.j2"}[arch]
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(
        f'{{% extends "builtin/{name}" %}}'
        "{% block task_head %}{{ super() }}    /* {{ task.name }}: {{ gpu.global_id }} */\n{% endblock %}"
        "{% block indices %}/* from qd_p */\n{{ super() }}{% endblock %}"
    )
    qd.init(arch=qd.cpu, template_path=[str(tmp_path)])
    text = rows.source(np.zeros((5, 7), np.float32), arch=arch)
    assert "/* rows_0_range_for: blockIdx.x * blockDim.x + threadIdx.x */" in text
    assert re.search(r"qd_p .*\n.*\n\s+/\* from qd_p \*/\n\s+uint64_t qd_rest = qd_p;", text), text
