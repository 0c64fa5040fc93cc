"""Parallel tasks, failures, printing, floating-point mode, fork."""

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest
from core_native import FAIL, Recorder, entry

from quadrants._ext import core
from quadrants.errors import QuadrantsAssertionError, QuadrantsRuntimeError

COVER = entry(
    "rt->parallel(rt, task, args, AT(int64_t, 16), AT(int64_t, 24), AT(int32_t, 32));",
    """
    static void task(qd_runtime *rt, void *frame, int32_t worker, int64_t begin, int64_t end) {
        char *args = frame;
        int32_t *hits = AT(int32_t *, 0); int32_t *info = AT(int32_t *, 8);
        for (int64_t i = begin; i < end; ++i) __atomic_fetch_add(&hits[i], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&info[0], 1, __ATOMIC_RELAXED);
        if (worker < 0 || worker >= rt->threads) info[1] = 1;
        if (AT(int32_t, 32) && worker >= AT(int32_t, 32)) info[1] = 2;
        if (end - begin < AT(int64_t, 24) && end != AT(int64_t, 16)) info[1] = 3;
        if (AT(int64_t, 24) == 1) usleep(10);
    }
    """,
)


def cover_plan(**extra):
    pack = [
        ("array", 0, 0, None),
        ("array", 1, 8, None),
        ("i64", 2, 16, None),
        ("i64", 3, 24, None),
        ("i32", 4, 32, None),
    ]
    return core.Plan(COVER, bytes(40), [], pack, name="cover", **extra)


COVER_KINDS = [core.ARRAY, core.ARRAY, core.SCALAR, core.SCALAR, core.SCALAR]


@pytest.fixture
def threads():
    before = core.get_threads()
    yield core.set_threads
    core.set_threads(before)


@pytest.mark.parametrize("count", [1, 2, 4, 7])
@pytest.mark.parametrize("n", [0, 1, 5, 100, 4099])
@pytest.mark.parametrize("grain", [1, 64, 5000])
@pytest.mark.parametrize("limit", [0, 1, 3])
def test_every_iteration_runs_once(threads, count, n, grain, limit):
    threads(count)
    hits, info = np.zeros(max(n, 1), np.int32), np.zeros(2, np.int32)
    kernel = Recorder(COVER_KINDS, cover_plan())
    kernel(hits, info, n, grain, limit)
    assert hits[:n].tolist() == [1] * n and info[1] == 0
    if n <= grain or count == 1 or limit == 1:
        assert info[0] == (n > 0)


def test_more_than_one_thread_takes_part(threads):
    threads(4)
    body = """rt->parallel(rt, task, args, 64, 1, 0);"""
    task = """
    static void task(qd_runtime *rt, void *frame, int32_t worker, int64_t begin, int64_t end) {
        usleep(2000);
        ((int32_t *) *(void **) frame)[worker] = 1;
    }"""
    seen = np.zeros(4, np.int32)
    Recorder([core.ARRAY], core.Plan(entry(body, task), bytes(8), [], [("array", 0, 0, None)]))(seen)
    assert seen[0] == 1 and seen.sum() > 1 and core.get_workers() == 3


def test_a_plan_can_stay_on_the_calling_thread(threads):
    threads(4)
    hits, info = np.zeros(1000, np.int32), np.zeros(2, np.int32)
    Recorder(COVER_KINDS, cover_plan(parallel_ok=False))(hits, info, 1000, 1, 0)
    assert info[0] == 1 and hits.all()


def test_nested_tasks_run_inline_as_worker_zero(threads):
    threads(4)
    before = """
    static void inner(qd_runtime *rt, void *frame, int32_t worker, int64_t begin, int64_t end) {
        int32_t *seen = frame;
        if (worker == 0 && begin == 0 && end == 100) __atomic_fetch_add(&seen[0], 1, __ATOMIC_RELAXED);
        else seen[1] = 1;
    }
    static void outer(qd_runtime *rt, void *frame, int32_t worker, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) rt->parallel(rt, inner, frame, 100, 1, 0);
    }"""
    seen = np.zeros(2, np.int32)
    body = "rt->parallel(rt, outer, AT(void *, 0), 500, 1, 0);"
    Recorder([core.ARRAY], core.Plan(entry(body, before), bytes(8), [], [("array", 0, 0, None)]))(seen)
    assert seen.tolist() == [500, 0]


