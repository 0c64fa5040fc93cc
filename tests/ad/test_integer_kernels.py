"""Kernels that write nothing with a gradient are steps of a tape whatever their top level holds."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd


@pytest.mark.parametrize("forward", [False, True])
def test_a_kernel_that_counts(init, forward):
    init(default_fp=qd.f64)
    counts, first = qd.field(qd.i32, 4), qd.field(qd.i32, 4)
    x, loss = (qd.field(qd.f64, shape, needs_grad=True, needs_dual=True) for shape in (4, ()))

    @qd.kernel
    def prefix():
        total = 0
        qd.loop_config(serialize=True)
        for c in range(4):
            first[c] = total
            total += counts[c]

    @qd.kernel
    def weigh():
        for i in x:
            loss[None] += x[i] * first[i]

    counts.fill(2)
    x.fill(1.0)
    if forward:
        with qd.ad.FwdMode(loss=loss, param=x, seed=[0.0, 1.0, 0.0, 2.0]):
            prefix()
            weigh()
        assert loss.dual[None] == 2 + 12 and first.to_numpy().tolist() == [0, 2, 4, 6]
        return
    with qd.ad.Tape(loss=loss):
        prefix()
        weigh()
    assert loss[None] == 12.0
    np.testing.assert_array_equal(x.grad.to_numpy(), [0, 2, 4, 6])


def test_statements_beside_loops_are_refused_where_gradients_are_written(init):
    init()
    x, loss = qd.field(qd.f32, 4, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def both():
        for i in x:
            loss[None] += x[i]
        x[0] = 3.0

    with pytest.raises(qd.QuadrantsRuntimeError, match=r"Mixed usage of for-loops(.|\n)*qd.ad.no_grad"):
        both.grad()
