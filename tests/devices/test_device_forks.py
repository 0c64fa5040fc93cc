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


def _start_again(arch, answers) -> None:
    """What becomes of `qd.init` and a kernel, and of the CPU behind it."""
    try:
        qd.init(arch=arch)
        x = qd.ndarray(qd.i32, (4,))
        add(x)
        said = x.to_numpy().tolist()
    except qd.QuadrantsRuntimeError as error:
        said = str(error)
    qd.init(arch=qd.cpu)
    y = qd.ndarray(qd.i32, (4,))
    add(y)
    answers.put((said, y.to_numpy().tolist()))


@pytest.mark.parametrize("reset", [False, True])
def test_a_forked_child_that_starts_again(arch, reset):
    """It does not wait for threads of the driver that it has not."""
    x = qd.ndarray(qd.i32, (4,))
    add(x)
    if reset:
        qd.reset()
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_start_again, args=(arch, answers))
    child.start()
    said, on_cpu = answers.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0 and on_cpu == [1] * 4
    assert said == [1] * 4 or "fork" in said or "initializ" in said, said
    if arch.name in ("vulkan", "opencl"):
        assert "forked from one that had used it" in said


def test_a_spawned_child(arch_environment, tmp_path):
    import subprocess

    program = tmp_path / "child.py"
    program.write_text(
        "import quadrants as qd\nqd.init()\n@qd.kernel\ndef two() -> qd.i32:\n    return 2\nassert two() == 2\n"
    )
    environment = {**os.environ, **arch_environment}
    done = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