def test_launches_from_several_threads_share_the_pool(threads):
    threads(3)
    kernel = Recorder(COVER_KINDS, cover_plan())
    wrong = []

    def work():
        for n in range(0, 600, 3):
            hits, info = np.zeros(n + 1, np.int32), np.zeros(2, np.int32)
            kernel(hits, info, n, 8, 0)
            if info[1] or hits[:n].tolist() != [1] * n:
                wrong.append(n)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for count in (1, 2, 5, 3):
        core.set_threads(count)
    for worker in workers:
        worker.join()
    assert wrong == []


@pytest.mark.parametrize("count", [0, -1, 5000])
def test_thread_counts_that_make_no_sense(count):
    with pytest.raises(ValueError, match="number of threads"):
        core.set_threads(count)


def test_workers_end_and_come_back(threads):
    threads(3)
    hits, info = np.zeros(100, np.int32), np.zeros(2, np.int32)
    kernel = Recorder(COVER_KINDS, cover_plan())
    kernel(hits, info, 100, 1, 0)
    assert core.get_workers() == 2
    core.shutdown_workers()
    assert core.get_workers() == 0
    kernel(hits, info, 100, 1, 0)
    assert core.get_workers() == 2 and (hits == 2).all()


def test_idle_workers_use_no_cpu(threads):
    threads(4)
    hits, info = np.zeros(100, np.int32), np.zeros(2, np.int32)
    Recorder(COVER_KINDS, cover_plan())(hits, info, 100, 1, 0)
    threading.Event().wait(0.05)
    before = os.times()
    threading.Event().wait(0.3)
    after = os.times()
    assert after.user + after.system - before.user - before.system < 0.05


FAILING = entry(
    "rt->parallel(rt, task, 0, 1000, 1, 0);",
    FAIL
    + """
    static void task(qd_runtime *rt, void *frame, int32_t worker, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            if (i % 10 != 3) continue;
            qd_value values[3] = {{.i = i}, {.f = i + 0.5}, {.i = -1}};
            fail(rt, 1, worker, 3, 2, values);
            return;
        }
    }""",
)


def test_the_first_failure_is_raised_once_and_the_next_launch_is_clean(threads):
    threads(4)
    seen = []

    def site(values, worker):
        seen.append((values, worker))
        return QuadrantsAssertionError(f"index {values[0]}")

    kernel = Recorder([], core.Plan(FAILING, b"", sites=[None, site], name="bad"))
    for _ in range(5):
        with pytest.raises(QuadrantsAssertionError, match="index"):
            kernel()
    assert len(seen) == 5
    for (index, real, last), worker in seen:
        assert index % 10 == 3 and real == index + 0.5 and type(real) is float and last == -1 and 0 <= worker < 4


def test_a_record_without_a_site_still_raises():
    with pytest.raises(QuadrantsRuntimeError, match="kernel bad failed"):
        Recorder([], core.Plan(FAILING, b"", sites=[None], name="bad"))()


def test_a_failed_launch_still_copies_back():
    log = []

    class Keep:
        def finish(self):
            log.append("finished")

    def site(values, worker):
        return QuadrantsAssertionError("failed")

    plan = core.Plan(FAILING, bytes(8), [], [("call", 0, 0, lambda *_: Keep())], sites=[None, site])
    with pytest.raises(QuadrantsAssertionError):
        Recorder([core.OPAQUE], plan)(0)
    assert log == ["finished"]


def test_when_copying_back_fails_too_both_errors_are_told():
    class Keep:
        def finish(self):
            raise OSError("copy")

    def site(values, worker):
        return QuadrantsAssertionError("failed")

    plan = core.Plan(FAILING, bytes(8), [], [("call", 0, 0, lambda *_: Keep())], sites=[None, site])
    with pytest.raises(QuadrantsAssertionError) as caught:
        Recorder([core.OPAQUE], plan)(0)
    assert isinstance(caught.value.__context__, OSError)


