"""Tasks and every form of `for` (language.md 13.1, 13.2)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from language_kit import raises, warns

import quadrants as qd


@pytest.mark.runtime(cpu_max_num_threads=7)
def test_tasks_share_top_level_variables(arch):
    """13.1: program order between tasks, shared variables, atomics on them, loops under a run-time if are serial."""
    f = qd.field(qd.i32, shape=1000)

    @qd.kernel
    def tasks(n: qd.i32, out: qd.types.ndarray(qd.f64, 1)):
        s = 0
        v = qd.Vector([0, 0])
        for i in range(n):
            f[i] = i
        for i in f:
            s += f[i]
            v += qd.Vector([1, i])
        out[0] = s
        out[1], out[2] = v[0], v[1]
        if s > 0:
            for i in range(3):
                s = s * 2 + i
        out[3] = s
        b = 0
        for i in range(n):
            b = 5
        wrong = 0
        for i in range(n):
            x = b
            wrong += x != 5
        out[4] = wrong
        while s > 100:
            s //= 2
        bits = 0
        for i in range(31):
            bits |= 1 << i
        odd = -1
        for i in range(n):
            odd ^= i
            odd &= -1
        out[5], out[6], out[7] = s, bits, odd

    out = qd.ndarray(qd.f64, shape=8)
    tasks(1000, out)
    total = 499500
    later = total
    for i in range(3):
        later = later * 2 + i
    small = later
    while small > 100:
        small //= 2
    odd = -1
    for i in range(1000):
        odd ^= i
    assert out.to_numpy().tolist() == [total, 1000, total, later, 0, small, 2**31 - 1, odd]


@pytest.mark.runtime(unrolling_limit=0)
def test_large_frames(arch):
    """13.1: many variables that cross tasks."""
    n = (
        200 if arch not in (qd.opencl, qd.vulkan) else 16
    )  # PoCL's time grows with the square: 46 s for 32; llvmpipe's too

    @qd.kernel
    def large() -> qd.i32:
        vs = [qd.Vector([0] * 20) for _ in qd.static(range(n // 4))]
        for i in range(4):
            for k in qd.static(range(n // 4)):
                vs[k] += 1
        s = 0
        for i in range(20):
            for k in qd.static(range(n // 4)):
                s += vs[k][i]
        return s

    assert large() == 4 * 20 * n // 4


EXTENTS = [(), (1,), (5,), (0,), (1, 1), (3, 7), (7, 1), (1, 13), (0, 5), (5, 0), (11, 13, 3), (2, 1, 3), (2, 3, 1, 5)]


@pytest.mark.runtime(cpu_max_num_threads=7)
def test_every_iteration_of_a_product_runs_once(arch):
    """13.2: ndrange and grouped ndrange of 1 to 4 axes, parallel, serialised and nested; prime, 1 and 0 extents."""
    count = qd.field(qd.i32, shape=(13, 13, 13, 13))

    @qd.kernel
    def mark(extents: qd.template(), mode: qd.template()):
        dims = qd.static(len(extents))
        if qd.static(mode == 0):
            for I in qd.grouped(qd.ndrange(*extents)):
                index = [I[k] if qd.static(k < dims) else 0 for k in qd.static(range(4))]
                count[index] += 1
        elif qd.static(mode == 1):
            qd.loop_config(serialize=True)
            for I in qd.grouped(qd.ndrange(*extents)):
                index = [I[k] if qd.static(k < dims) else 0 for k in qd.static(range(4))]
                count[index] += 1
        else:
            for _ in range(1):
                for I in qd.grouped(qd.ndrange(*extents)):
                    index = [I[k] if qd.static(k < dims) else 0 for k in qd.static(range(4))]
                    count[index] += 1

    for extents in EXTENTS[1:]:
        expected = np.zeros((13,) * 4, int)
        for index in itertools.product(*map(range, extents)):
            expected[index + (0,) * (4 - len(index))] = 1
        for mode in range(3):
            count.fill(0)
            mark(extents, mode)
            assert (count.to_numpy() == expected).all(), (extents, mode)


@pytest.mark.runtime(cpu_max_num_threads=7)
def test_chunks_of_run_time_products(arch):
    """13.2: bounds known at launch only, large enough for many chunks that end inside rows."""
    a = qd.ndarray(qd.i32, shape=(3, 1009, 101))

    @qd.kernel
    def mark(x: qd.types.ndarray(qd.i32, 3), b0: qd.i32, e0: qd.i32, e1: qd.i32, b2: qd.i32, e2: qd.i32):
        for i, j, k in qd.ndrange((b0, e0), e1, (b2, e2)):
            x[i, j, k] += i * 1000003 + j * 1009 + k + 1

    for b0, e0, e1, b2, e2 in ((0, 3, 1009, 0, 101), (1, 3, 997, 5, 101), (2, 1, 5, 0, 5), (0, 3, 1009, 7, 8)):
        a.fill(0)
        mark(a, b0, e0, e1, b2, e2)
        i, j, k = np.indices((3, 1009, 101))
        inside = (i >= b0) & (i < e0) & (j < e1) & (k >= b2) & (k < e2)
        expected = np.where(inside, i * 1000003 + j * 1009 + k + 1, 0)
        assert (a.to_numpy() == expected).all(), (b0, e0, e1, b2, e2)


def test_range_forms(arch):
    """13.2: range(n), range(a, b), empty ranges, run-time and negative bounds, top level and nested."""

    @qd.kernel
    def ranges(a: qd.i32, b: qd.i32, out: qd.types.ndarray(qd.i32, 1)):
        for i in range(a, b):
            out[0] += i
        for i in range(b, a):
            out[1] += 1
        for i in range(-3, 0):
            out[2] += i
        for i in range(-5):
            out[3] += 1
        for _ in range(1):
            s = 0
            for i in range(a, b):
                for j in range(i):
                    s += j
            for i in range(b, a):
                s += 1000
            for i in range(True):
                s += 10000
            out[4] = s
        for i in range(a) if qd.static(False) else range(b):
            out[5] += 1

    out = qd.ndarray(qd.i32, shape=6)
    ranges(2, 6, out)
    assert out.to_numpy().tolist() == [14, 0, -6, 0, sum(j for i in range(2, 6) for j in range(i)) + 10000, 6]


def test_ndrange_axes(arch):
    """13.2: `axes` changes the order of visits only; Python scope gives the same."""
    order = qd.field(qd.i32, shape=(2, 3, 4))
    counter = qd.field(qd.i32, shape=())

    @qd.kernel
    def visit(axes: qd.template()):
        counter[None] = 0
        qd.loop_config(serialize=True)
        for i, j, k in qd.ndrange(2, 3, (0, 4), axes=axes):
            order[i, j, k] = counter[None]
            counter[None] += 1

    for axes in itertools.permutations(range(3)):
        order.fill(-1)
        visit(axes)
        expected = np.arange(24).reshape([(2, 3, 4)[a] for a in axes]).transpose(np.argsort(axes))
        assert (order.to_numpy() == expected).all(), axes
    assert list(qd.ndrange(2, 3, axes=(1, 0))) == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]


@pytest.mark.runtime(cpu_max_num_threads=7)
def test_struct_for_over_layouts(arch):
    """13.2: canonical indices whatever the memory order, offset and number of levels; 0-d; grouped; struct fields."""
    plain = qd.field(qd.i32, shape=(5, 7))
    permuted = qd.field(qd.i32, shape=(5, 7), order="ji")
    shifted = qd.field(qd.i32, shape=(5, 7), offset=(-2, 10))
    scalar = qd.field(qd.i32, shape=())
    nested = qd.field(qd.i32)
    qd.root.dense(qd.ij, (2, 4)).dense(qd.ij, (3, 2)).place(nested)
    vectors = qd.Vector.field(2, qd.i32, shape=(3, 4))
    structs = qd.Struct.field({"a": qd.i32, "b": qd.f32}, shape=(3, 4))
    array = qd.ndarray(qd.i32, shape=(3, 4))

    @qd.kernel
    def visit(x: qd.types.ndarray()):
        for i, j in plain:
            plain[i, j] += 1 + i * 100 + j
        for i, j in permuted:
            permuted[i, j] += 1 + i * 100 + j
        for I in qd.grouped(permuted):
            permuted[I] += 1000
        for i, j in shifted:
            shifted[i, j] += 1 + i * 100 + j
        for i, j in nested:
            nested[i, j] += 1 + i * 100 + j
        for I in qd.grouped(scalar):
            scalar[I] += 3
        for i, j in vectors:
            vectors[i, j] += qd.Vector([i, j])
        for i, j in structs:
            structs[i, j].a += i * 10 + j
        for i, j in x:
            x[i, j] += i * 10 + j
        for I in qd.grouped(x):
            x[I] += 100
        for _ in range(1):
            for i, j in x:
                x[i, j] += 1000

    visit(array)

    def grid(n, m, i0=0, j0=0):
        return np.array([[1 + (i + i0) * 100 + j + j0 for j in range(m)] for i in range(n)])

    assert (plain.to_numpy() == grid(5, 7)).all()
    assert (permuted.to_numpy() == grid(5, 7) + 1000).all()
    assert (shifted.to_numpy() == grid(5, 7, -2, 10)).all()
    assert (nested.to_numpy() == grid(6, 8)).all()
    assert scalar[None] == 3
    assert vectors.to_numpy()[2, 3].tolist() == [2, 3]
    assert (structs.a.to_numpy() == [[i * 10 + j for j in range(4)] for i in range(3)]).all()
    assert (array.to_numpy() == [[i * 10 + j + 1100 for j in range(4)] for i in range(3)]).all()


def test_loop_targets(arch):
    """13.2, 9: ndrange and static targets are copies and may shadow; none survives the loop."""

    @qd.kernel
    def targets() -> qd.i32:
        s = 0
        for _ in range(1):
            i = 100
            for i, j in qd.ndrange(2, 2):
                i += 10
                s += i * j
            for j in qd.static(range(2)):
                s += j * 1000
            s += i
        return s

    assert targets() == (10 + 11) + 1000 + 100


def test_loop_errors(arch):
    """13.2: wrong headers by class and text."""
    f = qd.field(qd.i32, shape=(2, 2))

    @qd.kernel
    def three():
        for i in range(0, 4, 2):
            pass

    @qd.kernel
    def redeclared():
        i = 0  # noqa: F841
        for i in range(3):
            pass

    @qd.kernel
    def assigned():
        for i in range(3):
            i = 5  # noqa: PLW2901

    @qd.kernel
    def orelse():
        for i in range(3):
            pass
        else:
            pass

    @qd.kernel
    def triple():
        for i in qd.ndrange((1, 2, 3)):
            pass

    @qd.kernel
    def real_bound():
        for i in qd.ndrange(2.5):
            pass

    @qd.kernel
    def count():
        for i, j in qd.ndrange(2, 2, 2):
            pass

    @qd.kernel
    def axes_count():
        for i, j in qd.ndrange(2, 2, axes=(0,)):
            pass

    @qd.kernel
    def axes_values():
        for i, j in qd.ndrange(2, 2, axes=(0, 0)):
            pass

    @qd.kernel
    def axes_types():
        for i, j in qd.ndrange(2, 2, axes=(True, 0)):
            pass

    @qd.kernel
    def nested_field():
        for _ in range(2):
            for i, j in f:
                pass

    @qd.kernel
    def field_targets():
        for i in f:
            pass

    @qd.kernel
    def over_number():
        for i in 5:
            pass

    @qd.kernel
    def static_grouped_field():
        for i in qd.static(qd.grouped(f)):
            pass

    @qd.kernel
    def nested_static():
        for i in qd.static(qd.static(range(2))):
            pass

    @qd.kernel
    def static_in_grouped():
        for i in qd.grouped(qd.static(range(2))):
            pass

    @qd.kernel
    def nested_grouped():
        for i in qd.grouped(qd.grouped(f)):
            pass

    syntax, types = qd.QuadrantsSyntaxError, qd.QuadrantsTypeError
    for kernel, kind, fragment in (
        (three, syntax, "Range should have 1 or 2 arguments, found 3"),
        (redeclared, syntax, "is already declared in the outer scope"),
        (assigned, syntax, ""),
        (orelse, syntax, "'else' clause for"),
        (triple, syntax, "should be a scalar or a tuple/list like"),
        (real_bound, types, "should be an integer scalar"),
        (count, syntax, "not equal to the dimension of the ndrange"),
        (axes_count, syntax, "they must match"),
        (axes_values, syntax, "is not a permutation of"),
        (axes_types, types, "entries must be Python ints"),
        (nested_field, qd.QuadrantsRuntimeError, "cannot be nested inside a kernel"),
        (field_targets, qd.QuadrantsCompilationError, "Number of struct-for indices does not match"),
        (over_number, qd.QuadrantsCompilationError, "Cannot loop over the object"),
        (static_grouped_field, syntax, ""),
        (nested_static, syntax, ""),
        (static_in_grouped, syntax, ""),
        (nested_grouped, syntax, ""),
    ):
        with raises(kind, fragment):
            kernel()


def test_wide_bounds_are_cast_with_a_warning(arch):
    @qd.kernel
    def wide(n: qd.i64) -> qd.i32:
        s = 0
        for i in range(n):
            s += i
        return s

    with warns(UserWarning, "Casting range_for boundary values") as said:
        assert wide(5) == 10
    assert said[0].filename == __file__


def test_bounds_from_a_numpy_array(arch):
    """`*` expands arrays with one axis, too."""

    @qd.data_oriented
    class Grid:
        def __init__(self):
            self.shape = np.array([2, 3], dtype=np.int32)
            self.cells = qd.field(qd.i32, self.shape)

        @qd.kernel
        def count(self):
            for i, j, _ in qd.ndrange(*self.shape, 2):
                self.cells[i, j] += 1

    grid = Grid()
    grid.count()
    np.testing.assert_array_equal(grid.cells.to_numpy(), np.full((2, 3), 2))


def test_numbers_in_arrays_without_axes(arch):
    """A captured NumPy array of one number is that number: in bounds, indices and vectors; a real one is truncated."""
    begin, end, real, far = np.array(1), np.array(4, np.uint8), np.array(2.75), np.array(2**40)
    x = qd.field(qd.i32, shape=6)

    @qd.kernel
    def fill() -> qd.types.vector(3, qd.f32):
        for i in range(begin, end):
            x[i] = 7
        x[end] = qd.Vector([begin, end])[begin]
        for _ in range(end):
            x[5] += 1
        v = qd.Vector([begin, real, end])
        for i, j in qd.ndrange((begin, end), end):
            v[0] += 1
        return v

    assert fill().to_list() == [13, 2.75, 4]
    assert x.to_numpy().tolist() == [0, 7, 7, 7, 4, 4]

    @qd.kernel
    def truncated() -> qd.i32:
        n = 0
        for _ in range(real):
            n += 1
        return n

    with warns(UserWarning, "Casting range_for boundary values from f32 to i32"):
        assert truncated() == 2

    @qd.kernel
    def too_far():
        for _ in range(far):
            pass

    with raises(qd.QuadrantsTypeError, "exceeded the range of a loop bound"):
        too_far()


def test_run_time_ranges_whose_ends_are_far_apart(arch):
    """The distance of two i32 has 33 bits: an end far below the begin is an empty range, not a very long one."""
    count = qd.field(qd.i32, shape=())

    @qd.kernel
    def along(lo: qd.i32, hi: qd.i32):
        for i in range(lo, hi):
            count[None] += 1

    @qd.kernel
    def over(lo: qd.i32, hi: qd.i32):
        for i, j in qd.ndrange((lo, hi), 2):
            count[None] += 1

    for lo, hi in ((5, -2147483648), (2147483647, -2147483648)):
        along(lo, hi)
        over(lo, hi)
    assert count[None] == 0
    along(-3, 4)
    over(-3, 4)
    assert count[None] == 21


@pytest.mark.slow
@pytest.mark.cpu_only
def test_ranges_of_more_than_31_bits(init):
    init()
    count = qd.field(qd.i32, shape=())

    @qd.kernel
    def along(lo: qd.i32, hi: qd.i32):
        for i in range(lo, hi):
            count[None] += 1

    along(-1500000000, 1500000000)
    assert count[None] == 3000000000 - (1 << 32)
