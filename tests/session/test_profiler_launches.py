"""The kernel profiler sees every task of every launch."""

import time

import pytest

import quadrants as qd
from quadrants import profiler


@pytest.fixture
def profiled(init):
    init(kernel_profiler=True)
    profiler.clear_kernel_profiler_info()
    yield
    profiler.clear_kernel_profiler_info()


def test_tasks_are_counted_and_timed(profiled):
    f = qd.field(qd.f32, shape=1000)

    @qd.kernel
    def two_loops() -> qd.f32:
        s = 0.0
        qd.loop_config(name="numbering")
        for i in f:
            f[i] = i
        for i in f:
            s += f[i]
        return s

    for _ in range(5):
        assert two_loops() == 499500.0
    first = profiler.query_kernel_profiler_info("two_loops_1_numbering_struct_for")
    second = profiler.query_kernel_profiler_info("two_loops_2_struct_for")
    assert first.counter == second.counter == 5
    serial = [profiler.query_kernel_profiler_info(f"two_loops_{n}_serial") for n in (0, 3)]
    total = sum(task.avg * task.counter for task in (first, second, *serial)) * 1e-3
    assert profiler.get_kernel_profiler_total_time() == pytest.approx(total, rel=1e-6)
    assert first.min > 0.0


def test_kernels_without_result_are_seen_too(profiled):
    @qd.kernel
    def nothing():
        for _ in range(10):
            pass

    nothing()
    assert profiler.query_kernel_profiler_info("nothing_0_range_for").counter == 1


def test_a_trace_tells_when_tasks_of_several_launches_began(profiled, capsys):
    f = qd.field(qd.f32, shape=1000)

    @qd.kernel
    def two_loops():
        for i in f:
            f[i] = i
        for i in f:
            f[i] *= 2

    two_loops()
    profiler.clear_kernel_profiler_info()
    for _ in range(3):
        two_loops()
        time.sleep(0.05)
    starts = [launch.start for launch in profiler.kernel_records]
    assert starts == sorted(starts) and len(starts) == 6
    assert min(starts[2] - starts[0], starts[4] - starts[2]) > 0.04
    capsys.readouterr()
    profiler.print_kernel_profiler_info("trace")
    shown = [float(line[1:10]) for line in capsys.readouterr().out.splitlines()[5:11]]
    assert shown == sorted(shown) and shown[0] == 0 and shown[-1] > 80
