"""Longest loops over whole arrays: devices find them with all threads, once, and again after a write."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from oracle import field
from size_kit import POINTS, slope

import quadrants as qd

PEAK = 60
# Kernels are translated from their source, so that each bound needs one of its own. The cell that counts is found
# through another array, `g`: the longest loop may then be any.
SOURCE = """
import quadrants as qd


def make(x, y, f, g):
    @qd.kernel
    def k(a: qd.types.ndarray(ndim=1), n: qd.i32):
        for i in x:
            v = x[i]
            for _ in range({bound}):
                v = qd.sin(v)
            y[i] = v

    return k
"""
BOUNDS = [
    "a[g[i]]",
    "a[g[i]] + (n - n)",
    "max(a[g[i]], f[g[i]])",
    "max(a[g[i]] + 0, a[g[i]] * 1 - 0)",
    "f[g[i]]",
    "f[g[i]] + (a[g[i]] - a[g[i]])",
    "a[g[i]] + (f[g[i]] - a[g[i]])",
    "max(f[g[i]], 0)",
    "max(f[g[i]] + 0, f[g[i]] * 1 - 0)",
]


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


@pytest.fixture
def least(arch_name):
    """Maxima that a launch has to look for on this arch, at least; the CPU walks by itself and counts none."""
    return 0 if arch_name == "cpu" else 1


def dispatches() -> int:
    return qd.lang.impl.get_runtime().prog._get_max_reducer_dispatch_count()


def content(cells: int, last: int = PEAK) -> np.ndarray:
    """Threes, and the peak in the last cell."""
    out = np.full(cells, 3, np.int32)
    out[-1] = last
    return out


def ints(values, dtype=qd.i32):
    made = qd.field(dtype, values.shape)
    made.from_numpy(values)
    return made


def array(values, dtype=qd.i32):
    made = qd.ndarray(dtype, values.shape)
    made.from_numpy(values)
    return made


class Case:
    """Four elements: the last runs as often as the last cells of the arrays say, the others as their first ones."""

    def __init__(self, folder, bound: str, cells: int, dtype=qd.i32):
        self.x, self.y = field(POINTS), field(np.zeros(4))
        self.a, self.f = array(content(cells), dtype), ints(content(cells), dtype)
        path = folder / "reducer_module.py"
        path.write_text(SOURCE.format(bound=bound))
        spec = importlib.util.spec_from_file_location("reducer_module", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.kernel = module.make(self.x, self.y, self.f, ints(np.array([0, 0, 0, cells - 1], np.int32)))

    def dispatches(self, trips: int, others: int = 3) -> int:
        """Those of a launch of the derivative, which has to be that of so many trips in the last element."""
        self.x.grad.fill(0)
        self.y.grad.fill(1)
        before = dispatches()
        self.kernel.grad(self.a, 7)
        got = self.x.grad.to_numpy()
        want = [slope(p, n) for p, n in zip(POINTS, (others, others, others, trips))]
        assert np.allclose(got, want, rtol=1e-12), (got, want)
        return dispatches() - before

    def set_last(self, value: int) -> None:
        """Both arrays, from Python."""
        self.a[self.a.shape[0] - 1] = value
        self.f[self.f.shape[0] - 1] = value


@pytest.mark.parametrize("cells", [256, 5000])
@pytest.mark.parametrize("bound", BOUNDS)
def test_the_peak_is_found_once_and_again_after_a_write(bound, cells, least, tmp_path):
    case = Case(tmp_path, bound, cells)
    assert case.dispatches(PEAK) >= least
    assert case.dispatches(PEAK) == 0
    case.set_last(2 * PEAK)
    assert case.dispatches(2 * PEAK) >= least
    assert case.dispatches(2 * PEAK) == 0
    case.set_last(2)
    assert case.dispatches(2) >= least


@pytest.mark.parametrize("bound", ["a[g[i]]", "max(a[g[i]], f[g[i]])"])
def test_no_thread_walks_over_more_than_a_launch_can_wait_for(bound, least, tmp_path):
    case = Case(tmp_path, bound, (1 << 24) + 1)
    assert case.dispatches(PEAK) >= least
    assert case.dispatches(PEAK) == 0
    case.set_last(PEAK + 1)
    assert case.dispatches(PEAK + 1) >= least


def test_a_kernel_that_writes_ends_what_was_found(least, tmp_path):
    case = Case(tmp_path, "max(a[g[i]], f[g[i]])", 1000)
    f = case.f

    @qd.kernel
    def longer(a: qd.types.ndarray(ndim=1)):
        for i in f:
            a[i] += 30

    assert case.dispatches(PEAK) >= least
    assert case.dispatches(PEAK) == 0
    longer(case.a)
    assert case.dispatches(PEAK + 30, others=33) >= least
    assert case.dispatches(PEAK + 30, others=33) == 0


def test_specialisations_share_no_maximum(least, tmp_path):
    case = Case(tmp_path, "a[g[i]]", 1000)
    assert case.dispatches(PEAK) >= least
    case.a = array(content(1000, 2 * PEAK), qd.i16)
    assert case.dispatches(2 * PEAK) >= least
    assert case.dispatches(2 * PEAK) == 0


def test_two_thousand_launches_look_once(least, tmp_path):
    case = Case(tmp_path, "max(a[g[i]], f[g[i]])", 1000)
    assert case.dispatches(PEAK) >= least
    before = dispatches()
    for _ in range(2008):
        case.kernel.grad(case.a, 7)
    assert dispatches() == before
    (plan,) = case.kernel.grad._plans
    assert (plan.kept.hits, plan.kept.misses) == (2008, 1)


def test_the_count_can_be_reset(least, tmp_path):
    case = Case(tmp_path, "a[g[i]]", 1000)
    case.dispatches(PEAK)
    assert dispatches() >= least
    qd.lang.impl.get_runtime().prog._reset_max_reducer_dispatch_count()
    assert dispatches() == 0


def test_debug_lines_tell_hits_and_dispatches(monkeypatch, capfd, least, tmp_path):
    monkeypatch.setenv("QD_DEBUG_ADSTACK", "1")
    case = Case(tmp_path, "max(a[g[i]], f[g[i]])", 1000)
    case.dispatches(PEAK)
    case.dispatches(PEAK)
    lines = [line.split("'")[-1] for line in capfd.readouterr().err.splitlines() if line.startswith("[adstack_max]")]
    # The CPU walks by itself.
    assert lines == [" specs=2 hits=0 dispatches=2", " specs=2 hits=2 dispatches=0"] * least
