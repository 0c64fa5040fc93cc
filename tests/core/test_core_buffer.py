"""Memory and tokens."""

import gc
import threading
import weakref

import numpy as np
import pytest

from quadrants._ext import core
from quadrants.errors import QuadrantsRuntimeError


def test_memory_is_zeroed_aligned_and_shared_with_numpy():
    buffer = core.Buffer(4096)
    view = np.frombuffer(buffer, np.float32)
    assert buffer.ptr % 64 == 0 and buffer.nbytes == 4096 == len(buffer)
    assert view.shape == (1024,) and not view.any() and view.flags.writeable
    view[3] = 7
    assert np.frombuffer(buffer, np.float32)[3] == 7
    assert view.__array_interface__["data"][0] == buffer.ptr


def test_view_keeps_the_memory_and_the_last_reference_frees_it():
    gc.collect()
    before = core.live_buffers()
    buffer = core.Buffer(1 << 16)
    view = np.frombuffer(buffer, np.int64)
    del buffer
    gc.collect()
    assert core.live_buffers() == before + 1
    view[:] = 5
    assert view.sum() == 5 * 8192
    del view
    assert core.live_buffers() == before


def test_large_memory_is_zero_and_writable_to_the_last_byte():
    buffer = core.Buffer((8 << 20) + 5)
    view = np.frombuffer(buffer, np.uint8)
    assert view[0] == 0 and view[-1] == 0
    view[-1] = 9
    assert view[-1] == 9


def test_freed_from_another_thread():
    gc.collect()
    before = core.live_buffers()
    held = [core.Buffer(100)]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert core.live_buffers() == before


def test_an_empty_buffer_is_legal():
    buffer = core.Buffer(0)
    assert buffer.ptr != 0 and buffer.nbytes == 0 and len(memoryview(buffer)) == 0
    assert np.frombuffer(buffer, np.uint8).size == 0


@pytest.mark.parametrize("nbytes", [1 << 62, 1 << 64, (1 << 63) - 1])
def test_impossible_sizes_are_named(nbytes):
    with pytest.raises(QuadrantsRuntimeError, match=str(nbytes)):
        core.Buffer(nbytes)


def test_negative_size_is_refused():
    with pytest.raises(ValueError, match="-1"):
        core.Buffer(-1)


def test_buffers_are_freed_once_under_gc_stress():
    gc.collect()
    before = core.live_buffers()
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for i in range(300):
            buffer = core.Buffer(64 + i)
            cycle = [np.frombuffer(buffer, np.uint8)]
            cycle.append(cycle)
            assert weakref.ref(buffer)() is buffer
    finally:
        gc.set_threshold(*threshold)
    del buffer, cycle
    gc.collect()
    assert core.live_buffers() == before


def test_tokens_are_stable_distinct_and_reversible():
    first = core.intern_token(("x", 1))
    assert first > 0 and core.intern_token(("x", 1)) == first
    second = core.intern_token(("x", 2))
    assert second != first
    assert core.token_key(first) == ("x", 1) and core.token_key(second) == ("x", 2)


@pytest.mark.parametrize("token", [0, -1, 1 << 40])
def test_unknown_tokens_have_no_key(token):
    with pytest.raises(KeyError):
        core.token_key(token)


def test_unhashable_keys_are_refused():
    with pytest.raises(TypeError):
        core.intern_token([1])


def test_interning_from_many_threads_gives_one_token_a_key():
    results = [None] * 8
    start = threading.Barrier(8)

    def work(k):
        start.wait()
        results[k] = [core.intern_token(("threads", i)) for i in range(500)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(result == results[0] for result in results)
    assert [core.token_key(token) for token in results[0]] == [("threads", i) for i in range(500)]


def test_token_base_carries_a_public_token():
    class Field(core.TokenBase):
        pass

    field = Field()
    assert field.token == 0
    field.token = -1
    assert field.token == -1 and weakref.ref(field)() is field


def test_type_tokens_need_a_class():
    with pytest.raises(TypeError, match="expects a class"):
        core.register_type_token(5, "x")
