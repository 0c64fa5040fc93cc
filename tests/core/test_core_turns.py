"""Kernels of several Python threads on the host run one after the other."""

from __future__ import annotations

import os
import threading

import pytest

import quadrants as qd

pytestmark = pytest.mark.cpu_only
LAUNCHES, THREADS, CELLS = 4000, 4, 2000


@pytest.mark.parametrize("workers", [1, 2])
def test_what_several_threads_add_is_all_there(workers):
    """What a loop adds to the cell of its own iteration is no atomic operation."""
    qd.init(arch=qd.cpu, cpu_max_num_threads=workers)
    x, y = qd.field(qd.i32, CELLS), qd.field(qd.i32, CELLS)

    @qd.kernel
    def add():
        for i in x:
            x[i] += 1
            y[i] += qd.atomic_add(x[i], 0) * 0 + 1

    add()
    threads = [threading.Thread(target=lambda: [add() for _ in range(LAUNCHES)]) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(x.to_numpy()) == {LAUNCHES * THREADS + 1} and set(y.to_numpy()) == {LAUNCHES * THREADS + 1}


@pytest.mark.parametrize("options", [{"arch": qd.cpu}, {"arch": qd.cuda, "emulate": True}])
def test_nothing_changes_while_a_kernel_runs(options):
    qd.init(**options)
    x, seen = qd.field(qd.i32, 2), qd.field(qd.i32, ())

    @qd.kernel
    def look(n: qd.i32):
        for _ in range(1):
            first = qd.volatile_load(x[0])
            for k in range(n):
                x[1] = x[1] * 5 + k
            if qd.volatile_load(x[0]) != first:
                seen[None] = 1
            x[0] = first + 1

    look(1)
    threads = [threading.Thread(target=lambda: [look(100000) for _ in range(20)]) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen[None] == 0 and x[0] == 20 * THREADS + 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork, which Windows lacks")
def test_a_child_does_not_wait_for_threads_that_it_has_not():
    qd.init(arch=qd.cpu, cpu_max_num_threads=1)
    x = qd.field(qd.i32, CELLS)

    @qd.kernel
    def add(n: qd.i32):
        for i in x:
            for _ in range(n):
                x[i] += 1

    add(1)
    stop = threading.Event()

    def go_on():
        while not stop.is_set():
            add(20000)

    threads = [threading.Thread(target=go_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                add(1)
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
