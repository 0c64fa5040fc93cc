"""A package of somebody else adds a target: installed beside this one, it runs kernels."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent / "outside"

PROGRAM = """
import numpy as np

import quadrants as qd
from quadrants.arch import Arch

qd.init(arch=Arch("outside"), enable_fallback=False, offline_cache=False)
x = qd.Vector.field(3, qd.f32, shape=100)


@qd.func
def twice(v):
    return 2 * v


@qd.kernel
def fill(n: qd.i32) -> qd.f32:
    total = 0.0
    for i in x:
        x[i] = qd.Vector([i, n, twice(n)])
        total += qd.sqrt(x[i][0]) // 2
    return total


total = fill(4)
assert (x.to_numpy() == np.array([[i, 4, 8] for i in range(100)])).all()
assert total == sum(int(i**0.5 / 2) for i in range(100))
text = fill.source(4)
assert "/* from outside */" in text and "/// ! fill:" in text and "_Float32" in text, text
assert qd.lang.impl.current_cfg().arch.name == "outside"
plain = fill.source(4, arch=qd.cpu)
assert "from outside" not in plain
print("done")
"""


@pytest.mark.slow
def test_a_target_of_another_package(tmp_path):
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    source = shutil.copytree(PACKAGE, tmp_path / "source")  # a build leaves files beside it
    subprocess.run([*pip, "--target", str(tmp_path / "site"), str(source)], check=True, capture_output=True)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    def run(path: str, **more):
        env = {**os.environ, "PYTHONPATH": path, **more}
        return subprocess.run([sys.executable, str(program)], env=env, capture_output=True, text=True)

    found = run(str(tmp_path / "site"), QD_DUMP_MARKED_C="1")
    assert found.returncode == 0 and "done" in found.stdout, found.stderr
    assert "=== MARKED_C for kernel 'fill' ===" in found.stderr
    without = run("")
    assert "RuntimeError" in without.stderr and "is not supported" in without.stderr
