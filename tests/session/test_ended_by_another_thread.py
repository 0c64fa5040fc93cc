"""A runtime that another thread ends at the worst moment: nothing of it is used with the one that comes after."""

import threading
import time

import numpy as np
import pytest

import quadrants as qd
from quadrants import compile as pipeline
from quadrants import session
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
