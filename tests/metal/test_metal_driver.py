"""Metal's driver against the stand-in: what is said to whom, in which order, and what is told when something fails."""

from __future__ import annotations

import re
import threading

import metal_signatures
import numpy as np
import pytest

import quadrants as qd
from quadrants import profiler
from quadrants.backends import registry
from quadrants.errors import QuadrantsRuntimeError

pytestmark = [pytest.mark.cpu_only, pytest.mark.sampled]
N = 1000


@qd.kernel
def add(x: qd.types.ndarray(dtype=qd.i32, ndim=1), n: qd.i32):
    for i in x:
        x[i] += n


@qd.kernel
def two_loops(x: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    for i in x:
        x[i] += 1
    for i in x:
        x[i] *= 2


@qd.kernel
def last(x: qd.types.ndarray(dtype=qd.i32, ndim=1)) -> qd.i32:
    return x[x.shape[0] - 1]


@pytest.fixture
def x(apple, standin):
    """An ndarray that `add` was called with once, so that all is compiled, and nothing in flight."""
    apple()
    made = qd.ndarray(qd.i32, (N,))
    add(made, 0)
    qd.sync()
    standin.log()
    return made


def events(standin, *kinds) -> list[str]:
    """The lines of the log that begin with one of these words, without the numbers of objects."""
    lines = [line for line in standin.log() if line.split()[0] in kinds]
    return [re.sub(r"(MTL\w+) \d+", r"\1", line) for line in lines]


# ---------------------------------------------------------------- messages


def test_messages_have_the_types_that_metal_declares():
    from quadrants._ext import metal as native

    assert dict(native.messages()) == metal_signatures.SIGNATURES


def test_the_standin_has_the_same_types(standin):
    lines = standin.library.standin_signatures().decode().splitlines()
    assert dict(line.split() for line in lines) == metal_signatures.SIGNATURES


# ---------------------------------------------------------------- batches


def test_a_lone_launch_starts_at_once(x, standin):
    add(x, 1)
    assert events(standin, "dispatch", "commit", "wait") == [
        "dispatch add_0_struct_for 2 x 128",
        "commit MTLCommandBuffer to MTLCommandQueue with 1 tasks",
    ]
    assert x.to_numpy().tolist() == [1] * N


def test_launches_behind_one_in_flight_go_together(x, standin):
    for _ in range(10):
        add(x, 1)
    qd.sync()
    assert events(standin, "commit") == [
        "commit MTLCommandBuffer to MTLCommandQueue with 1 tasks",
        "commit MTLCommandBuffer to MTLCommandQueue with 9 tasks",
    ]
    assert x.to_numpy().tolist() == [10] * N


def test_a_command_buffer_has_64_tasks_at_most(x, standin):
    last(x)
    standin.log()
    for _ in range(200):
        add(x, 1)
    assert last(x) == 200
    commits = [int(line.split()[-2]) for line in events(standin, "commit")]
    assert commits == [1, 64, 64, 64, 8]


def test_work_that_is_done_is_followed_at_once(x, standin):
    standin.eager()
    for _ in range(3):
        add(x, 1)
    assert events(standin, "commit") == ["commit MTLCommandBuffer to MTLCommandQueue with 1 tasks"] * 3


def test_tasks_are_in_order_and_the_timeline_counts_command_buffers(x, standin):
    """The stand-in complains of tasks without a barrier between them."""
    for _ in range(3):
        two_loops(x)
    qd.sync()
    log = events(standin, "dispatch", "commit", "signal")
    names = [line.split()[1] for line in log if line.startswith("dispatch")]
    assert names == ["two_loops_0_struct_for", "two_loops_1_struct_for"] * 3
    values = [int(line.split()[-1]) for line in log if line.startswith("signal")]
    assert values == list(range(values[0], values[0] + 2))
    assert x.to_numpy().tolist() == [14] * N


def test_a_result_costs_one_command_buffer_and_one_wait(x, standin):
    last(x)
    standin.log()
    assert last(x) == 0
    log = events(standin, "commit", "wait")
    assert log == ["commit MTLCommandBuffer to MTLCommandQueue with 1 tasks", "wait for MTLCommandBuffer"]


def test_reset_does_what_was_asked_for(apple, standin):
    apple()
    y = qd.ndarray(qd.i32, (N,))
    add(y, 0)
    qd.sync()
    for _ in range(5):
        add(y, 1)
    standin.log()
    del y
    qd.reset()
    assert [int(line.split()[-2]) for line in events(standin, "commit")] == [4]


# ---------------------------------------------------------------- copies


def test_copies_wait_for_no_kernel_but_for_those_before_them(x, standin):
    add(x, 1)
    x.from_numpy(np.full(N, 7, np.int32))
    add(x, 1)
    assert "wait" not in " ".join(standin.log())
    assert x.to_numpy().tolist() == [8] * N


@pytest.mark.parametrize("nbytes", [1, 3, 5, 4096, (1 << 20) + 4, (1 << 20) + 7])
def test_bytes_of_any_number(apple, standin, nbytes):
    @qd.kernel
    def turn(a: qd.types.ndarray(dtype=qd.u8, ndim=1)):
        for i in a:
            a[i] = a[i] ^ qd.u8(255)

    apple()
    values = np.random.default_rng(0).integers(0, 256, nbytes).astype(np.uint8)
    y, z = qd.ndarray(qd.u8, (nbytes,)), qd.ndarray(qd.u8, (nbytes,))
    y.from_numpy(values)
    turn(y)
    z.copy_from(y)
    turn(y)
    y.from_numpy(values[::-1].copy())
    turn(y)
    assert (z.to_numpy() == values ^ 255).all() and (y.to_numpy() == values[::-1] ^ 255).all()
    y.fill(3)
    assert (y.to_numpy() == 3).all()


def test_copies_on_their_way_keep_what_they_copy(x, standin):
    from quadrants._ext.core import DeviceBuffer

    target = DeviceBuffer(registry.device(), 4 * N)
    add(x, 1)
    for at in range(N):
        target.store(4 * at, np.array([at + 1], np.int32))
    commits = events(standin, "commit")
    assert len(commits) == 1 + N // 64  # a command buffer has 64 copies at most, too
    assert (target.fetch(0, 4 * N).view(np.int32) == np.arange(1, N + 1)).all()


def test_many_small_copies_do_not_keep_their_memory(x, standin):
    device = registry.device()
    from quadrants._ext.core import DeviceBuffer

    target = DeviceBuffer(device, 1 << 20)
    data = np.zeros(1 << 20, np.uint8)
    for _ in range(300):  # 300 MiB: pool blocks have 64
        add(x, 1)
        target.store(0, data)
    assert standin.alive()["MTLBuffer"] <= 6


# ---------------------------------------------------------------- memory


def test_memory_that_is_freed_is_used_again_when_work_is_done(apple, standin):
    apple()
    for _ in range(200):
        y = qd.ndarray(qd.i32, (1 << 20,))
        add(y, 1)
        add(y, 1)
        del y
    assert standin.alive()["MTLBuffer"] <= 3


def test_large_memory_goes_back_to_the_device(apple, standin):
    apple()
    before = standin.alive().get("MTLBuffer", 0)
    y = qd.ndarray(qd.i32, (10 << 20,))
    assert standin.alive()["MTLBuffer"] == before + 1
    del y
    assert standin.alive().get("MTLBuffer", 0) == before


def test_more_than_a_buffer_has(apple, standin):
    apple()
    standin.most_bytes(1 << 27)
    with pytest.raises(QuadrantsRuntimeError) as caught:
        qd.ndarray(qd.i32, (1 << 26,))
    text = str(caught.value)
    assert "268435456 bytes" in text and "134217728 at most (maxBufferLength)" in text
    y = qd.ndarray(qd.i32, (N,))
    add(y, 3)
    assert y.to_numpy().tolist() == [3] * N


def test_a_null_buffer_is_an_error_after_a_second_try(x, standin):
    standin.refuse("buffer", 1)
    y = qd.ndarray(qd.i32, (10 << 20,))  # the second try has it
    standin.refuse("buffer", 2)
    with pytest.raises(QuadrantsRuntimeError, match=r"Metal gave no buffer of 41943040 bytes; .*maxBufferLength"):
        qd.ndarray(qd.i32, (10 << 20,))
    add(y, 3)
    assert last(y) == 3


# ---------------------------------------------------------------- failures


@pytest.mark.parametrize(
    "code, meaning", [(2, "a time limit"), (3, "a page fault"), (8, "out of memory"), (1, "usually an access out of")]
)
def test_command_buffers_that_fail(x, standin, code, meaning):
    add(x, 1)
    two_loops(x)
    standin.fail(code, after=1)
    with pytest.raises(QuadrantsRuntimeError) as caught:
        qd.sync()
    text = str(caught.value)
    assert f"while running two_loops_0_struct_for, two_loops_1_struct_for: {meaning}" in text
    assert f"Caused GPU Hang Error (standin) (code {code})" in text and "debug=True" in text
    for again in (lambda: add(x, 1), qd.sync, x.to_numpy):
        with pytest.raises(QuadrantsRuntimeError, match="two_loops_0_struct_for"):
            again()


def test_a_new_runtime_works_again(apple, standin):
    apple()
    y = qd.ndarray(qd.i32, (N,))
    standin.fail(3)
    add(y, 1)
    with pytest.raises(QuadrantsRuntimeError, match="page fault"):
        qd.sync()
    del y
    apple()
    y = qd.ndarray(qd.i32, (N,))
    add(y, 1)
    assert last(y) == 1


def test_command_buffers_that_are_null(x, standin):
    standin.refuse("commands")
    with pytest.raises(QuadrantsRuntimeError, match="add_0_struct_for of kernel add failed: Metal gave no comm"):
        add(x, 1)
    add(x, 1)
    assert last(x) == 1


@pytest.mark.parametrize("what", ["queue", "event"])
def test_no_queue_is_an_error_of_init(apple, standin, what):
    standin.refuse(what)
    with pytest.raises(QuadrantsRuntimeError, match="Metal gave no command queue"):
        apple()


@pytest.mark.parametrize(
    "what, text",
    [("pipeline", r"encountered an internal error \(code 3\)"), ("pipeline without a reason", "without a reason")],
)
def test_pipelines_that_are_null(apple, standin, what, text):
    apple()
    y = np.zeros(3, np.int32)
    standin.refuse(what)
    with pytest.raises(QuadrantsRuntimeError, match=f"finding function add_0_struct_for failed: .*{text}"):
        add(y, 1)
    add(y, 1)
    assert y.tolist() == [1] * 3


def test_pipelines_with_too_few_threads(apple, standin):
    apple()
    standin.most_threads(100)
    y = np.zeros(300, np.int32)
    with pytest.raises(QuadrantsRuntimeError, match=r"blocks of 128 threads.*has 100 at most.*block_dim=64"):
        add(y, 1)

    @qd.kernel
    def narrow(a: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        qd.loop_config(block_dim=64)
        for i in a:
            a[i] += 1

    narrow(y)
    assert y.tolist() == [1] * 300


# ---------------------------------------------------------------- streams and events


def test_streams_are_queues_and_events_values_of_their_timelines(x, standin):
    before = standin.alive()["MTLCommandQueue"]
    first, second = qd.create_stream(), qd.create_stream()
    event = qd.create_event()
    add(x, 1, qd_stream=first)
    event.record(first)
    event.wait(second)
    two_loops(x, qd_stream=second)
    second.synchronize()
    log = events(standin, "MTLCommandBuffer", "commit", "wait")
    assert any(re.fullmatch(r"MTLCommandBuffer waits for MTLSharedEvent 1", line) for line in log), log
    assert x.to_numpy().tolist() == [4] * N
    first.destroy()
    second.destroy()
    event.destroy()
    assert standin.alive()["MTLCommandQueue"] == before


def test_the_event_of_a_stream_needs_no_wait_in_that_stream(x, standin):
    event = qd.create_event()
    add(x, 1)
    event.record()
    event.wait()
    add(x, 1)
    event.synchronize()
    assert not [line for line in standin.log() if "waits for" in line]
    assert last(x) == 2


def test_a_foreign_stream_is_refused(x):
    with pytest.raises(QuadrantsRuntimeError, match="no stream of this runtime"):
        add(x, 1, qd_stream=qd.Stream(0x1000))


def test_the_profiler_has_the_times_of_command_buffers(apple, standin):
    apple(kernel_profiler=True)
    y = np.zeros(N, np.int32)
    for _ in range(3):
        two_loops(y)
    for task in ("two_loops_0_struct_for", "two_loops_1_struct_for"):
        found = profiler.query_kernel_profiler_info(task)
        assert found.counter == 3 and found.min > 0
    assert {line.split()[-2] for line in events(standin, "commit")} <= {"0", "1"}


# ---------------------------------------------------------------- queues of others


@pytest.fixture
def queue(standin):
    device = standin.device()
    made = standin.queue(device)
    yield made
    qd.reset()
    standin.release(made)
    standin.release(device)


def test_a_borrowed_queue_sees_every_launch_at_once(apple, standin, queue):
    apple(external_metal_command_queue=queue)
    y = qd.ndarray(qd.i32, (N,))
    standin.log()
    for _ in range(3):
        two_loops(y)
    assert events(standin, "commit") == ["commit MTLCommandBuffer to MTLCommandQueue with 2 tasks"] * 3
    y.from_numpy(np.ones(N, np.int32))
    assert len(events(standin, "commit")) == 1
    add(y, 4)
    assert last(y) == 5
    assert registry.with_device().default_stream == queue


def test_a_queue_of_another_device_is_refused(apple, standin):
    other = standin.device(other=True)
    queue = standin.queue(other)
    with pytest.raises(QuadrantsRuntimeError, match="external_metal_command_queue is a queue of another device"):
        apple(external_metal_command_queue=queue)
    standin.release(queue)
    standin.release(other)


# ---------------------------------------------------------------- threads


@pytest.mark.parametrize("eager", [False, True])
def test_threads_with_streams_of_their_own(x, standin, eager):
    standin.eager(eager)
    arrays = [qd.ndarray(qd.i32, (N,)) for _ in range(4)]
    found: list = []

    def work(array):
        with qd.create_stream() as stream:
            for _ in range(100):
                add(array, 1, qd_stream=stream)
            stream.synchronize()
            found.append(array.to_numpy().tolist() == [100] * N)

    threads = [threading.Thread(target=work, args=(array,)) for array in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4
