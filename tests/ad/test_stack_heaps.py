"""Memory of stacks: how much each task asks for, how the heaps grow, and what shares them."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from heap_lines import bindings, growths
from oracle import check, field, reverse
from stack_kit import recurrence, slopes

import quadrants as qd

POINTS = [0.3, -0.7, 1.3, 0.9]
ON_HOST = "x64", "arm64"
M = qd.types.matrix(8, 8, qd.f64)


@pytest.fixture(autouse=True)
def runtime(init, monkeypatch):
    monkeypatch.setenv("QD_DEBUG_ADSTACK", "1")
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


def is_host() -> bool:
    return qd.lang.impl.current_cfg().arch.name in ON_HOST


def test_a_line_for_every_heap_that_a_task_binds(capfd):
    x, y, n = field(POINTS), field(np.zeros(4)), qd.field(qd.i32, ())

    @qd.kernel
    def k():
        for i in x:
            v, phase = x[i], i
            sign = qd.cast(1, qd.i8)
            for j in range(n[None]):
                if phase % 3 < 2:
                    v = qd.sin(v) * v
                if sign > 0:
                    v = v * 0.9
                sign = -sign
                phase += j
            y[i] = v

    n[None] = 5
    check(k, [x], [y], modes="r")
    lines = bindings(capfd.readouterr().err)
    assert [(line["kind"], line["task"]) for line in lines] == [("F", "k_reverse_grad_0"), ("I", "k_reverse_grad_0")]
    floats, ints = lines
    assert floats["src"] == "worst_case_num_threads_no_bound_expr" and ints["src"] == "worst_case_num_threads"
    assert floats["rows"] == ints["rows"] == ints["threads"]
    per_row = 5 * 8, 5 * 4 + 4 + 8  # 5 i32 and 5 i8, each stack rounded up to 8 bytes
    for line, expected in zip(lines, per_row, strict=True):
        assert line["stride"] == (-(-expected // 64) * 64 if is_host() else expected)
        assert line["bytes"] == line["rows"] * line["stride"]
    n[None] = 10
    reverse(k, [x], [y])
    later = bindings(capfd.readouterr().err)
    assert [line["stride"] for line in later] != [line["stride"] for line in lines]


def test_rows_follow_the_iterations(capfd):
    x, y, few = field(np.linspace(0, 1, 1000)), field(np.zeros(1000)), qd.field(qd.i32, ())
    a = np.zeros((2, 3), np.float32)

    @qd.kernel
    def by_field(n: qd.i32):
        for i in range(few[None]):
            v = x[i]
            for _ in range(n):
                v = qd.sin(v) + 0.1
            y[i] = v

    @qd.kernel
    def by_shape(a: qd.types.ndarray(), n: qd.i32):
        for i, j in qd.ndrange(a.shape[0], a.shape[1]):
            v = x[i * 3 + j]
            for _ in range(n):
                v = qd.sin(v) + 0.1
            y[i * 3 + j] = v

    few[None] = 6
    expected = np.zeros(1000)
    expected[:6] = slopes(np.linspace(0, 1, 1000)[:6], 40)
    np.testing.assert_allclose(reverse(by_field, [x], [y], 40)[0], expected, rtol=1e-12)
    np.testing.assert_allclose(reverse(by_shape, [x], [y], a, 40)[0], expected, rtol=1e-12)
    for line in bindings(capfd.readouterr().err):
        assert line["rows"] <= (qd.lang.impl.current_cfg().cpu_max_num_threads if is_host() else 6)


def test_no_iterations_ask_for_no_memory(capfd):
    x, y, few = field(POINTS), field(np.zeros(4)), qd.field(qd.i32, ())

    @qd.kernel
    def k(n: qd.i32):
        for i in range(few[None]):
            v = x[i]
            for _ in range(n):
                v = qd.sin(v) + 0.1
            y[i] = v

    np.testing.assert_array_equal(reverse(k, [x], [y], 5)[0], np.zeros(4))
    assert bindings(capfd.readouterr().err) == []
    few[None] = 4
    np.testing.assert_allclose(reverse(k, [x], [y], 0)[0], np.ones(4), rtol=1e-12)
    assert growths(capfd.readouterr().err) == []
    np.testing.assert_allclose(reverse(k, [x], [y], 300)[0], slopes(POINTS, 300), rtol=1e-12)


def test_kernels_without_stacks_have_no_heap(capfd):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = 0.0
            for j in range(n):
                s = s * 0.5 + x[i] * j
            y[i] = s

    check(k, [x], [y], 4, modes="r")
    assert "[adstack" not in capfd.readouterr().err


def skip_where_loops_are_cut() -> None:
    from quadrants.backends import registry

    if not registry.current().dialect.long_loops:
        pytest.skip("llvmpipe lets a thread do 65535 rounds of all its loops: run it on a GPU with Vulkan")


def test_growth_is_amortised(capfd):
    skip_where_loops_are_cut()
    x, y = field(np.linspace(0, 1, 64)), field(np.zeros(64))
    k = recurrence(x, y)
    for n in (1000, 1500, 3000, 4000, 9000, 9000, 100, 20000):
        found = reverse(k, [x], [y], n)[0]
        np.testing.assert_allclose(found, slopes(np.linspace(0, 1, 64), n), rtol=1e-10, atol=1e-300)
    text = capfd.readouterr().err
    sizes = growths(text)
    for kind, before, now, retried in sizes:
        assert kind == "F" and now >= 2 * before and not retried
    most = max(line["bytes"] for line in bindings(text))
    assert len(sizes) <= 5 and most <= sizes[-1][2] < 2 * most + 1
    qd.reset()


def test_launches_in_a_row_have_capacities_of_their_own():
    x, y = field(POINTS), field(np.zeros(4))
    k = recurrence(x, y)
    for g in (x.grad, y.grad):
        g.fill(0)
    y.grad.fill(1)
    expected = np.zeros(4)
    for n in (3, 700, 50, 3000):
        k.grad(n)
        y.grad.fill(1)
        expected += slopes(POINTS, n)
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-12)


def test_several_tasks_share_a_heap(capfd):
    x, y, z = field(POINTS), field(np.zeros(4)), field(np.zeros(4))

    @qd.kernel
    def k(n: qd.i32, m: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                v = qd.sin(v) + 0.1
            y[i] = v
        for i in x:
            v = x[i]
            for _ in range(m):
                v = qd.cos(v)
                for j in range(n):
                    v = v * 0.5 * qd.sin(x[i]) + 0.1 * j
            z[i] = v

    check(k, [x], [y, z], 3, 40, modes="r")
    lines = bindings(capfd.readouterr().err)
    assert [line["task"] for line in lines] == ["k_reverse_grad_0", "k_reverse_grad_1"]


def test_floats_and_integers_declared_in_turn():
    x, y = field(np.linspace(0.1, 0.9, 40)), field(np.zeros(40))
    trips = qd.ndarray(qd.i32, 40)
    trips.from_numpy((np.arange(40) % 5).astype(np.int32))

    @qd.kernel
    def k(trips: qd.types.ndarray()):
        for i in x:
            a = x[i]
            m = i % 7
            b = x[i] * 0.5
            far = qd.cast(i, qd.i64)
            c = qd.cast(0.3, qd.f32)
            for j in range(trips[i]):
                a = a * b + 0.1 * (m % 3)
                m = m * 3 + j
                if far % 2 == 0:
                    b = qd.sin(b) + c * a
                far = far * 3 + m
                c = c * 0.5
            y[i] = a + b

    check(k, [x], [y], trips, modes="r", rtol=1e-4, atol=1e-6)


def test_sibling_branches_that_reach_different_stacks_first():
    n = 300
    x, y = field(np.linspace(0.1, 0.9, n)), field(np.zeros(n))

    @qd.kernel
    def k(m: qd.i32):
        for i in x:
            v = x[i]
            if i % 2 == 0:
                for _ in range(m):
                    v = qd.sin(v) + 0.1
            else:
                for _ in range(m + i % 3):
                    v = v * v
            y[i] = v

    found = reverse(k, [x], [y], 3)[0]
    points = np.linspace(0.1, 0.9, n)
    even = slopes(points, 3)
    odd = [2.0 ** (3 + i % 3) * p ** (2.0 ** (3 + i % 3) - 1) for i, p in enumerate(points)]
    np.testing.assert_allclose(found, np.where(np.arange(n) % 2 == 0, even, odd), rtol=1e-10)


def test_siblings_with_a_condition_each():
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            v = x[i]
            for s in qd.static(range(6)):
                for j in range(n):
                    if v * (s + 1) > 0.5 + 0.1 * j:
                        v = qd.sin(v) - 0.1 * s
                    else:
                        v = v * v + 0.3
            y[i] = v

    check(k, [x], [y], 5, modes="r")


def test_many_carried_variables_over_a_small_product(init, capfd):
    init(ad_stack_experimental_enabled=True, ad_stack_size=4096)
    x, y = field(np.linspace(0.1, 0.9, 6).reshape(2, 3), dtype=qd.f32), field(np.zeros((2, 3)), dtype=qd.f32)
    a = qd.ndarray(qd.f32, (2, 3))

    @qd.kernel
    def k(a: qd.types.ndarray(), n: qd.i32):
        for i, j in qd.ndrange(a.shape[0], a.shape[1]):
            v = qd.Vector([x[i, j] * (1.0 + 0.1 * c) for c in qd.static(range(10))])
            for _ in range(n):
                for c in qd.static(range(10)):
                    v[c] = qd.sin(v[c]) * 0.9 + 0.1
            y[i, j] = v.sum()

    found = reverse(k, [x], [y], a, 20)[0]
    expected = np.zeros((2, 3))
    for c in range(10):
        v, slope = np.linspace(0.1, 0.9, 6).reshape(2, 3) * (1 + 0.1 * c), np.full((2, 3), 1 + 0.1 * c)
        for _ in range(20):
            slope, v = slope * np.cos(v) * 0.9, np.sin(v) * 0.9 + 0.1
        expected += slope
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    (line,) = bindings(capfd.readouterr().err)
    assert line["rows"] <= 128 and line["stride"] == 4096 * 4 * 10


def test_more_iterations_than_rows(init, capfd):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_size=2048)
    n = 65700
    x, y = field(np.linspace(0, 1, n)), field(np.zeros(n))

    @qd.kernel
    def k(trips: qd.i32):
        qd.loop_config(block_dim=256)
        for i in range(n):
            v = x[i]
            for _ in range(trips):
                v = qd.sin(v) + 0.1
            y[i] = v

    np.testing.assert_allclose(reverse(k, [x], [y], 2)[0], slopes(np.linspace(0, 1, n), 2), rtol=1e-12)
    (line,) = bindings(capfd.readouterr().err)
    assert line["rows"] <= 256 * 256 and line["stride"] == 2048 * 8


def test_tasks_without_stacks_have_a_thread_for_each_iteration():
    x, y = field(np.zeros(70000)), field(np.zeros(70000))

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            y[i] = x[i] * x[i]
        for i in x:
            v = x[i]
            for _ in range(n):
                v = qd.sin(v)
            y[i] += v

    listing = k.grad.source(3).split("Launches, in order")
    if not is_host():
        with_stacks, without = [line for line in listing[1].splitlines() if "iterations" in line]
        assert "stride" in with_stacks and ("flat" in without or "chunk" in without)  # that on processors
    np.testing.assert_array_equal(reverse(k, [x], [y], 3)[0], np.ones(70000))


def test_an_overflow_ends_the_launch_alone(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_size=1024)
    x, y = field(POINTS), field(np.zeros(4))
    k = recurrence(x, y)
    np.testing.assert_allclose(reverse(k, [x], [y], 100)[0], slopes(POINTS, 100), rtol=1e-12)
    with pytest.raises(qd.QuadrantsAssertionError, match="Adstack overflow in kernel k_reverse_grad, task 0") as caught:
        k.grad(1025)
        qd.sync()
    assert "'v' runs 1025 times" in str(caught.value) and "room for 1023" in str(caught.value)
    qd.sync()
    np.testing.assert_allclose(reverse(k, [x], [y], 5)[0], slopes(POINTS, 5), rtol=1e-12)


def test_a_heap_that_cannot_be_had_is_an_error_and_the_program_goes_on():
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            v = x[i]
            for a, b in qd.ndrange(n, n):
                v = qd.sin(v)
            y[i] = v

    with pytest.raises(
        RuntimeError, match=r"adstack heap of \d+ bytes for the float stacks of task k_reverse_grad_0"
    ) as caught:
        k.grad(2**30)
    assert "for a, b in qd.ndrange(n, n):" in str(caught.value) and __file__ in str(caught.value)
    qd.sync()
    check(k, [x], [y], 3, modes="r")


@pytest.mark.runtime(exclude=("cpu",))
def test_heaps_are_what_the_lines_say_until_the_runtime_ends(init, capfd):
    from quadrants.backends import registry

    device = registry.current().device
    x, y = field(np.linspace(0, 1, 64)), field(np.zeros(64))
    k = recurrence(x, y)
    assert device.heap_bytes() == (0, 0)
    for n in (100, 3000, 20):
        reverse(k, [x], [y], n)
    grown = growths(capfd.readouterr().err)
    assert device.heap_bytes() == (grown[-1][2], 0)
    qd.reset()
    assert device.heap_bytes() == (0, 0)


def test_launches_on_several_threads_do_not_share_rows():
    n = 64
    points = np.linspace(0, 1, n)
    pairs = [(field(points), field(np.zeros(n))) for _ in range(4)]
    kernels = [recurrence(x, y) for x, y in pairs]
    failures = []

    def work(k, x, y, trips):
        for _ in range(20):
            x.grad.fill(0)
            y.grad.fill(1)
            k.grad(trips)
            if not np.allclose(x.grad.to_numpy(), slopes(points, trips), rtol=1e-10):
                failures.append(trips)

    for (x, y), k in zip(pairs, kernels, strict=True):
        reverse(k, [x], [y], 1)
    threads = [
        threading.Thread(target=work, args=(k, *pair, 200 + 100 * number))
        for number, (k, pair) in enumerate(zip(kernels, pairs, strict=True))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.runtime(exclude=("cpu",))
def test_streams_have_heaps_of_their_own():
    x, y = field(POINTS), field(np.zeros(4))
    k = recurrence(x, y)
    with pytest.raises(RuntimeError, match="qd_stream is not compatible with"):
        k.grad(3, qd_stream=qd.create_stream())
    np.testing.assert_allclose(reverse(k, [x], [y], 3)[0], slopes(POINTS, 3), rtol=1e-12)


def most_of_an_allocation() -> int:
    from quadrants.toolchain import opencl

    return opencl.chosen().device.max_mem_alloc_size


def test_slots_beyond_32_bits(init, capfd):
    """One iteration of the last thread is long: its slots reach over more than 4 GiB."""
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_size=90000, saturating_grid_dim=64)
    skip_where_loops_are_cut()
    if qd.cfg.arch == qd.opencl and most_of_an_allocation() < 6 << 30:
        pytest.skip("needs a device that allocates 6 GiB at once, which few are to do")
    rows = 8192
    x, y = field(np.full(rows, 0.5)), field(np.zeros(rows))

    @qd.kernel
    def k(last: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(last if i == 8191 else 2):
                v = v * 0.9999 + 1e-6 * v * v
            y[i] = v

    found = reverse(k, [x], [y], 80000)[0]
    v, slope = 0.5, 1.0
    expected = []
    for j in range(80000):
        slope, v = slope * (0.9999 + 2e-6 * v), v * 0.9999 + 1e-6 * v * v
        if j == 1:
            expected.append(slope)
    np.testing.assert_allclose(found[[0, 8190, 8191]], [*expected * 2, slope], rtol=1e-9)
    if not is_host():
        assert bindings(capfd.readouterr().err)[-1]["bytes"] > 1 << 32


def test_argument_blocks_that_are_too_large_to_go_by_value():
    """More than 4 KiB: HIP has them in memory, where the addresses of the heaps have to follow."""
    x, y, trips = field(POINTS), field(np.zeros(4)), qd.field(qd.i32, 4)

    @qd.kernel
    def k(a: M, b: M, c: M, d: M, e: M, f: M, g: M, h: M, m: M, n: qd.i32):
        for i in x:
            v = x[i]
            count = i
            for j in range(n):
                if count % 2 == 0:
                    v = qd.sin(v) * (a[i, 0] + b[0, i] + c[i, i] + d[1, i] + e[i, 1] + f[2, i] + g[i, 2] + h[3, i])
                count += j
            for _ in range(trips[i]):
                v = v * v + m[7, 7]
            y[i] = v

    matrices = [qd.Matrix((np.arange(64) + s).reshape(8, 8) / 1000) for s in range(9)]
    for n, counts in ((3, [0, 1, 2, 3]), (90, [1, 1, 0, 5]), (2, [60, 1, 0, 5])):
        trips.from_numpy(np.array(counts, np.int32))
        check(k, [x], [y], *matrices, n, modes="r")
