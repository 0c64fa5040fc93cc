"""Stacks behind a condition: a device has rows for what passes it, wherever cells can be counted."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from heap_lines import bindings
from oracle import check, field, reverse
from stack_kit import gated, recur, recurrence, slopes

import quadrants as qd

pytestmark = pytest.mark.runtime(exclude=("cpu",))
COUNT = 256


@pytest.fixture(autouse=True)
def runtime(init, monkeypatch):
    monkeypatch.setenv("QD_DEBUG_ADSTACK", "1")
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_sparse_threshold_bytes=0)


@pytest.fixture
def points():
    return field(np.linspace(0.1, 0.9, COUNT)), field(np.zeros(COUNT)), np.linspace(0.1, 0.9, COUNT)


def marks(fraction: float, count: int = COUNT) -> np.ndarray:
    """Zeros and ones, that fraction of them ones."""
    found = np.zeros(count)
    found[: round(fraction * count)] = 1.0
    return np.random.default_rng(5).permutation(found)


def source(capfd) -> tuple:
    """(where the number of float rows is from, rows) of the last binding."""
    last = [line for line in bindings(capfd.readouterr().err) if line["kind"] == "F"][-1]
    return last["src"], last["rows"]


@pytest.mark.parametrize("fraction", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("debug", [False, True])
def test_rows_for_a_gate_in_an_array(init, points, capfd, fraction, debug):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_sparse_threshold_bytes=0, debug=debug)
    x, y, at = field(np.linspace(0.1, 0.9, COUNT)), field(np.zeros(COUNT)), points[2]

    @qd.kernel
    def k(g: qd.types.ndarray(), n: qd.i32):
        for i in range(COUNT):
            if g[i] > 0.5:
                y[i] += recur(x[i], n)

    g = marks(fraction).astype(np.float32)
    np.testing.assert_allclose(reverse(k, [x], [y], g, 8)[0], slopes(at, 8, g > 0.5), rtol=1e-12)
    passing = int(g.sum())
    expected = {0: ("reducer_zero_floored", 1), COUNT: ("worst_case_num_threads", COUNT)}
    assert source(capfd) == expected.get(passing, ("reducer_count", passing))


@pytest.mark.parametrize("fraction", [0.0, 0.05, 0.5, 1.0])
def test_rows_for_a_gate_in_a_leaf_of_a_struct(points, capfd, fraction):
    x, y, at = points
    cells = qd.Struct.field({"a": qd.f32, "mark": qd.i32, "b": qd.f64}, shape=(COUNT,))

    @qd.kernel
    def k(n: qd.i32):
        for i in cells:
            v = x[i]
            if 1 <= cells[i].mark:
                for _ in range(n):
                    v = qd.sin(v) + 0.1
                y[i] += v

    g = marks(fraction)
    cells.mark.from_numpy(g.astype(np.int32))
    np.testing.assert_allclose(reverse(k, [x], [y], 8)[0], slopes(at, 8, g > 0.5), rtol=1e-12)
    assert source(capfd)[1] == max(1, int(g.sum()))


_KERNEL = """
import quadrants as qd

def make(x, y, s, t, u):
    @qd.kernel
    def k(n: qd.i32, arg: qd.i32):
        {loop}
            v = x[i]
            {gate}
                for _ in range(n):
                    v = qd.sin(v) + 0.1
                y[i] += v
    return k
