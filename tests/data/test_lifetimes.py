"""Views that share memory keep it alive and free it once: under a busy garbage collector, threads and qd.reset()."""

import contextlib
import dataclasses
import gc
import itertools
import pickle
import random
import sys
import threading
import weakref

import numpy as np
import pytest

import quadrants as qd
from quadrants._ext.core import live_buffers
from quadrants.data import interop_torch, memory
from quadrants.errors import QuadrantsRuntimeError

torch = pytest.importorskip("torch", reason="needs torch")

pytestmark = pytest.mark.usefixtures("runtime")

ARRAY = qd.types.ndarray(dtype=qd.f32, ndim=1)


@dataclasses.dataclass(frozen=True)
class Pair:
    x: ARRAY
    v: qd.BufferView[qd.f32]


@dataclasses.dataclass(frozen=True)
class Outer:
    pair: Pair
    y: ARRAY


@qd.kernel
def add_one(a: ARRAY):
    for i in a:
        a[i] += 1.0


@qd.kernel
def add_in_pair(p: Pair):
    for i in range(p.v.size):
        p.v[i] += p.x[i]


@qd.kernel
def add_in_outer(o: Outer):
    for i in range(o.pair.v.size):
        o.pair.v[i] += o.pair.x[i] + o.y[i]


class Exporter:
    """As NumPy wants it for DLPack: an object with the protocol's methods."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **request):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


def to_values(view):
    return view.cpu().numpy() if isinstance(view, torch.Tensor) else view


def from_versioned(array):
    capsule = array.to_dlpack(versioned=True)
    if memory.dlpack_device() == (1, 0):
        return np.from_dlpack(Exporter(capsule))
    return torch.from_dlpack(capsule)


def sharing():
    """Every way to share memory that the arch under test has."""
    ways = []
    if not memory.on_device():
        ways += [lambda a: a.to_numpy(copy=False), lambda a: np.frombuffer(a.arr, np.float32)]
    if memory.dlpack_device() is not None and interop_torch.home() is not None:
        ways += [
            lambda a: a.to_torch(copy=False),
            lambda a: torch.from_dlpack(a.to_dlpack()),
            from_versioned,
        ]
    return ways


@contextlib.contextmanager
def busy_collector(flags=0):
    """The collector runs at every chance, over everything."""
    before, debug = gc.get_threshold(), gc.get_debug()
    gc.collect()
    gc.set_threshold(1, 1, 1)
    gc.set_debug(flags)
    try:
        yield
    finally:
        gc.set_debug(debug)
        gc.set_threshold(*before)
        gc.unfreeze()
        gc.garbage.clear()
        gc.collect()


@pytest.fixture
def balanced(runtime):
    """Memory after the test is what it was before it."""
    gc.collect()
    before = live_buffers()
    yield before
    gc.collect()
    assert live_buffers() <= before


def round_trip(share, shape=(8,)):
    array = qd.ndarray(qd.f32, shape)
    array.fill(1)
    view = share(array)
    add_one(array)
    qd.sync()
    assert np.all(to_values(view) == 2)
    view += 1
    if memory.on_device():
        torch.cuda.synchronize()
    add_one(array)
    assert np.all(array.to_numpy() == 4)
    return array, view


def test_views_are_freed_once_with_whatever_goes_last(balanced):
    for share in sharing():
        for order in itertools.permutations(("array", "view", "other")):
            array, view = round_trip(share)
            held = {"array": array, "view": view, "other": share(array)}
            del array, view
            for name in order:
                assert live_buffers() == balanced + 1
                last = held.pop(name)
                values = last.to_numpy() if name == "array" else to_values(last)
                assert np.all(values == 4)
                del last, values
            gc.collect()
            assert live_buffers() == balanced


@pytest.mark.parametrize("frozen", [False, True])
def test_round_trips_under_a_busy_collector(balanced, frozen):
    with busy_collector():
        for share in sharing() or [lambda a: None]:
            for _ in range(5):
                if sharing():
                    array, view = round_trip(share)
                    array.self, array.view = array, view  # a cycle that only the collector takes apart
                if frozen:
                    gc.freeze()
                add_in_pair(Pair(qd.ndarray(qd.f32, 8), qd.ndarray(qd.f32, 16)[4:12]))


@pytest.mark.cpu_only
def test_nothing_of_a_round_trip_waits_for_the_collector(balanced):
    for share in sharing():
        round_trip(share)
    gc.collect()
    with busy_collector():
        gc.disable()
        try:
            for share in sharing():
                round_trip(share)
                assert live_buffers() == balanced
            array = qd.ndarray(qd.f32, 16)
            add_in_pair(Pair(array, array[4:12]))
            add_in_outer(Outer(Pair(array, array[4:12]), array))
            del array
            assert live_buffers() == balanced
        finally:
            gc.enable()


def test_what_is_uncollectable_elsewhere_is_not_ours(balanced):
    with busy_collector(gc.DEBUG_SAVEALL):
        for share in sharing():
            round_trip(share)
        gc.collect()
        assert not [item for item in gc.garbage if type(item).__module__.startswith("quadrants.data")]


def test_a_capsule_that_dies_in_an_exception(balanced):
    array = qd.ndarray(qd.f32, 4)
    failure = RuntimeError if memory.dlpack_device() is None else ZeroDivisionError  # an emulated device makes none
    for versioned in (False, True):
        with pytest.raises(failure):
            print(array.to_dlpack(versioned), 1 // 0)
    assert live_buffers() == balanced + 1


def test_views_survive_a_reset_and_are_freed_after_it(init, balanced):
    for share in sharing():
        array, view = round_trip(share)
        qd.reset()
        assert array.shape is None and np.all(to_values(view) == 4)
        with pytest.raises(QuadrantsRuntimeError):
            add_one(array)
        init()
        with pytest.raises(QuadrantsRuntimeError, match="destroyed|dead"):
            add_one(array)
        assert np.all(to_values(view) == 4)
        del view
        gc.collect()
        assert live_buffers() == balanced


def test_callbacks_of_weak_references_may_launch_and_view(balanced):
    other, seen = qd.ndarray(qd.f32, 8), []

    def gone(reference):
        add_one(other)
        seen.append([share(other) for share in sharing()])

    references = []
    for _ in range(4):
        array = qd.ndarray(qd.f32, 8)
        references.append(weakref.ref(array, gone))
        array.me = array
        del array
    gc.collect()
    assert len(seen) == 4 and np.all(other.to_numpy() == 4)


def test_members_of_frozen_dataclasses_are_never_remembered(balanced):
    x = qd.ndarray(qd.f32, 64)
    x.fill(1)
    target = qd.ndarray(qd.f32, 64)
    for k in range(0, 64, 8):
        add_in_pair(Pair(x, target[k : k + 8]))
    assert np.all(target.to_numpy() == 1)
    pair = Pair(x, target[:8])
    outer = Outer(pair, x)
    add_in_outer(outer)
    assert np.all(target.to_numpy()[:8] == 3)
    for value in (10.0, 20.0, 30.0):  # what frozen forbids and object.__setattr__ does all the same
        other = qd.ndarray(qd.f32, 64)
        other.fill(value)
        object.__setattr__(pair, "x", other)
        target.fill(0)
        add_in_pair(pair)
        add_in_outer(outer)
        assert np.all(target.to_numpy()[:8] == 2 * value + 1)
        del other
    pair.v.offset = 16
    target.fill(0)
    add_in_outer(outer)
    assert target.to_numpy()[16:24].tolist() == [31.0] * 8 and target.to_numpy().sum() == 8 * 31
    outer.__dict__["y"] = qd.ndarray(qd.f32, 64)
    add_in_outer(outer)
    assert np.all(target.to_numpy()[16:24] == 61)


def test_dead_members_of_frozen_dataclasses(init, balanced):
    def fresh():
        array = qd.ndarray(qd.f32, 32)
        return Outer(Pair(array, array[:8]), qd.ndarray(qd.f32, 32))

    outer = fresh()
    add_in_outer(outer)
    outer.y._kill()
    with pytest.raises(QuadrantsRuntimeError, match="destroyed"):
        add_in_outer(outer)
    dead = fresh()
    add_in_outer(dead)
    qd.reset()
    init()
    alive = fresh()
    add_in_outer(alive)
    with pytest.raises(QuadrantsRuntimeError, match="destroyed|freed"):
        add_in_outer(dead)
    object.__setattr__(alive.pair, "x", dead.y)
    with pytest.raises(QuadrantsRuntimeError, match="destroyed"):
        add_in_outer(alive)


def test_pickles_hold_no_memory(balanced):
    array = qd.ndarray(qd.f32, 8)
    array.fill(3)
    stored = pickle.dumps((array, array[2:6]))
    del array
    gc.collect()
    assert live_buffers() == balanced
    copied, view = pickle.loads(stored)
    assert np.all(copied.to_numpy() == 3) and (view.offset, view.size) == (2, 4)


def in_threads(count, work):
    """Runs `work(k)` in that many threads at once; raises what one of them raised."""
    failures, barrier = [], threading.Barrier(count)

    def run(k):
        try:
            barrier.wait()
            work(k)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if failures:
        raise failures[0]


def test_threads_allocate_view_launch_and_free(balanced):
    ways = sharing()

    def work(k):
        rng = random.Random(k)
        held = []
        for turn in range(60):
            array = qd.ndarray(qd.f32, rng.choice((4, 64, 5000)))
            array.fill(k)
            add_one(array)
            view = rng.choice(ways)(array) if ways else None
            pair = Pair(array, array[: array.shape[0] // 2])
            add_in_pair(pair)
            add_in_pair(Pair(pair.x, pair.v[1:2]))
            qd.sync()
            expected = np.full(array.shape, k + 1.0, np.float32)
            expected[: array.shape[0] // 2] *= 2
            expected[1] += expected[0]
            held.append((array, view, expected))
            if turn % 7 == 0:
                gc.collect(0)
            if rng.random() < 0.7:
                array, view, expected = held.pop(rng.randrange(len(held)))
                assert np.array_equal(array.to_numpy(), expected)
                if view is not None:
                    del array
                    assert np.array_equal(to_values(view), expected)

    in_threads(6, work)


def test_views_are_freed_in_other_threads_than_their_arrays(balanced):
    enders: list = []

    def work(k):
        for share in sharing() or [lambda a: a]:
            held = [share(qd.ndarray(qd.f32, 1000)) for _ in range(20)]
            enders.append(threading.Thread(target=held.clear))
            enders[-1].start()
            del held

    in_threads(4, work)
    for thread in enders:
        thread.join()


@pytest.mark.parametrize("turn", range(3))
def test_a_reset_in_the_middle_of_threads_is_an_exception_at_worst(init, turn, balanced):
    stop, launched = threading.Event(), [0] * 4

    def work(k):
        if k == 3:
            for number in range(6):
                while sum(launched) < 20 * number:
                    stop.wait(0.001)
                qd.reset()
                init()
            stop.set()
            return
        rng = random.Random(k + 10 * turn)
        while not stop.is_set():
            try:
                array = qd.ndarray(qd.f32, rng.choice((4, 64, 5000)))
                view = rng.choice(sharing())(array) if sharing() else None
                add_one(array)
                add_in_pair(Pair(array, array[1:3]))
                if view is not None:
                    to_values(view).sum()
            except (RuntimeError, TypeError, AttributeError, ValueError):
                pass  # the caller's error, and no more than that
            launched[k] += 1

    in_threads(4, work)
    array = qd.ndarray(qd.f32, 8)
    add_one(array)
    assert np.all(array.to_numpy() == 1)
