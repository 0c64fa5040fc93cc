"""Depths of stacks that come from arrays: looked for once, and again whenever what they come from may have changed."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import field
from size_kit import POINTS, Case, array, ints, of_array, of_field

import quadrants as qd


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


def dispatches() -> int:
    return qd.lang.impl.get_runtime().prog._get_max_reducer_dispatch_count()


FORMS = [pytest.param(ints, of_field, id="field"), pytest.param(array, of_array, id="ndarray")]


@pytest.mark.parametrize("make, of", FORMS)
def test_nothing_is_looked_for_twice(make, of):
    case = of(make([1, 2, 3, 4]))
    assert case.looks() == 1
    for _ in range(5):
        assert case.looks() == 0
    assert case.hits() == 5


@pytest.mark.parametrize("make, of", FORMS)
@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda n, other: n.__setitem__(0, 40), id="element"),
        pytest.param(lambda n, other: n.fill(30), id="fill"),
        pytest.param(lambda n, other: n.from_numpy(np.full(4, 20, np.int32)), id="from_numpy"),
        pytest.param(lambda n, other: n.copy_from(other), id="copy"),
    ],
)
def test_what_python_writes_is_seen(make, of, write):
    n, other = make([1, 2, 3, 4]), make([50, 1, 1, 9])
    case = of(n)
    assert case.looks() == 1
    assert case.looks() == 0
    write(n, other)
    assert case.looks() == 1
    assert case.looks() == 0


@pytest.mark.parametrize("make, of", FORMS)
def test_what_kernels_write_is_seen(make, of):
    n = make([1, 2, 3, 4])
    case = of(n)

    @qd.kernel
    def raise_field():
        for i in n:
            n[i] += 30

    @qd.kernel
    def raise_array(a: qd.types.ndarray(ndim=1)):
        for i in range(4):
            a[i] += 30

    assert case.looks() == 1
    assert case.looks() == 0
    for _ in range(3):
        if of is of_field:
            raise_field()
        else:
            raise_array(n)
        assert case.looks() == 1
        assert case.looks() == 0


def test_counters_that_all_iterations_of_a_loop_add_to_are_seen():
    x, y, n = field(POINTS), field(np.zeros(4)), ints(3)

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(n[None]):
                v = qd.sin(v)
            y[i] = v

    @qd.kernel
    def count(more: qd.i32):
        for _ in range(more):
            n[None] += 1

    @qd.kernel
    def largest(numbers: qd.i32):
        for i in range(numbers):
            qd.atomic_max(n[None], i)

    case = Case(k, x, y, (), lambda i: n[None])
    assert [case.looks(), case.looks()] == [1, 0]
    for write in (count, count, largest):
        write(60 if write is count else 200)
        assert [case.looks(), case.looks()] == [1, 0]


def test_writes_to_other_data_change_nothing():
    n, other, a = ints([1, 2, 3, 4]), ints([1, 1, 1, 1]), array([1, 2, 3, 4])
    case = of_field(n)

    @qd.kernel
    def forward(b: qd.types.ndarray(ndim=1)):
        for i in other:
            other[i] += n[i]
            b[i] += 1

    assert case.looks() == 1
    forward(a)
    other.fill(3)
    a.fill(2)
    case.x.fill(0.1)
    case.x.from_numpy(np.array(POINTS))
    case.kernel()
    assert case.looks() == 0


@pytest.mark.parametrize("make, of", FORMS)
def test_without_the_guard_a_longer_loop_fails(make, of, monkeypatch):
    # The depths are really taken from the launch before: where nobody hears of a write, the next launch overflows.
    n = make([1, 2, 3, 4])
    case = of(n)
    assert case.looks() == 1
    monkeypatch.setattr(type(n), "_written", lambda self: None)
    n.fill(60)
    with pytest.raises(qd.QuadrantsAssertionError, match="[Aa]dstack overflow"):
        case.launch()
        qd.sync()
    # The failure ends what was kept.
    assert case.looks() == 1
    assert case.looks() == 0


def test_arrays_take_turns():
    a, b = array([1, 2, 3, 4]), array([40, 1, 1, 1])
    case = of_array(a)
    used = [a]
    case.trips = lambda i: used[0][i]
    looks = []
    for n in (a, b, a, b, a):
        case.args, used[0] = (n,), n
        looks.append(case.looks())
    assert looks == [1, 1, 0, 0, 0]
    # One of the same size at what may be the same place is another one.
    for k in range(6):
        n = array([k, 50 + k, 3, 4])
        case.args, used[0] = (n,), n
        assert case.looks() == 1
        del n
        used[0] = case.args = None


def test_only_a_few_are_kept():
    arrays = [array([k, k, k, k]) for k in range(1, 7)]
    case = of_array(arrays[0])
    for n in arrays:
        case.args, case.trips = (n,), lambda i, n=n: n[i]
        case.looks()
    (plan,) = case.kernel.grad._plans
    assert len(plan.kept) == 4


def test_arrays_of_numpy_are_never_known():
    n = np.array([1, 2, 3, 4], np.int32)
    case = of_array(n)
    for _ in range(3):
        assert case.looks() == 1
    n[1] = 70
    assert case.looks() == 1


@pytest.mark.runtime(exclude=("cuda", "amdgpu", "metal", "vulkan", "opencl"))
def test_a_view_that_was_given_away_ends_it():
    n = ints([2, 2, 2, 2])
    case = of_field(n)
    assert case.looks() == 1
    assert case.looks() == 0
    view = n.to_numpy(copy=False)
    view[:] = 64
    assert case.looks() == 1
    view[:] = 3
    assert case.looks() == 1


def test_arguments_and_extents_count_by_value():
    x, y = field(POINTS), field(np.zeros(4))
    n = array(np.arange(1, 9))

    @qd.kernel
    def k(a: qd.types.ndarray(ndim=1), first: qd.i32, other: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(a[first]):
                v = qd.sin(v)
            y[i] = v * other

    case = Case(k, x, y, (n, 2, 1), lambda i: 3)
    assert case.looks() == 1
    case.args = (n, 7, 1)
    case.trips = lambda i: 8
    assert case.looks() == 1
    case.args = (n, 2, 1)
    case.trips = lambda i: 3
    assert case.looks() == 0

    @qd.kernel
    def of_extent(a: qd.types.ndarray(ndim=1)):
        for i in x:
            v = x[i]
            for j in range(a.shape[0]):
                for _ in range(a[j]):
                    v = qd.sin(v)
            y[i] = v

    def total(a):
        return lambda i: int(sum(a.to_numpy()))

    case = Case(of_extent, x, y, (n,), total(n))
    assert case.looks() == 1
    longer = array([1, 1, 1, 1, 1, 1, 1, 1, 30])
    case.args, case.trips = (longer,), total(longer)
    assert case.looks() == 1
    case.args, case.trips = (n,), total(n)
    assert case.looks() == 0


def test_a_kernel_that_writes_its_own_bounds():
    x, y, n = field(POINTS), field(np.zeros(4)), ints([1, 2, 3, 4])

    @qd.kernel
    def k(bound: qd.i32):
        for i in n:
            n[i] = bound
        for i in x:
            v = x[i]
            for _ in range(n[i]):
                v = qd.sin(v)
            y[i] = v

    # Derivatives leave stores of integers out or do them again; whichever it is, no launch goes by an earlier one.
    case = Case(k, x, y, (5,), lambda i: n[i])
    k(5)
    case.launch()
    for bound in (5, 40, 3):
        k(bound)
        case.args = (bound,)
        case.looks()


def test_two_kernels_share_an_array():
    n = array([1, 2, 3, 4])
    one, two = of_array(n), of_array(n)
    assert (one.looks(), two.looks()) == (1, 1)
    n[0] = 20
    assert (one.looks(), two.looks()) == (1, 1)
    assert (one.looks(), two.looks()) == (0, 0)


def test_specialisations_share_nothing():
    narrow, wide = array([1, 2, 3, 4]), array([1, 2, 3, 4], qd.i64)
    case = of_array(narrow)
    assert case.looks() == 1
    case.args, case.trips = (wide,), lambda i: wide[i]
    assert case.looks() == 1
    assert len(case.kernel.grad._plans) == 2
    narrow[0] = 9
    assert case.looks() == 0
    case.args, case.trips = (narrow,), lambda i: narrow[i]
    assert case.looks() == 1


def test_constant_lengths_are_not_looked_for():
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(7):
                v = qd.sin(v)
            y[i] = v

    qd.lang.impl.get_runtime().prog._reset_max_reducer_dispatch_count()
    x.grad.fill(0)
    y.grad.fill(1)
    k.grad()
    k.grad()
    assert all(plan.kept is None for plan in k.grad._plans)
    assert dispatches() == 0


def test_a_new_runtime_starts_with_nothing(init):
    case = of_field(ints([1, 2, 3, 4]))
    assert case.looks() == 1
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)
    assert dispatches() == 0
    case = of_field(ints([9, 2, 3, 4]))
    assert case.looks() == 1


def test_nothing_is_counted_while_nothing_is_kept():
    from quadrants._ext.core import dependants

    before = dependants()
    n = ints([1, 2, 3, 4])
    case = of_field(n)
    case.kernel()
    assert dependants() == before and not n._writes.watched
    case.looks()
    assert dependants() == before + 1 and n._writes.watched
