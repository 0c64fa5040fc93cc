"""Views at the end of a process, and in a forked child."""

import os
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("torch", reason="needs torch")

pytestmark = pytest.mark.slow

# Views of every kind that the arch has, held by modules, cycles, callbacks and threads that outlive the program.
PROGRAM = """
import atexit, builtins, gc, sys, threading, time, weakref
import numpy as np, torch
import quadrants as qd
from quadrants.data import interop_torch, memory

qd.init()
array = qd.ndarray(qd.f32, 16)
field = qd.field(qd.f32, 16)
field.fill(2)

@qd.kernel
def add_one(a: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in a:
        a[i] += 1.0

# Torch itself aborts when a daemon thread of a process that ends lets go of its tensors.
def shown(c):
    made = [] if memory.on_device() else [c.to_numpy(copy=False)]
    return made if memory.dlpack_device() is None else [*made, c.to_dlpack(True), c.to_dlpack()]

def share(c):
    made = shown(c)
    if memory.dlpack_device() is not None and interop_torch.home() is not None:
        made += [c.to_torch(copy=False), torch.from_dlpack(c.to_dlpack())]
    return made

add_one(array)
"""

ENDINGS = {
    "held everywhere": """
        views = builtins.views = torch.views = np.views = share(array) + share(field)
        array.me, array.views = array, views
        gc.disable()
        cycle = qd.ndarray(qd.f32, 16)
        cycle.me, cycle.views = cycle, share(cycle)
        del cycle
        gc.freeze()
    """,
    "failure": "views = share(array); keep = weakref.ref(array, lambda _: views.clear()); sys.exit(7)",
    "after reset": "views = share(array) + share(field); qd.reset()",
    "work at exit": """
        views = share(array)
        atexit.register(views.clear)
        atexit.register(qd.reset)
        atexit.register(lambda: add_one(array))
    """,
    "daemon threads": """
        def work():
            try:
                while True:
                    a = qd.ndarray(qd.f32, 4000)
                    held = shown(a)
                    add_one(a)
            except qd.QuadrantsRuntimeError:
                pass  # the runtime ends before daemon threads do
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.1)
    """,
    "finalizer": """
        class Last:
            def __del__(self, share=share, array=array, add_one=add_one, refusal=qd.QuadrantsRuntimeError):
                try:
                    add_one(array)
                    share(array)
                except refusal:
                    pass
        array.last = builtins.last = Last()
    """,
}


def run(program, environment):
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, **environment, "QD_LOG_LEVEL": "error", "PYTHONPATH": path}
    command = [sys.executable, "-X", "faulthandler", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)


def errors(done):
    return [line for line in done.stderr.splitlines() if not line.startswith("[Quadrants]")]


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_process_ends_in_peace(arch_environment, tmp_path, ending):
    program = tmp_path / "ends.py"
    program.write_text(PROGRAM + textwrap.dedent(ENDINGS[ending]))
    done = run(program, arch_environment)
    assert done.returncode == (7 if ending == "failure" else 0), done.stderr
    assert errors(done) == []


FORK = """
import os, resource, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of threads, which are those of the device
views = share(array) + share(field)
child = os.fork()
if child == 0:
    status = 1
    try:
        if not memory.on_device():  # torch refuses to work on a device in a forked child
            before = [float(v.sum()) for v in views if hasattr(v, "sum")]
            for v in views:
                if hasattr(v, "sum"):
                    v += 1
            add_one(array)
            other = qd.ndarray(qd.f32, 8)
            add_one(other)
            assert np.all(other.to_numpy() == 1) and np.all(array.to_numpy() > 1)
        else:
            try:
                add_one(array)
            except qd.QuadrantsRuntimeError:
                pass
            else:
                raise AssertionError("a device worked in a forked child")
        del views, array, field
        gc.collect()
        status = 0
    finally:
        sys.stdout.flush()
        os._exit(status)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert np.all(array.to_numpy() == 1) and np.all(field.to_numpy() == 2)
add_one(array)
views.clear()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_uses_and_frees_its_own_copy(arch_environment, tmp_path):
    program = tmp_path / "forks.py"
    program.write_text(PROGRAM + FORK)
    done = run(program, arch_environment)
    assert done.returncode == 0 and errors(done) == [], done.stderr
