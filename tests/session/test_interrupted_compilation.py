"""Ctrl-C and signal handlers while a kernel is compiled: the process goes on, and nothing hangs."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.cpu_only

PROGRAM = """
import signal
import jinja2
import numpy as np
import quadrants as qd
from quadrants.emit import prelude

qd.init(arch=qd.cpu, offline_cache=False, log_level="error")

@qd.kernel
def k(a: qd.types.ndarray(dtype=qd.f32, ndim=1)) -> qd.f32:
    s = 0.0
    for i in a:
        a[i] += 1
        s += a[i]
    return s

x = np.zeros(100, np.float32)
"""

INTERRUPTED = """
whole, steps = jinja2.Environment.get_template, iter(range(1000))

def interrupted(self, *args, **named):
    if next(steps) == STEP:
        raise KeyboardInterrupt
    return whole(self, *args, **named)

jinja2.Environment.get_template = interrupted
try:
    k(x)
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted")
print(k(x) + k(x))
"""

HANDLED = """
found = []

def handler(*_):
    try:
        k(x)
    except qd.QuadrantsRuntimeError as error:
        found.append(str(error))

def render(self, env, whole=prelude.Prelude.render):
    signal.raise_signal(signal.SIGALRM)
    return whole(self, env)

signal.signal(signal.SIGALRM, handler)
prelude.Prelude.render = render
print(k(x) + k(x))
print(found)
"""


@pytest.fixture
def program(tmp_path):
    """Runs a text, and gives the lines that it prints."""

    def run(text: str) -> list:
        path = tmp_path / "program.py"
        path.write_text(PROGRAM + text)
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True, timeout=120)
        return [line for line in done.stdout.splitlines() if not line.startswith("[Quadrants]")]

    return run


@pytest.mark.parametrize("step", range(5))
def test_the_same_kernel_again_after_ctrl_c(program, step):
    assert program(INTERRUPTED.replace("STEP", str(step))) == ["interrupted", "300.0"]


def test_a_signal_handler_that_calls_a_kernel_is_refused(program):
    first, told = program(HANDLED)
    assert first == "300.0" and "kernel k was called while kernel k is compiled, by the same thread" in told
