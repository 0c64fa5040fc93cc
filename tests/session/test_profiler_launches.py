"""The kernel profiler sees every task of every launch."""

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
