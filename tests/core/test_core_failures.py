"""Failures of launches that nobody waits for."""

from __future__ import annotations

import gc
import struct
import threading

import pytest
from core_native import Recorder
from late_native import DRIVER, RECORD_BYTES, device, number, set_number

from quadrants._ext import core
from quadrants.errors import QuadrantsRuntimeError


@pytest.fixture
def late():
    made = device()
    yield made
    made.forget_failures()
    set_number("broken", 0)
    core.set_stream(0)


class Failed(QuadrantsRuntimeError):
    pass


def kernel(late, name="k", polled=True):
    """kernel(number): fails where the number is not 0."""
    program = core.DeviceProgram(
        late, [("task", 0xF, 32, 0, 0, 5)], 8, frame_bytes=RECORD_BYTES + 16, prefix_bytes=RECORD_BYTES + 8,
        error_offset=0, polled=polled,
    )  # fmt: skip
    template = struct.pack("=q", 0) + bytes(program.tail_bytes)
    site = lambda values, worker: Failed(f"{name} failed with {values[0]}")  # noqa: E731
    plan = core.Plan(0, template, pack=[("i64", 0, 0, None)], sites=[site], name=name, device=program, reach=None)
    return Recorder([core.SCALAR], plan)


def counted(work) -> tuple:
    set_number("waited", 0)
    set_number("fetched", 0)
    work()
    return number("waited"), number("fetched")


def test_a_launch_neither_waits_nor_reads(late):
    run = kernel(late)
    run(0)
    assert counted(lambda: [run(0) for _ in range(20)]) == (0, 0)
    read = kernel(late, polled=False)
    read(0)
    assert counted(lambda: [read(0) for _ in range(20)]) == (0, 20)


def test_the_next_wait_tells(late):
    run = kernel(late)
    run(5)
    with pytest.raises(Failed, match="k failed with 5"):
        late.synchronize()
    late.synchronize()
    run(0)
    late.synchronize()


def test_a_later_launch_tells_and_does_not_start(late):
    run, other = kernel(late), kernel(late, "other")
    run(5)
    DRIVER.run_all()
    with pytest.raises(Failed, match="k failed with 5"):
        other(7)
    other(0)
    late.synchronize()


def test_reads_and_events_tell(late):
    run = kernel(late)
    memory = core.DeviceBuffer(late, 64)
    run(1)
    with pytest.raises(Failed):
        memory.fetch(0, 64)
    assert memory.fetch(0, 64).tolist() == [0] * 64
    event = late.event_create()
    run(2)
    with pytest.raises(Failed):
        late.event_synchronize(event)
    late.event_synchronize(event)
    late.event_destroy(event)


def test_the_first_failure_of_each_kernel_is_told(late):
    first, second, third = kernels = [kernel(late, name) for name in ("first", "second", "third")]
    for run in kernels:
        run(0)
    for value in (0, 3, 4):
        first(value)
    second(0)
    third(6)
    with pytest.raises(Failed) as caught:
        late.synchronize()
    assert str(caught.value) == "first failed with 3\n\nthird failed with 6"
    late.synchronize()


def test_who_waits_for_its_record_tells_by_itself(late):
    read = kernel(late, polled=False)
    with pytest.raises(Failed, match="with 9"):
        read(9)
    late.synchronize()
    # Also a kernel that need not wait, on a stream of its own.
    run = kernel(late)
    core.set_stream(0x70)
    with pytest.raises(Failed, match="with 8"):
        run(8)
    core.set_stream(0)
    run(0)
    late.synchronize()


def test_a_plan_lives_until_its_failure_is_told(late):
    run = kernel(late)
    run(5)
    run.launcher.clear()
    del run
    gc.collect()
    with pytest.raises(Failed, match="with 5"):
        late.synchronize()


def test_waits_let_go_of_plans():
    late, before = device(), number("memory")
    for _ in range(50):
        kernel(late)(0)
    gc.collect()
    assert number("memory") > before + 50
    late.synchronize()
    gc.collect()
    assert number("memory") <= before + 2


def test_forgotten_failures_are_not_told(late):
    run = kernel(late)
    run(5)
    late.forget_failures()
    DRIVER.run_all()
    late.synchronize()
    # The record is still there: the next failure of the kernel is told with it.
    run(0)
    late.synchronize()


def test_a_failure_that_cannot_be_read_is_not_lost(late):
    run = kernel(late)
    run(5)
    set_number("broken", 7)
    with pytest.raises(QuadrantsRuntimeError, match="reading a failure failed: it is broken"):
        late.synchronize()
    set_number("broken", 0)
    with pytest.raises(Failed, match="with 5"):
        late.synchronize()


def test_threads_tell_each_failure_once(late):
    runs = [kernel(late, f"k{at}") for at in range(4)]
    told = []

    def work(run):
        for _ in range(200):
            try:
                run(1)
                late.synchronize()
            except Failed as failure:
                told.append(str(failure))

    threads = [threading.Thread(target=work, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    late.synchronize()
    names = {name for text in told for name in (line.split()[0] for line in text.splitlines() if line)}
    assert names == {"k0", "k1", "k2", "k3"}


def test_descriptions_that_do_not_hold(late):
    for options in ({"error_offset": -1}, {"error_offset": 0, "prefix_bytes": RECORD_BYTES + 16}):
        given = {"frame_bytes": RECORD_BYTES + 64, "prefix_bytes": RECORD_BYTES + 8, **options}
        with pytest.raises(ValueError, match="nothing but its failure record"):
            core.DeviceProgram(late, [("task", 0xF, 32, 0, 0, 5)], 8, polled=True, **given)
