"""Synchronisation, threads, random numbers (runtime.md 4, 5, 7)."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from language_kit import raises

import quadrants as qd

N = 20000


def draws(init, threads: int, seed: int, launches: int = 1):
    """What a parallel n-d loop, a loop with several draws, a serial task and a func draw."""
    init(cpu_max_num_threads=threads, random_seed=seed)
    a = qd.field(qd.f32, shape=(N // 100, 100))
    b = qd.field(qd.f64, shape=N)
    c = qd.field(qd.i32, shape=N)
    d = qd.field(qd.f32, shape=N)

    @qd.func
    def pair():
        return qd.random() + qd.random(float)

    @qd.kernel
    def draw() -> qd.f32:
        s = qd.random()
        for i, j in a:
            a[i, j] = qd.random()
        for i in b:
            b[i] = qd.random(qd.f64)
            c[i] = qd.random(int)
        for i in d:
            if i % 3:
                d[i] = pair()
            else:
                d[i] = qd.randn()
        return s + qd.random()

    out = []
    for _ in range(launches):
        s = draw()
        out.append((s, a.to_numpy(), b.to_numpy(), c.to_numpy(), d.to_numpy()))
    qd.reset()
    return out


def equal(x, y) -> bool:
    return all(np.array_equal(p, q) for p, q in zip(x, y))


def test_draws_depend_on_the_seed_alone(init):
    """7: reproducible for every thread count; other seeds, launches, loops and iterations differ."""
    one, seven = draws(init, 1, 5, 2), draws(init, 7, 5, 2)
    assert equal(one[0], seven[0]) and equal(one[1], seven[1])
    assert not equal(one[0], one[1]) and not np.array_equal(one[0][1], one[1][1])
    other = draws(init, 3, 6)[0]
    assert not np.isclose(one[0][1], other[1]).all()
    _, a, b, c, d = one[0]
    assert len(np.unique(a)) > 0.98 * N and len(np.unique(b)) == N
    assert not np.array_equal(a.ravel(), b.astype(np.float32))


def test_distribution(init):
    """7: range, mean and moments; integers over their whole range; neighbours are independent."""
    _, a, b, c, d = draws(init, 4, 0)[0]
    for x in (a.ravel().astype(float), b):
        assert 0 <= x.min() and x.max() < 1
        assert abs(x.mean() - 0.5) < 0.01 and abs(x.var() - 1 / 12) < 0.003
        assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 0.03
        assert np.histogram(x, 16, (0, 1))[0].std() < 4 * np.sqrt(N / 16)
    assert c.min() < -(2**31) * 0.99 and c.max() > 2**31 * 0.99 and abs(c.mean()) < 2**31 * 0.02
    normal = d[::3]
    assert abs(normal.mean()) < 0.04 and abs(normal.std() - 1) < 0.04 and np.isfinite(normal).all()
    assert abs(np.delete(d, np.s_[::3]).mean() - 1) < 0.02


def test_single_draws_of_launches_differ(arch):
    @qd.kernel
    def one() -> qd.f32:
        return qd.random()

    values = [one() for _ in range(10)]
    assert len(set(values)) >= 9


def test_random_types(arch):
    @qd.kernel
    def types(out: qd.types.ndarray(qd.f64, 1)):
        for i in range(1000):
            x = qd.random(qd.f16)
            qd.atomic_max(out[0], x)
            qd.atomic_min(out[1], x)
            qd.atomic_max(out[2], qd.cast(qd.random(qd.u64), qd.f64))
            qd.atomic_max(out[3], qd.cast(qd.random(qd.u32), qd.f64))
            qd.atomic_min(out[4], qd.cast(qd.random(qd.i64), qd.f64))

    out = qd.ndarray(qd.f64, shape=5)
    types(out)
    got = out.to_numpy()
    assert 0.9 < got[0] < 1 and got[1] == 0 and got[2] > 1.8e19 and got[3] > 4.2e9 and got[4] < -9e18

    for t in (qd.i8, qd.u8, qd.i16, qd.u16, qd.u1):

        @qd.kernel
        def refused():
            x = qd.random(t)  # noqa: F841

        with raises(qd.QuadrantsTypeError):
            refused()
    with pytest.raises(SyntaxError):
        qd.random()


def test_kernels_from_many_threads(arch):
    """5: first kernel of a thread, one kernel from four threads, compiling in two threads at once."""
    results = {}

    @qd.kernel
    def shared(n: qd.i32) -> qd.i32:
        s = 0
        for i in range(n):
            s += i
        return s

    def work(number):
        f = qd.field(qd.i32, shape=100)

        @qd.kernel
        def own():
            for i in f:
                f[i] = i + number

        own()
        results[number] = (int(f.to_numpy().sum()), [shared(1000 + k) for k in range(20)])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    sums = [(1000 + k) * (999 + k) // 2 for k in range(20)]
    assert results == {k: (4950 + 100 * k, sums) for k in range(4)}


@pytest.mark.runtime(exclude=("vulkan",))  # llvmpipe lets a thread do 65535 rounds: tests/vulkan
def test_other_threads_run_during_a_launch(arch):
    """5: the lock of the interpreter is free while native code runs; 4: sync returns after the work."""

    @qd.kernel
    def long(n: qd.i32) -> qd.f64:
        x = qd.f64(0.5)
        for _ in range(1):
            for i in range(n):
                x = x * 3.7 * (1 - x)
        return x

    long(10)
    ticks = []
    stop = threading.Event()

    def ticker():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=ticker)
    thread.start()
    start = time.perf_counter()
    long(60_000_000)
    end = time.perf_counter()
    stop.set()
    thread.join()
    inside = [t for t in ticks if start < t < end]
    assert len(inside) > 10
    assert qd.sync() is None


def test_kernels_do_not_call_kernels(arch):
    @qd.kernel
    def inner() -> qd.i32:
        return 1

    @qd.kernel
    def outer() -> qd.i32:
        return inner()

    with raises(qd.QuadrantsSyntaxError, "Kernels cannot call other kernels"):
        outer()
    assert inner() == 1
