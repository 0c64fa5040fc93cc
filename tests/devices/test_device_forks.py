"""A forked child cannot use the device of its parent, and says so; a spawned one can."""

from __future__ import annotations

import multiprocessing
import os
import sys

import pytest

import quadrants as qd

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@qd.kernel
def add(x: qd.types.ndarray(qd.i32, ndim=1)):
    for i in range(x.shape[0]):
        x[i] += 1


def _use(x, answers) -> None:
    said = []
    for use in (lambda: add(x), lambda: x[0], lambda: x.fill(3), qd.sync, lambda: qd.ndarray(qd.i32, (4,))):
        try:
            use()
            said.append("")
        except qd.QuadrantsRuntimeError as error:
            said.append(str(error))
    answers.put(said)


def test_a_forked_child(arch):
    x = qd.ndarray(qd.i32, (4,))
    add(x)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_use, args=(x, answers))
    child.start()
    said = answers.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    if arch.name in ("cuda", "amdgpu", "metal", "vulkan", "opencl"):
        assert all("cannot be used in a forked" in text for text in said), said
    else:
        assert said == [""] * 5
    add(x)
    assert x.to_numpy().tolist() == [2] * 4


def test_a_spawned_child(arch_environment, tmp_path):
    import subprocess

    program = tmp_path / "child.py"
    program.write_text(
        "import quadrants as qd\nqd.init()\n@qd.kernel\ndef two() -> qd.i32:\n    return 2\nassert two() == 2\n"
    )
    environment = {**os.environ, **arch_environment}
    done = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
