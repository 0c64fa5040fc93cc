"""What a launch keeps alive, and what it lets go of, also when it fails halfway or its objects change under it."""

import gc
import os
import sys
import threading

import late_native
import numpy as np
import pytest
from core_native import Recorder, entry, make_array, words

from quadrants._ext import core
from quadrants.errors import QuadrantsRuntimeError

pytestmark = pytest.mark.sampled

ECHO = entry("")
# Says that it runs, waits to be let go, then reads the array or view at offset 0.
PAUSE = entry(
    """
    __atomic_store_n(*(int **) (args + 16), 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(*(int **) (args + 16) + 1, __ATOMIC_ACQUIRE)) usleep(100);
    AT(double, 24) = *AT(float *, 0);
    """
)


@pytest.fixture(autouse=True)
def nothing_is_left():
    gc.collect()
    before = core.live_buffers()
    yield
    gc.collect()
    assert core.live_buffers() <= before


class Box:
    def __init__(self, **values):
        self.__dict__.update(values)


def holding(value):
    array = make_array(shape=(16,))
    np.frombuffer(array._buffer, np.float32)[:] = value
    return array


def paused(pack, value, act):
    """The result of a launch, in another thread, during which `act()` is called."""
    flags = np.zeros(2, np.int32)
    block = bytes(16) + words(flags.ctypes.data) + bytes(8)
    kernel = Recorder([core.ANY], core.Plan(PAUSE, block, (), pack, ("f64", 24)))
    results = []
    thread = threading.Thread(target=lambda: results.append(kernel(value)))
    thread.start()
    while not flags[0]:
        pass
    act()
    gc.collect()
    fresh = [core.Buffer(1024) for _ in range(64)]  # would be given memory that was freed
    for buffer in fresh:
        np.frombuffer(buffer, np.uint8)[:] = 255
    flags[1] = 1
    thread.join()
    return results[0]


def test_a_view_given_another_array_during_a_launch():
    view = core.ViewBase()
    view.arr, view.offset, view.size, view.token = holding(7), 0, 4, core.intern_token("view")

    def act():
        view.arr = holding(1)

    assert paused([("view", 0, 0, (8, -1, -1))], view, act) == 7


def test_an_array_killed_or_moved_during_a_launch():
    for act in (lambda: array._kill(), lambda: array._bind(None, 0, ())):
        array = holding(7)
        assert paused([("array", 0, 0, None)], array, act) == 7


def test_a_gradient_replaced_during_a_launch():
    array = make_array(grad=holding(7))
    buffer = array._buffer

    def act():
        array._bind(buffer, buffer.ptr, (4,), holding(1))

    assert paused([("array", 0, 8, (-1, 0))], array, act) == 7


def failing_packer(value, view, offset):
    raise ValueError("not today")


def test_a_packer_that_raises_leaves_no_reference_behind():
    plan = core.Plan(
        ECHO, bytes(64), [(0, ("x",), 0), (0, ("v",), 0), (0, ("n",), 0)],
        [("array", 1, 0, None), ("view", 2, 8, (16, -1, -1)), ("call", 3, 24, failing_packer)],
    )  # fmt: skip
    kernel = Recorder([core.TOKEN], plan)
    array, view, marker = holding(1), core.ViewBase(), object()
    view.arr, view.size, view.token = array, 4, core.intern_token("view")
    value = Box(x=array, v=view, n=marker)
    counts = []
    for _ in range(20):
        with pytest.raises(ValueError, match="not today"):
            kernel(value)
        kernel.asked.clear(), kernel.misses.clear()
        counts.append([sys.getrefcount(item) for item in (array, view, marker, value)])
    assert counts[1] == counts[-1]
    array._kill()  # nothing runs: the memory goes at once, not into the waiting room of launches


def test_a_member_that_raises_halfway_leaves_no_reference_behind():
    class Halfway(Box):
        @property
        def second(self):
            raise RuntimeError("halfway")

    plan = core.Plan(ECHO, bytes(16), [(0, ("first",), 0), (0, ("second",), 0)], [("array", 1, 0, None)])
    kernel, value = Recorder([core.TOKEN], plan), Halfway(first=holding(1))
    counts = []
    for _ in range(20):
        with pytest.raises(RuntimeError, match="halfway"):
            kernel(value)
        kernel.asked.clear(), kernel.misses.clear()
        counts.append((sys.getrefcount(value.first), sys.getrefcount(value)))
    assert counts[1] == counts[-1]


def test_arrays_behind_one_that_cannot_be_copied_back_are_copied_back():
    done = []

    class Keep:
        def __init__(self, name):
            self.name = name

        def finish(self):
            done.append(self.name)
            if self.name in "bc":
                raise OSError(self.name)

    pack = [("call", 0, 0, lambda value, view, offset, name=name: Keep(name)) for name in "abcd"]
    with pytest.raises(OSError, match="b"):
        Recorder([core.OPAQUE], core.Plan(ECHO, bytes(8), (), pack))(None)
    assert done == list("abcd")


