"""The iterations that pass the gates of a kernel with several tasks are counted together, and read back once."""

from __future__ import annotations

import re

import numpy as np
import pytest
from heap_lines import bindings
from oracle import field, kernel_differences, reverse
from stack_kit import recur

import quadrants as qd

pytestmark = pytest.mark.runtime(exclude=("cpu",))
COUNT = 200


@pytest.fixture(autouse=True)
def runtime(init, monkeypatch):
    monkeypatch.setenv("QD_DEBUG_ADSTACK", "1")
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_sparse_threshold_bytes=0)


def three_tasks():
    """Three tasks with gates of their own, and with loops as long as `n` says."""
    x = field(np.linspace(0.1, 0.9, COUNT))
    out = [field(np.zeros(COUNT)) for _ in range(3)]

    @qd.kernel
    def k(g: qd.types.ndarray(), h: qd.types.ndarray(), n: qd.types.ndarray()):
        for i in range(COUNT):
            if g[i] > 0.5:
                out[0][i] += recur(x[i], n[0])
        for i in range(COUNT):
            if h[i] == 3:
                out[1][i] += recur(x[i] * 2, n[1])
        for i in range(COUNT):
            if g[i] < 0.25:
                out[2][i] += recur(x[i] * x[i], n[2])

    return k, x, out


def read(capfd) -> tuple:
    """(tasks counted by each reading, rows of each task with stacks of real numbers in the order of binding)."""
    text = capfd.readouterr().err
    counted = [int(n) for n in re.findall(r"\[adstack_gate\] .* counted=(\d+) readings=1", text)]
    return counted, [line["rows"] for line in bindings(text) if line["kind"] == "F"]


def test_one_reading_for_all(capfd):
    k, x, out = three_tasks()
    rng = np.random.default_rng(3)
    n = qd.ndarray(qd.i32, (3,))
    for trips in ((4, 2, 3), (1, 9, 2)):
        n.from_numpy(np.array(trips, np.int32))
        g, h = rng.random(COUNT), rng.integers(0, 6, COUNT).astype(np.int32)
        expected = kernel_differences(k, [x], out, g, h, n)
        capfd.readouterr()
        found = reverse(k, [x], out, g, h, n)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-5, atol=1e-7)
        counted, rows = read(capfd)
        assert counted == [3]
        # Derivatives go through the tasks backwards.
        assert rows == [int((g < 0.25).sum()), int((h == 3).sum()), int((g > 0.5).sum())]


def test_a_launch_after_one_that_found_no_memory_counts_anew(capfd):
    k, x, out = three_tasks()
    n = qd.ndarray(qd.i32, (3,))
    n.from_numpy(np.array([4, 2**31 - 2, 4], np.int32))
    all_pass = np.full(COUNT, 3, np.int32)
    with pytest.raises(RuntimeError, match="cannot be allocated"):
        k.grad(np.linspace(0, 1, COUNT), all_pass, n)
    n.from_numpy(np.array([2, 2, 2], np.int32))
    g = np.linspace(0.3, 1, COUNT)
    expected = kernel_differences(k, [x], out, g, all_pass, n)
    capfd.readouterr()
    np.testing.assert_allclose(reverse(k, [x], out, g, all_pass, n)[0], expected[0], rtol=1e-5, atol=1e-7)
    assert read(capfd) == ([3], [1, COUNT, int((g > 0.5).sum())])
