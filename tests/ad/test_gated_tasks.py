"""Recurrences that only some iterations of a task reach, behind conditions of every shape: the gradient is exact, also
for rows that no iteration has used before.

Whether and how memory follows the condition is not looked at here: it must not matter to results.
"""

from __future__ import annotations

import numpy as np
import pytest
from oracle import field, reverse
from stack_kit import recur, slopes

import quadrants as qd

N, TRIPS = 256, 8
RNG = np.random.default_rng(11)
POINTS = RNG.uniform(0.2, 1.0, N)
I = np.arange(N)


@pytest.fixture(params=[False, True], ids=["release", "debug"])
def runtime(init, request):
    # A threshold of zero: memory follows a condition wherever it can.
    init(
        default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_sparse_threshold_bytes=0, debug=request.param
    )  # fmt: skip


def values(shape, dtype, numbers):
    made = qd.field(dtype, shape)
    made.from_numpy(np.asarray(numbers).reshape(shape).astype(made.to_numpy().dtype))
    return made


def expected(mask, points=POINTS, trips: int = TRIPS):
    """The gradient of `y[i] = recur(x[i], trips) if mask[i] else 2 * x[i]`."""
    return np.where(mask, slopes(points, trips), 2.0)


def agree(found, mask, trips: int = TRIPS):
    np.testing.assert_allclose(found, expected(mask, trips=trips), rtol=1e-10)


def passing(fraction: float) -> np.ndarray:
    mask = np.zeros(N, bool)
    mask[RNG.permutation(N)[: int(fraction * N)]] = True
    return mask


