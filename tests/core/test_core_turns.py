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
