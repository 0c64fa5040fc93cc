"""A runtime that another thread ends at the worst moment: nothing of it is used with the one that comes after."""

import sys
import threading
import time

import numpy as np
import pytest

import quadrants as qd
from quadrants import compile as pipeline
from quadrants import session
from quadrants._ext.core import members
from quadrants.backends import registry
from quadrants.data import memory
from quadrants.errors import QuadrantsRuntimeError

ARRAY = qd.types.ndarray(dtype=qd.i32, ndim=1)


@qd.kernel
def add_one(a: ARRAY):
    for i in a:
        a[i] += 1


@pytest.fixture
def start_anew(init):
    def start():
        qd.reset()
        init()

    start()
    return start


def test_who_waits_for_a_reset_takes_the_backend_that_comes_after(start_anew):
    found = []
    waiting = threading.Thread(target=lambda: found.append(registry.current()))

    def while_it_ends():
        if not waiting.ident:
            waiting.start()
            time.sleep(0.05)  # it waits for the lock by then; a slower one would find the new runtime at once

    session.on_clear(while_it_ends)
    try:
        with session.get_runtime().compilation_lock:
            start_anew()
            ours = registry.current()
    finally:
        session._hooks["clear"].remove(while_it_ends)
    waiting.join()
    assert found == [ours]
    assert registry.current() is ours


def test_an_array_of_a_runtime_that_ends_while_it_is_made_is_dead(start_anew, monkeypatch):
    allocate, turns = memory.allocate, iter((1,))

    def and_then(nbytes):
        made = allocate(nbytes)
        if next(turns, 0):
            start_anew()
        return made

    monkeypatch.setattr(memory, "allocate", and_then)
    array = qd.ndarray(qd.i32, 4)
    with pytest.raises(QuadrantsRuntimeError, match="of a runtime that was destroyed"):
        add_one(array)
    array = qd.ndarray(qd.i32, 4)
    add_one(array)
    assert array.to_numpy().tolist() == [1] * 4


def test_a_launch_looks_at_its_arguments_again_when_the_runtime_ended_while_it_compiled(start_anew, monkeypatch):
    compile_kernel, turns = pipeline.compile_kernel, iter((1, 2))

    def and_then(kernel, args):
        plan = compile_kernel(kernel, args)
        if next(turns, 0) == 1:
            start_anew()
        return plan

    monkeypatch.setattr(pipeline, "compile_kernel", and_then)
    with pytest.raises(QuadrantsRuntimeError, match="of a runtime that was destroyed"):
        add_one(qd.ndarray(qd.i32, 4))
    assert next(turns, 0) == 2  # an array of the dead runtime was not compiled for
    values = np.zeros(4, np.int32)
    turns = iter((1,))
    start_anew()
    add_one(values)  # compiled twice, as its first plan went with the runtime
    assert values.tolist() == [1] * 4 and next(turns, 0) == 0


def test_a_runtime_starts_while_others_make_kernels_fields_and_arrays(init):
    """Each of them works, or says that its runtime has gone."""
    stop, wrong = threading.Event(), []

    def make():
        while not stop.is_set():
            try:

                @qd.kernel
                def one() -> qd.i32:
                    return 1

                qd.field(qd.i32, shape=5).fill(3)
                qd.ndarray(qd.i32, 9).fill(2)
            except QuadrantsRuntimeError as error:
                if not any(told in str(error) for told in ("is dead", "There is no runtime", "meanwhile", "freed by")):
                    wrong.append(error)
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=make) for _ in range(3)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        init()
        for thread in threads:
            thread.start()
        for _ in range(60):
            init()
    finally:
        stop.set()
        sys.setswitchinterval(before)
        for thread in threads:
            thread.join()
    assert not wrong, wrong[0]
    qd.field(qd.i32, shape=3).fill(1)


@pytest.mark.cpu_only
def test_members_of_a_set_that_grows_meanwhile():
    class Growing(list):
        tries = 0

        def __iter__(self):
            self.tries += 1
            if self.tries < 3:
                raise RuntimeError("Set changed size during iteration")
            return super().__iter__()

    class Broken(list):
        def __iter__(self):
            raise RuntimeError("another one")

    assert members(Growing([1, 2])) == [1, 2]
    with pytest.raises(RuntimeError, match="another one"):
        members(Broken())
