"""Kernels of several Python threads on arrays that are copied for a launch: no update is lost."""

import sys
import threading

import numpy as np
import pytest

import quadrants as qd


@pytest.fixture
def eager_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(params=["rows", "columns", "torch"])
def zeros(request):
    """What makes an array of zeros: on the CPU that in rows is no copy, on devices all are."""
    if request.param == "torch":
        torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
        return lambda: torch.zeros((3, 4), dtype=torch.int32)
    return lambda: np.zeros((3, 4), np.int32, order="C" if request.param == "rows" else "F")


def all_at_once(threads, work):
    errors = []

    def run(k):
        try:
            work(k)
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=run, args=(k,)) for k in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(60)
    assert not any(thread.is_alive() for thread in running)
    assert not errors


def test_no_update_is_lost(arch, eager_switches, zeros):
    @qd.kernel
    def add(a: qd.types.ndarray(qd.i32, 2), b: qd.types.ndarray(qd.i32, 2)):
        for i, j in a:
            a[i, j] += 1
            b[i, j] -= 1

    a, b = zeros(), zeros()
    add(zeros(), zeros())

    def work(k):
        for _ in range(100):
            add(*((a, b) if k % 2 else (b, a)))

    all_at_once(4, work)
    assert (np.asarray(a) == 0).all() and (np.asarray(b) == 0).all()
    add(a, b)
    assert (np.asarray(a) == 1).all() and (np.asarray(b) == -1).all()


def test_launches_that_fail_hold_up_nobody(arch, eager_switches):
    @qd.kernel
    def add(a: qd.types.ndarray(qd.i32, 2), v: qd.types.ndarray(qd.types.vector(3, qd.i32), 1)):
        for i, j in a:
            a[i, j] += 1

    a, good = np.zeros((3, 4), np.int32, order="F"), np.zeros((5, 3), np.int32, order="F")
    bad, fixed = np.zeros((5, 2), np.int32, order="F"), np.zeros((3, 4), np.int32, order="F")
    fixed.flags.writeable = False
    add(a, good)
    kept = []  # errors with their tracebacks, which hold what a launch held

    def work(k):
        for _ in range(50):
            add(a, good)
            for arguments in ((a, bad), (fixed, good), (a, 3)):
                with pytest.raises((ValueError, TypeError, qd.QuadrantsRuntimeError)) as told:
                    add(*arguments)
                kept.append(told.value)

    all_at_once(3, work)
    assert (a == 151).all() and len(kept) == 450


def test_a_child_of_a_fork_may_copy(arch_environment):
    """Though another thread of the parent had the turn."""
    import os
    import subprocess
    import textwrap

    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork; it is for systems that have")
    program = """
        import os, threading
        from quadrants.data import copies
        begun, over = threading.Event(), threading.Event()
        def hold():
            turn = copies.Turn()
            turn.begin()
            begun.set()
            over.wait()
            turn.end()
        thread = threading.Thread(target=hold)
        thread.start()
        begun.wait()
        child = os.fork()
        if not child:
            turn = copies.Turn()
            turn.begin()
            turn.end()
            os._exit(7)
        status = os.waitpid(child, 0)[1]
        over.set()
        thread.join()
        print(os.waitstatus_to_exitcode(status))
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["7"], done.stderr
