"""Stacks behind a condition on the CPU: no more rows, and workers, than iterations that get there."""

from __future__ import annotations

import numpy as np
import pytest
from heap_lines import bindings
from oracle import field, reverse
from stack_kit import gated, recur, slopes

import quadrants as qd

pytestmark = pytest.mark.cpu_only


@pytest.fixture(autouse=True)
def lines(monkeypatch):
    monkeypatch.setenv("QD_DEBUG_ADSTACK", "1")


@pytest.mark.parametrize("parallelize", [0, 3])
def test_workers_of_a_cpu_are_no_more_than_iterations_behind_a_gate(init, capfd, parallelize):
    init(
        default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_sparse_threshold_bytes=0, cpu_max_num_threads=4
    )
    n = 4000
    points = np.linspace(0, 1, n)
    x, y, g = field(points), field(np.zeros(n)), qd.field(qd.f32, n)

    @qd.kernel
    def k(trips: qd.i32):
        qd.loop_config(parallelize=parallelize)
        for i in range(n):
            if g[i] > 0.5:
                y[i] += recur(x[i], trips)

    expected = {
        0: ("reducer_zero_floored", 1), 1: ("reducer_count", 1), 3: ("reducer_count", 3),
        4: ("worst_case_num_threads", 4), 2000: ("worst_case_num_threads", 4),
    }  # fmt: skip
    for passing, (source, rows) in expected.items():
        marks = np.zeros(n)
        marks[np.random.default_rng(0).permutation(n)[:passing]] = 1
        g.from_numpy(marks.astype(np.float32))
        found = reverse(k, [x], [y], 30)[0]
        np.testing.assert_allclose(found, slopes(points, 30, marks > 0), rtol=1e-12)
        (line,) = bindings(capfd.readouterr().err)
        assert (line["src"], line["rows"]) == (source, rows)


def test_small_heaps_of_a_cpu_are_not_counted_for(init, capfd):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, cpu_max_num_threads=4)
    x, y, g = field(np.zeros(4000)), field(np.zeros(4000)), qd.field(qd.f32, 4000)
    reverse(gated(x, y, g), [x], [y], 30)
    (line,) = bindings(capfd.readouterr().err)
    assert (line["src"], line["rows"]) == ("worst_case_num_threads", 4)
