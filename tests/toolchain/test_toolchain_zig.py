"""The compiler in the wheel `ziglang`, on a machine that has no other, and a machine that has none."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from quadrants.toolchain.process import Child

PROGRAM = """
import numpy as np
import quadrants as qd

qd.init(arch=qd.cpu)
x = qd.field(qd.f64, shape=100)

@qd.kernel
def run(scale: qd.f64) -> qd.f64:
    total = 0.0
    for i in x:
        x[i] = qd.sin(i * scale) + qd.pow(i + 1.0, 0.5) // 2.0
        total += x[i]
    return total

found = run(0.25)
i = np.arange(100)
expected = np.sin(i * 0.25) + np.sqrt(i + 1.0) // 2
assert np.allclose(x.to_numpy(), expected) and np.isclose(found, expected.sum())
print("compiled")
"""


def python(program: str, tmp_path):
    """What a Python prints that has no program on its PATH and nothing in its cache."""
    empty = tmp_path / "bin"
    empty.mkdir(exist_ok=True)
    env = {k: v for k, v in os.environ.items() if k != "QD_CC"}
    env |= {"PATH": str(empty), "QD_OFFLINE_CACHE_FILE_PATH": str(tmp_path / "cache"), "XDG_CACHE_HOME": str(tmp_path)}
    script = tmp_path / "program.py"
    script.write_text(program)
    return subprocess.run([sys.executable, script], env=env, text=True, capture_output=True, timeout=300)


def test_a_child_that_is_sent_nothing_sees_the_end_of_its_input():
    """`zig cc -### -` reads it; it was waited for until the time limit."""
    reads = Child([sys.executable, "-c", "import sys; sys.stdin.read(); print('end')"])
    assert reads.finish(b"", 30) == (0, b"end\n")


@pytest.mark.parametrize("link", ["0", "1"])
def test_a_kernel_with_zig_alone(tmp_path, monkeypatch, link):
    """Loaded as an object, and as a library that was linked."""
    pytest.importorskip("ziglang", reason="needs the package ziglang (pip install ziglang)")
    monkeypatch.setenv("QD_LINK", link)
    done = python(PROGRAM, tmp_path)
    assert done.returncode == 0 and "compiled" in done.stdout, done.stderr


def test_init_says_that_there_is_no_compiler(tmp_path):
    program = """
import quadrants as qd
from quadrants.toolchain import compiler
compiler._zig = lambda: None
qd.init(arch=qd.cpu)
x = qd.field(qd.i32, shape=3)
assert x.shape == (3,)
"""
    done = python(program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "No C compiler was found" in done.stdout + done.stderr
    assert "pip install ziglang" in done.stdout + done.stderr