def test_a_packer_may_kill_the_array_before_it():
    array = holding(5)
    pack = [("array", 0, 0, None), ("call", 0, 0, lambda value, view, offset: value._kill())]
    body = "AT(double, 8) = *AT(float *, 0);"
    kernel = Recorder([core.ARRAY], core.Plan(entry(body), bytes(16), (), pack, ("f64", 8)))
    before = core.live_buffers()
    assert kernel(array) == 5
    assert core.live_buffers() == before - 1
    with pytest.raises(QuadrantsRuntimeError, match="destroyed"):
        kernel(array)


def test_a_dead_object_with_a_token_for_life_is_not_none():
    def slow(index, value):
        return core.intern_token("none") if value is None else (core.intern_token("config"),)

    kernel = Recorder([core.TOKEN], lambda args: core.Plan(ECHO, b""), slow=slow)
    config = Box()
    kernel(config)
    kernel.asked.clear(), kernel.misses.clear()
    del config
    gc.collect()
    kernel(None)
    assert kernel.asked == [(0, None)] and len(kernel.misses) == 1


def test_a_launch_from_the_callback_of_a_dying_argument():
    import weakref

    inner = Recorder([core.ARRAY], core.Plan(ECHO, bytes(8), (), [("array", 0, 0, None)]))
    other, seen = holding(1), []

    def packer(value, view, offset):
        array = holding(2)
        reference = weakref.ref(array, lambda _: seen.append(inner(other)))
        del array
        assert reference() is None

    outer = Recorder([core.OPAQUE], core.Plan(ECHO, bytes(8), (), [("call", 0, 0, packer)]))
    for _ in range(5):
        outer(None)
    assert seen == [None] * 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_packer_that_forks():
    children = []

    def packer(value, view, offset):
        children.append(os.fork())

    kernel = Recorder([core.OPAQUE], core.Plan(ECHO, bytes(8), (), [("call", 0, 0, packer)]))
    kernel(None)
    if children[-1] == 0:
        status = 1
        try:
            before = core.live_buffers()
            array = holding(1)
            read = Recorder([core.ARRAY], core.Plan(ECHO, bytes(8), (), [("array", 0, 0, None)]))
            read(array)
            array._kill()
            status = 0 if core.live_buffers() == before else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(children[-1], 0)[1]) == 0


class TestCapsules:
    @pytest.mark.parametrize("versioned", [False, True])
    def test_one_that_nobody_takes_frees_its_owner_once(self, versioned):
        before = core.live_buffers()
        owner = core.Buffer(64)
        counts = [sys.getrefcount(owner)]
        capsule = core.dlpack_capsule(owner, owner.ptr, (1, 0), 2, 32, (4, 4), (4, 1), versioned)
        counts.append(sys.getrefcount(owner))
        assert ("dltensor_versioned" in repr(capsule)) == versioned
        del capsule
        assert sys.getrefcount(owner) == counts[0] == counts[1] - 1
        del owner
        assert core.live_buffers() == before

    @pytest.mark.parametrize("versioned", [False, True])
    def test_one_that_dies_while_an_exception_is_on_its_way(self, versioned):
        owner = core.Buffer(64)
        before = sys.getrefcount(owner)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                print(core.dlpack_capsule(owner, owner.ptr, (1, 0), 2, 32, (), (), versioned), 1 // 0)
        assert sys.getrefcount(owner) == before

    def test_an_owner_whose_end_runs_python_and_raises(self, monkeypatch):
        heard = []
        monkeypatch.setattr(sys, "unraisablehook", lambda failure: heard.append(str(failure.exc_value)))

        class Owner:
            def __del__(self):
                raise ValueError("the end")

        with pytest.raises(ZeroDivisionError):
            print(core.dlpack_capsule(Owner(), 64, (1, 0), 2, 32, (1,), (1,), False), 1 // 0)
        assert heard == ["the end"]

    def test_too_many_axes_are_refused(self):
        with pytest.raises(ValueError, match="at most 16 axes"):
            core.dlpack_capsule(None, 64, (1, 0), 2, 32, (1,) * 17, (1,) * 17, False)


def test_memory_of_a_device_in_a_cycle():
    """The collector takes cycles apart in any order; memory goes back to its device all the same."""
    made = late_native.device()
    gc.collect()
    before = late_native.number("memory")
    for _ in range(3):
        cycle = [core.DeviceBuffer(made, 64)]
        cycle.append(cycle)
        assert late_native.number("memory") == before + 1
        del cycle
        gc.collect()
        assert late_native.number("memory") == before