"""


def kernel_with(tmp_path, gate: str, *fields, loop: str = "for i in range(256):"):
    """A kernel whose stacks are behind a condition that is given as text."""
    path = tmp_path / f"gate_{abs(hash((gate, loop)))}.py"
    path.write_text(_KERNEL.format(loop=loop, gate=gate.replace("\n", "\n" + 12 * " ")))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make(*fields)


@pytest.mark.parametrize(
    ("gate", "mask"),
    [
        ("if s[i] < 1.0:", lambda s: s < 1),
        ("if 1.0 <= s[i]:", lambda s: s >= 1),
        ("if 1.0 != s[i]:", lambda s: s != 1),
        ("if s[i] == 2.0:", lambda s: s == 2),
        ("if s[i] > 0:", lambda s: s > 0),
        ("if s[i] <= 1.0:\n    v = v * 1.0\nelse:", lambda s: s > 1),
    ],
)
def test_comparisons(points, tmp_path, capfd, gate, mask):
    x, y, at = points
    s = qd.field(qd.f32, COUNT)
    values = np.random.default_rng(2).integers(0, 3, COUNT).astype(np.float32)
    s.from_numpy(values)
    k = kernel_with(tmp_path, gate, x, y, s, s, s)
    passes = mask(values)
    np.testing.assert_allclose(reverse(k, [x], [y], 40, 0)[0], slopes(at, 40, passes), rtol=1e-12)
    assert source(capfd) == ("reducer_count", int(passes.sum()))


# s has 256 cells, t is 16 x 16, u is 256 x 2.
CAPTURED = [
    "s[i] > 0.5", "t[i // 16, i % 16] > 0.5", "u[i, 0] > 0.5", "u[i, arg] > 0.5", "0.5 < t[i // 16 % 16, i % 16]",
]  # fmt: skip
REFUSED = [
    "s[i % 16] > 0.5", "s[i // 2] > 0.5", "s[(i + 5) % 256] > 0.5", "s[2 * i % 256] > 0.5", "s[42] > 0.5",
    "s[arg] > 0.5", "t[i % 8, i % 8] > 0.5", "t[i % 8, (i // 8) % 8] > 0.5", "s[i] > 0.5 and s[i] < 2.0",
    "not (s[i] > 0.5)", "s[i] + 1.0 > 1.5", "s[i] > arg", "i > 128", "s[qd.cast(s[i], qd.i32)] > 0.5",
    "t[i % 8 + 0 - 0, i % 8] > 0.5",
]  # fmt: skip


@pytest.mark.parametrize("gate", CAPTURED + REFUSED)
def test_which_conditions_are_gates(points, tmp_path, capfd, gate):
    x, y, at = points
    s, t, u = qd.field(qd.f32, COUNT), qd.field(qd.f32, (16, 16)), qd.field(qd.f32, (COUNT, 2))
    values = marks(0.25).astype(np.float32)
    s.from_numpy(values)
    t.from_numpy(values.reshape(16, 16))
    u.from_numpy(np.stack([values, values], axis=1))
    k = kernel_with(tmp_path, f"if {gate}:", x, y, s, t, u)
    known = {"s": values, "t": values.reshape(16, 16), "arg": 1, "u": np.stack([values, values], axis=1)}
    passes = np.array([bool(eval(_python(gate), {**known, "i": i})) for i in range(COUNT)])
    np.testing.assert_allclose(reverse(k, [x], [y], 40, 1)[0], slopes(at, 40, passes), rtol=1e-12)
    if gate in CAPTURED:
        assert source(capfd) == ("reducer_count", int(passes.sum()))
    else:
        assert source(capfd) == ("worst_case_num_threads_no_bound_expr", COUNT)


def _python(gate: str) -> str:
    return gate.replace("qd.cast(s[i], qd.i32)", "int(s[i])")


def test_products_and_fields_of_several_axes(capfd):
    x, y, g = field(np.linspace(0, 1, 60).reshape(3, 4, 5)), field(np.zeros((3, 4, 5))), qd.field(qd.i32, (3, 4, 5))
    g.from_numpy(marks(0.4, 60).astype(np.int32).reshape(3, 4, 5))

    @qd.kernel
    def over_field(n: qd.i32):
        for I in qd.grouped(x):
            if g[I] == 1:
                y[I] = recur(x[I], n)

    @qd.kernel
    def over_product(n: qd.i32):
        for i, j, k in qd.ndrange(3, 4, 5):
            if g[i, j, k] == 1:
                y[i, j, k] = recur(x[i, j, k], n)

    expected = slopes(np.linspace(0, 1, 60), 40, g.to_numpy().ravel() == 1)
    for kernel in (over_field, over_product):
        np.testing.assert_allclose(reverse(kernel, [x], [y], 40)[0].ravel(), expected, rtol=1e-12)
        assert source(capfd) == ("reducer_count", 24)


def test_all_that_pass_are_at_the_end(capfd):
    count = 131136
    x, y = field(np.linspace(0, 1, count)), field(np.zeros(count))
    values = np.zeros(count, np.float32)
    values[131072:] = 1

    @qd.kernel
    def k(g: qd.types.ndarray(), n: qd.i32):
        for i in range(g.shape[0]):
            if g[i] > 0.5:
                y[i] = recur(x[i], n)

    found = reverse(k, [x], [y], values, 9)[0]
    np.testing.assert_allclose(found, slopes(np.linspace(0, 1, count), 9, values > 0), rtol=1e-12)
    assert source(capfd) == ("reducer_count", 64)


def test_f64_gates_compare_all_bits(points, capfd):
    x, y, at = points
    g = qd.field(qd.f64, COUNT)
    below = np.nextafter(0.1, 0)
    values = np.where(marks(0.5) > 0, 0.1, below)
    g.from_numpy(values)

    @qd.kernel
    def k(n: qd.i32):
        for i in g:
            if g[i] >= 0.1:
                y[i] = recur(x[i], n)

    np.testing.assert_allclose(reverse(k, [x], [y], 40)[0], slopes(at, 40, values == 0.1), rtol=1e-12)
    assert source(capfd) == ("reducer_count", COUNT // 2)


def test_small_heaps_are_not_worth_counting(init, capfd):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)
    x, y, g = field(np.linspace(0, 1, COUNT)), field(np.zeros(COUNT)), qd.field(qd.f32, COUNT)
    k = gated(x, y, g)

    np.testing.assert_array_equal(reverse(k, [x], [y], 40)[0], np.zeros(COUNT))
    assert source(capfd) == ("worst_case_num_threads", COUNT)


def test_integers_have_a_row_for_each_thread(points, capfd):
    x, y, _ = points
    g = qd.field(qd.f32, COUNT)
    g.from_numpy(marks(0.1).astype(np.float32))

    @qd.kernel
    def k(n: qd.i32):
        for i in g:
            v = x[i]
            if g[i] > 0.5:
                phase = i
                for j in range(n):
                    if phase % 3 == 0:
                        v = qd.sin(v) * v
                    phase += j + 1
            y[i] = v

    check(k, [x], [y], 40, modes="r")
    floats, ints = bindings(capfd.readouterr().err)
    assert floats["rows"] == round(0.1 * COUNT) and ints["rows"] == COUNT


def test_gates_follow_their_cells_from_launch_to_launch(points, capfd):
    x, y, at = points
    g = qd.field(qd.f32, COUNT)
    k = gated(x, y, g)

    for fraction, n in ((0.5, 40), (0.1, 300), (0.9, 50), (0.9, 50), (0.0, 40)):
        values = marks(fraction)
        g.from_numpy(values.astype(np.float32))
        np.testing.assert_allclose(reverse(k, [x], [y], n)[0], slopes(at, n, values > 0), rtol=1e-12)
        assert source(capfd)[1] == max(1, int(values.sum()))


def test_no_more_rows_than_iterations(points, capfd):
    """The field has more cells than the loop looks at, and all of them pass."""
    x, y, at = points
    g = qd.field(qd.f32, 1024)
    g.fill(1)

    @qd.kernel
    def k(n: qd.i32):
        for i in range(64):
            if g[i] > 0.5:
                y[i] += recur(x[i], n)

    np.testing.assert_allclose(reverse(k, [x], [y], 40)[0], slopes(at, 40, np.arange(COUNT) < 64), rtol=1e-12)
    assert source(capfd) == ("worst_case_num_threads", 64)


def test_kernels_of_an_earlier_runtime_count_in_the_fields_of_this_one(init, capfd, tmp_path):
    @qd.kernel(fastcache=True)
    def k(x: qd.template(), y: qd.template(), g: qd.template(), n: qd.i32):
        for i in x:
            if g[i] > 0.5:
                y[i] += recur(x[i], n)

    for size, fraction in ((300, 0.2), (300, 0.6), (500, 0.3)):
        init(
            default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_sparse_threshold_bytes=0,
            offline_cache_file_path=str(tmp_path),
        )  # fmt: skip
        x, y, g = field(np.linspace(0, 1, size)), field(np.zeros(size)), qd.field(qd.f32, size)
        values = marks(fraction, size)
        g.from_numpy(values.astype(np.float32))
        found = reverse(k, [x], [y], x, y, g, 40)[0]
        np.testing.assert_allclose(found, slopes(np.linspace(0, 1, size), 40, values > 0), rtol=1e-12)
        assert source(capfd) == ("reducer_count", int(values.sum()))


def test_a_heap_that_is_large_enough_is_not_counted_for(init, capfd):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_sparse_threshold_bytes=COUNT * 8 * 100)
    x, y, g = field(np.linspace(0, 1, COUNT)), field(np.zeros(COUNT)), qd.field(qd.f32, COUNT)
    k = gated(x, y, g)
    plain = recurrence(x, y)
    reverse(k, [x], [y], 200)
    assert source(capfd) == ("reducer_zero_floored", 1)
    reverse(plain, [x], [y], 200)
    reverse(k, [x], [y], 200)
    assert source(capfd) == ("worst_case_num_threads", COUNT)
