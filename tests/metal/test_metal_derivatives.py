"""Derivatives as Metal text: stacks in device memory, whose depths only the device knows, without 64-bit atomics."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.cpu_only
N = 300


def started():
    """Starts the emulated arch, then the CPU, in f32."""
    for options in ({"arch": qd.metal, "emulate": True}, {"arch": qd.cpu}):
        qd.init(ad_stack_experimental_enabled=True, enable_fallback=False, **options)
        yield
    qd.reset()


def compared(program):
    """What a program gives on both, which is to be the same but for rounding."""
    found = [program() for _ in started()]
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)
    assert all(np.abs(x).max() > 0 for x in found[0])
    return found[0]


def test_loops_of_any_length():
    def program():
        x, y = qd.field(qd.f32, N, needs_grad=True), qd.field(qd.f32, N, needs_grad=True)
        n = qd.field(qd.i32, ())

        @qd.kernel
        def curved():
            for i in x:
                v = x[i]
                for _ in range(n[None]):
                    v = qd.sin(v) * x[i] + 0.5
                y[i] = v

        x.from_numpy(np.linspace(-1, 1, N, dtype=np.float32))
        n[None] = 7
        y.grad.fill(1)
        curved.grad()
        return (x.grad.to_numpy(),)

    compared(program)


def test_depths_that_are_maxima_of_long_arrays():
    """A parallel loop finds them, by an atomic of 32 bits."""

    def program():
        x, y = qd.field(qd.f32, N, needs_grad=True), qd.field(qd.f32, N, needs_grad=True)
        count = qd.field(qd.i32, N)

        @qd.kernel
        def ragged():
            for i in x:
                v = x[i]
                for k in range(count[i]):
                    v = qd.cos(v * x[i]) + 0.1 * k
                y[i] = v

        x.from_numpy(np.linspace(0.1, 1, N, dtype=np.float32))
        count.from_numpy((np.arange(N) * 7 % 13).astype(np.int32))
        y.grad.fill(1)
        ragged.grad()
        text = ragged.grad.source()
        assert "_sizes" in text or qd.cfg.arch is qd.cpu
        return (x.grad.to_numpy(),)

    compared(program)


def test_stacks_behind_a_condition():
    """All threads have rows: to count those that need one would take an atomic of 64 bits."""

    def program():
        x, y = qd.field(qd.f32, N, needs_grad=True), qd.field(qd.f32, N, needs_grad=True)
        passes, n = qd.field(qd.f32, N), qd.field(qd.i32, ())

        @qd.kernel
        def gated():
            for i in x:
                if passes[i] > 0.5:
                    v = x[i]
                    for _ in range(n[None]):
                        v = qd.sin(v)
                    y[i] = v

        x.from_numpy(np.linspace(0.1, 1, N, dtype=np.float32))
        passes.from_numpy((np.arange(N) % 3 == 0).astype(np.float32))
        n[None] = 5
        y.grad.fill(1)
        gated.grad()
        return (x.grad.to_numpy(),)

    (gradient,) = compared(program)
    assert (gradient[np.arange(N) % 3 != 0] == 0).all()


def test_sums_that_threads_share():
    def program():
        x, loss = qd.field(qd.f32, N, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)

        @qd.kernel
        def total():
            for i in x:
                v = x[i]
                for _ in range(3):
                    v = v * v + 0.25
                loss[None] += v

        x.from_numpy(np.linspace(-0.5, 0.5, N, dtype=np.float32))
        with qd.ad.Tape(loss):
            total()
        return np.array([loss[None]]), x.grad.to_numpy()

    compared(program)