PRINTING = entry(
    "rt->parallel(rt, task, args, 200, 1, 0);",
    """
    static void task(qd_runtime *rt, void *frame, int32_t worker, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            rt->print(rt, "line %d %f %s%0*d\\n", (int) i, i * 0.5, "\\xc3\\xa9", i % 2 ? 1 : 2000, 7);
    }""",
)


def printed_lines(text):
    assert text.endswith("\n")
    lines = sorted(text.splitlines(), key=lambda line: int(line.split()[1]))
    assert lines == [f"line {i} {i * 0.5:f} é{7:0{1 if i % 2 else 2000}d}" for i in range(200)]


def test_captured_print_reaches_sys_stdout_untorn(threads, capsys):
    threads(4)
    core.set_python_stdout(True)
    try:
        Recorder([], core.Plan(PRINTING, b""))()
    finally:
        core.set_python_stdout(False)
    printed_lines(capsys.readouterr().out)


def test_print_reaches_c_stdout_at_once(threads, capfd):
    threads(4)
    Recorder([], core.Plan(PRINTING, b""))()
    printed_lines(capfd.readouterr().out)


DENORMAL = entry(
    "rt->parallel(rt, task, args, 64, 1, 0);",
    """
    static void task(qd_runtime *rt, void *frame, int32_t worker, int64_t begin, int64_t end) {
        volatile float tiny = 1e-38f; volatile double small = 1e-308;
        for (int64_t i = begin; i < end; ++i) {
            usleep(100);
            (*(float **) frame)[i] = tiny / 10 + (float) (small / 10 != 0);
        }
    }""",
)


def test_subnormals_are_flushed_on_every_thread_and_the_caller_keeps_its_mode(threads):
    threads(4)
    values = np.ones(64, np.float32)
    Recorder([core.ARRAY], core.Plan(DENORMAL, bytes(8), [], [("array", 0, 0, None)]))(values)
    assert not values.any()
    assert np.float32(1e-38) / np.float32(10) != 0


FORK = """
import os, sys
sys.path[:0] = [sys.argv[1]]
import numpy as np
from core_native import Recorder
from test_core_pool import COVER_KINDS, cover_plan
from quadrants._ext import core
print("--")
core.set_threads(4)
kernel = Recorder(COVER_KINDS, cover_plan())
def check():
    hits, info = np.zeros(500, np.int32), np.zeros(2, np.int32)
    kernel(hits, info, 500, 1, 0)
    assert (hits == 1).all() and info[1] == 0 and core.get_workers() == 3
check()
for _ in range(5):
    child = os.fork()
    if child == 0:
        assert core.get_workers() == 0
        check()
        check()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
check()
print("forked")
"""


def python(program, timeout=60):
    """Exit status, text after the line "--", errors without the line with which the package says hello."""
    # Python 3.12 warns of every fork with threads; that such a fork works is what is tested here.
    quiet = ["-W", "ignore:This process:DeprecationWarning"]
    command = [sys.executable, *quiet, "-c", textwrap.dedent(program), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    return (
        done.returncode,
        done.stdout.partition("--\n")[2],
        done.stderr.partition("[Quadrants] version ")[2].partition("\n")[2],
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_rebuilds_the_pool():
    assert python(FORK) == (0, "forked\n", "")


ENDLESS = """
import sys, threading, time
sys.path[:0] = [sys.argv[1]]
from core_native import Recorder, entry
from quadrants._ext import core
print("--", flush=True)
core.set_threads(3)
task = '''static void task(qd_runtime *rt, void *f, int32_t w, int64_t b, int64_t e) { for (;;) usleep(1000); }'''
kernel = Recorder([], core.Plan(entry("rt->parallel(rt, task, 0, 100, 1, 0);", task), b""))
threading.Thread(target=kernel, daemon=True).start()
time.sleep(0.1)
sys.exit(3)
"""


def test_the_process_ends_quietly_with_an_endless_kernel_in_a_daemon_thread():
    assert python(ENDLESS) == (3, "", "")
