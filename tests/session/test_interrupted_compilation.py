"""Ctrl-C and signal handlers while a kernel is compiled: the process goes on, and nothing hangs."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.cpu_only

PROGRAM = """
import signal
import sys
import jinja2
import numpy as np
import quadrants as qd
from quadrants.emit import prelude

INIT

@qd.kernel
def k(a: qd.types.ndarray(dtype=qd.f32, ndim=1)) -> qd.f32:
    s = 0.0
    for i in a:
        a[i] += 1
        s += a[i]
    return s

x = np.zeros(100, np.float32)
"""

INIT = "qd.init(arch=qd.cpu, offline_cache=False, log_level='error')"

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

FIRST = """
import importlib.abc
found = []

def handler(*_):
    for use in (h, h.source):
        try:
            use()
        except qd.QuadrantsRuntimeError as error:
            found.append(str(error))

@qd.kernel
def h():
    pass

class Watch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.startswith("quadrants"):
            signal.raise_signal(signal.SIGALRM)

signal.signal(signal.SIGALRM, handler)
assert "quadrants.compile" not in sys.modules
sys.meta_path.insert(0, Watch())
USE
sys.meta_path.pop(0)
print({text[:text.index(",")] for text in found})
h()
"""

LAUNCHING = """
y = qd.field(qd.i32, shape=4)
found = []

@qd.data_oriented
class Counter:
    def __init__(self):
        self.cells = y

    @qd.kernel
    def count(self, by: qd.types.vector(2, qd.i32)):
        for i in self.cells:
            self.cells[i] += by[0] + by[1]

counter = Counter()
counter.count(qd.Vector([0, 0]))

def count(*_):
    counter.count(qd.Vector([1, 2]) + qd.Vector([1, 0]))
    found.append((y[0], qd.lang.impl.inside_kernel(), type(qd.types.vector(2, qd.f32)(1, 2)).__name__))

@qd.func
def only_in_kernels():
    return 1

def call_a_func(number, frame):
    try:
        only_in_kernels()
    except qd.QuadrantsSyntaxError as error:
        found.append("Python-scope" in str(error))

class Dropped:
    def __del__(self):
        count()

def helper(number):
    signal.raise_signal(number)
    Dropped()
    return qd.lang.impl.inside_kernel()

@qd.kernel
def outer() -> qd.i32:
    v = qd.Vector([0, 1])
    qd.static(signal.raise_signal(signal.SIGALRM))
    v += qd.Vector([2, 3])
    qd.static(signal.raise_signal(signal.SIGUSR1))
    return v[0] * 100 + v[1] * 10 + qd.static(helper(signal.SIGALRM))

@qd.kernel
def nested():
    qd.static(count())

signal.signal(signal.SIGALRM, count)
signal.signal(signal.SIGUSR1, call_a_func)
print(outer(), outer(), y[3])
print(found)
try:
    nested()
except qd.QuadrantsSyntaxError as error:
    print(str(error).splitlines()[-1])
counter.count(qd.Vector([1, 0]))
print(y[3])
"""


@pytest.fixture
def program(tmp_path):
    """Runs a text, and gives the lines that it prints."""

    def run(text: str, init: str = INIT) -> list:
        path = tmp_path / "program.py"
        path.write_text(PROGRAM.replace("INIT", init) + text)
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True, timeout=120)
        return done.stdout.splitlines()

    return run


@pytest.mark.parametrize("step", range(5))
def test_the_same_kernel_again_after_ctrl_c(program, step):
    assert program(INTERRUPTED.replace("STEP", str(step))) == ["interrupted", "300.0"]


def test_a_signal_handler_that_calls_a_kernel_is_refused(program):
    first, told = program(HANDLED)
    assert first == "300.0" and "kernel k was called while kernel k is compiled, by the same thread" in told


@pytest.mark.parametrize("use", ["k(x)", "k.source(x)"])
def test_a_handler_amid_the_import_of_the_compiler_is_told_the_same(program, tmp_path, use):
    kept = tmp_path / "cache"  # a runtime with something in its cache imports the compiler when it needs it
    kept.mkdir()
    kept.joinpath("something").touch()
    init = f"qd.init(arch=qd.cpu, offline_cache_file_path={str(kept)!r}, log_level='error')"
    told = program(FIRST.replace("USE", use), init)
    assert told == ["{'kernel h was called while kernel k is compiled'}"]


def test_a_signal_handler_launches_what_is_compiled_already_while_another_kernel_is_traced(program):
    results, seen, refused, after = program(LAUNCHING)
    assert results == "241 241 12"
    assert seen == str([(4, False, "Vector"), True, (8, False, "Vector"), (12, False, "Vector")])
    assert refused == "Kernels cannot call other kernels. I.e., nested kernels are not allowed."
    assert after == "13"