@pytest.mark.parametrize("fraction", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("source", ["field", "ndarray", "member"])
@pytest.mark.parametrize("declared", ["inside", "outside"])
def test_fractions_of_the_iterations(runtime, fraction, source, declared):
    mask = passing(fraction)
    x, y = field(POINTS), field(np.zeros(N))
    n = values((), qd.i32, TRIPS)
    gate = values(N, qd.f32, mask)
    array = qd.ndarray(qd.f32, N)
    array.from_numpy(mask.astype(np.float32))
    cell = qd.Struct.field({"other": qd.f64, "gate": qd.f32}, shape=N)
    cell.gate.from_numpy(mask.astype(np.float32))

    @qd.func
    def of_field(i, a: qd.template()):
        return gate[i]

    @qd.func
    def of_ndarray(i, a: qd.template()):
        return a[i]

    @qd.func
    def of_member(i, a: qd.template()):
        return cell[i].gate

    passes = {"field": of_field, "ndarray": of_ndarray, "member": of_member}[source]

    @qd.kernel
    def inside(a: qd.types.ndarray()):
        for i in x:
            if passes(i, a) > 0.5:
                y[i] = recur(x[i], n[None])
            else:
                y[i] = 2.0 * x[i]

    @qd.kernel
    def outside(a: qd.types.ndarray()):
        for i in x:
            v = x[i]
            if passes(i, a) > 0.5:
                for _ in range(n[None]):
                    v = qd.sin(v) + 0.1
            else:
                v = v * 2.0
            y[i] = v

    kernel = inside if declared == "inside" else outside
    for _ in range(2):
        agree(reverse(kernel, [x], [y], array)[0], mask)


def _conditions():
    """Name to (a func of the iteration over the data of a test, the same of NumPy): what a gate may look like."""
    K = 16

    def shapes(d):
        @qd.func
        def mirrored(i):
            return 0.5 < d.s[i]

        @qd.func
        def integer(i):
            return d.n[i] == 3

        @qd.func
        def unequal(i):
            return d.n[i] != 3

        @qd.func
        def wide(i):
            return d.w[i] >= 0.75

        @qd.func
        def modulo(i):
            return d.s[i % K] > 0.5

        @qd.func
        def halved(i):
            return d.s[i // 2] > 0.5

        @qd.func
        def same_for_all(i):
            return d.s[K // 2] > 0.5

        @qd.func
        def indirect(i):
            return d.s[d.g[i]] > 0.5

        @qd.func
        def two_axes(i):
            return d.t[i // K, i % K] > 0.5

        @qd.func
        def two_equal_axes(i):
            return d.t[i % K, i % K] > 0.5

        @qd.func
        def disguised(i):
            return d.t[i % K, i % K + 0 - 0] > 0.5

        @qd.func
        def folded(i):
            return d.t[i % 8, (i // 8) % 8] > 0.5

        @qd.func
        def extra_axis(i):
            return d.e[i, 0] > 0.5

        @qd.func
        def both(i):
            return d.s[i] > 0.5 and d.n[i] < 3

        @qd.func
        def either(i):
            return d.s[i] > 0.5 or d.n[i] < 1

        @qd.func
        def inverted(i):
            return not (d.s[i] > 0.5)

        @qd.func
        def bare(i):
            return d.n[i]

        @qd.func
        def threshold_of_a_field(i):
            return d.s[i] > d.w[0]

        @qd.func
        def arithmetic(i):
            return d.s[i] + 1.0 > 1.5

        @qd.func
        def of_the_index(i):
            return i % 3 == 0

        s, n, w, g, t, e = (a.to_numpy() for a in (d.s, d.n, d.w, d.g, d.t, d.e))
        at = {
            mirrored: s > 0.5, integer: n == 3, unequal: n != 3, wide: w >= 0.75, modulo: s[I % K] > 0.5,
            halved: s[I // 2] > 0.5, same_for_all: np.full(N, s[K // 2] > 0.5), indirect: s[g] > 0.5,
            two_axes: t.ravel() > 0.5, two_equal_axes: t[I % K, I % K] > 0.5, disguised: t[I % K, I % K] > 0.5,
            folded: t[I % 8, (I // 8) % 8] > 0.5, extra_axis: e[:, 0] > 0.5, both: (s > 0.5) & (n < 3),
            either: (s > 0.5) | (n < 1), inverted: ~(s > 0.5), bare: n != 0, threshold_of_a_field: s > w[0],
            arithmetic: s + 1.0 > 1.5, of_the_index: I % 3 == 0,
        }  # fmt: skip
        return {func.fn.__name__: (func, mask) for func, mask in at.items()}

    return shapes


NAMES = (
    "mirrored integer unequal wide modulo halved same_for_all indirect two_axes two_equal_axes disguised folded "
    "extra_axis both either inverted bare threshold_of_a_field arithmetic of_the_index"
).split()


class Data:
    def __init__(self):
        rng = np.random.default_rng(5)
        self.s = values(N, qd.f32, rng.uniform(0, 1, N))
        self.n = values(N, qd.i32, rng.integers(0, 5, N))
        self.w = values(N, qd.f64, rng.choice([0.25, 1.0], N))
        self.g = values(N, qd.i32, rng.integers(0, N, N))
        self.t = values((16, 16), qd.f32, rng.uniform(0, 1, N))
        self.e = values((N, 2), qd.f32, rng.uniform(0, 1, 2 * N))


@pytest.mark.parametrize("branch", ["then", "else"])
@pytest.mark.parametrize("name", NAMES)
def test_conditions_of_every_shape(runtime, name, branch):
    condition, mask = _conditions()(Data())[name]
    x, y = field(POINTS), field(np.zeros(N))
    n = values((), qd.i32, TRIPS)

    @qd.kernel
    def k():
        for i in x:
            if qd.static(branch == "then"):
                if condition(i):
                    y[i] = recur(x[i], n[None])
                else:
                    y[i] = 2.0 * x[i]
            else:
                if condition(i):
                    y[i] = 2.0 * x[i]
                else:
                    y[i] = recur(x[i], n[None])

    agree(reverse(k, [x], [y])[0], mask if branch == "then" else ~mask)


def test_the_names_are_those_of_the_conditions(init):
    init(default_fp=qd.f64)
    assert list(_conditions()(Data())) == NAMES


@pytest.mark.parametrize("loop", ["struct-for", "ndrange"])
def test_conditions_over_three_axes(runtime, loop):
    shape = (4, 8, 8)
    mask = passing(0.3).reshape(shape)
    x, y = field(POINTS.reshape(shape)), field(np.zeros(shape))
    gate, n = values(shape, qd.f32, mask), values((), qd.i32, TRIPS)

    @qd.kernel
    def k(where: qd.i32, a: qd.types.ndarray()):
        if qd.static(loop == "struct-for"):
            for i, j, m in x:
                if gate[i, j, m] > 0.5:
                    y[i, j, m] = recur(x[i, j, m], n[None])
                else:
                    y[i, j, m] = 2.0 * x[i, j, m]
        else:
            for i, j, m in qd.ndrange(4, 8, 8):
                if a[where, i, j, m] > 0.5:
                    y[i, j, m] = recur(x[i, j, m], n[None])
                else:
                    y[i, j, m] = 2.0 * x[i, j, m]

    a = qd.ndarray(qd.f32, (2, *shape))
    a.from_numpy(np.stack([~mask, mask]).astype(np.float32))
    agree(reverse(k, [x], [y], 1, a)[0].ravel(), mask.ravel())


@pytest.mark.parametrize("bound", ["constant", "field", "extent", "element", "two arguments"])
def test_bounds_behind_a_condition(runtime, bound):
    mask = passing(0.4)
    x, y = field(POINTS), field(np.zeros(N))
    gate, n = values(N, qd.f32, mask), values((), qd.i32, 5)
    a = qd.ndarray(qd.i32, 5)
    a.fill(5)

    @qd.kernel
    def k(a: qd.types.ndarray()):
        for i in x:
            if gate[i] > 0.5:
                v = x[i]
                if qd.static(bound == "constant"):
                    v = recur(v, 5)
                elif qd.static(bound == "field"):
                    v = recur(v, n[None])
                elif qd.static(bound == "extent"):
                    v = recur(v, a.shape[0])
                elif qd.static(bound == "element"):
                    v = recur(v, a[i % 5])
                else:
                    for _ in range(n[None] - 3, a[2] + 2):
                        v = qd.sin(v) + 0.1
                y[i] = v
            else:
                y[i] = 2.0 * x[i]

    agree(reverse(k, [x], [y], a)[0], mask, trips=5)


def test_cells_that_pass_are_the_last_of_many(init):
    """Past index 131072, the number of threads that devices give to such tasks at most."""
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_sparse_threshold_bytes=0)
    count, last = 131136, 40
    x, y = field(np.linspace(0.2, 1.0, count)), field(np.zeros(count))
    mask = np.arange(count) >= count - last
    gate, n = values(count, qd.f32, mask), values((), qd.i32, 3)

    @qd.kernel
    def k():
        for i in x:
            if gate[i] > 0.5:
                y[i] = recur(x[i], n[None])
            else:
                y[i] = 2.0 * x[i]

    found = reverse(k, [x], [y])[0]
    np.testing.assert_allclose(found, expected(mask, np.linspace(0.2, 1.0, count), 3), rtol=1e-10)
