"""Depths of stacks that come from arrays: looked for once, and again whenever what they come from may have changed."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from oracle import field

import quadrants as qd

POINTS = [0.3, -0.7, 1.3, 0.9]


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


@pytest.fixture
def on_device(arch_name):
    return arch_name != "cpu"


def ints(values, dtype=qd.i32):
    made = qd.field(dtype, np.shape(values))
    made.from_numpy(np.array(values, dtype=np.int64))
    return made


def array(values, dtype=qd.i32):
    made = qd.ndarray(dtype, np.shape(values))
    made.from_numpy(np.array(values, dtype=np.int64))
    return made


def dispatches() -> int:
    return qd.lang.impl.get_runtime().prog._get_max_reducer_dispatch_count()


def slope(x: float, trips: int) -> float:
    """d/dx of sin applied `trips` times."""
    d = 1.0
    for _ in range(trips):
        d *= math.cos(x)
        x = math.sin(x)
    return d


class Case:
    """A kernel whose loops have the lengths that `trips(k)` says, and how often its depths were looked for."""

    def __init__(self, kernel, x, y, args, trips):
        self.kernel, self.x, self.y, self.args, self.trips = kernel, x, y, args, trips
        self.kept = None

    def launch(self):
        self.x.grad.fill(0)
        self.y.grad.fill(1)
        self.kernel.grad(*self.args)

    def looks(self) -> int:
        """Launches, one, that had to look for depths; the gradient is checked."""
        before = self.misses()
        self.launch()
        got = self.x.grad.to_numpy()
        want = [slope(p, self.trips(k)) for k, p in enumerate(POINTS)]
        assert np.allclose(got, want, rtol=1e-12), (got, want)
        return self.misses() - before

    def misses(self) -> int:
        return sum(plan.kept.misses for plan in self.kernel.grad._plans)

    def hits(self) -> int:
        return sum(plan.kept.hits for plan in self.kernel.grad._plans)


def of_field(n):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(n[i]):
                v = qd.sin(v)
            y[i] = v

    return Case(k, x, y, (), lambda i: n[i])


def of_array(n):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k(a: qd.types.ndarray(ndim=1)):
        for i in x:
            v = x[i]
            for _ in range(a[i]):
                v = qd.sin(v)
            y[i] = v

    return Case(k, x, y, (n,), lambda i: n[i])


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


@pytest.mark.runtime(exclude=("cuda", "amdgpu"))
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


def test_iterations_that_an_array_decides_are_kept_with_the_depths():
    x, y = field(np.linspace(0.1, 0.9, 64)), field(np.zeros(64))
    count = ints([3, 5])

    @qd.kernel
    def k():
        for i in range(count[0]):
            v = x[i]
            for _ in range(count[1]):
                v = qd.sin(v)
            y[i] = v

    def gradient():
        x.grad.fill(0)
        y.grad.fill(1)
        k.grad()
        return x.grad.to_numpy()

    points = x.to_numpy()
    for rows, trips in ((3, 5), (3, 5), (40, 5), (64, 9), (64, 9), (1, 2), (0, 2), (64, 2)):
        count[0] = rows
        count[1] = trips
        for _ in range(2):
            want = [slope(p, trips) if i < rows else 0.0 for i, p in enumerate(points)]
            assert np.allclose(gradient(), want, rtol=1e-12)


def test_without_write_sets_a_longer_loop_fails(monkeypatch):
    # As above, for what kernels write.
    from quadrants.passes import pipeline

    n = ints([1, 2, 3, 4])
    case = of_field(n)
    assert case.looks() == 1

    def deaf(module):
        return module

    monkeypatch.setattr(pipeline, "PASSES", tuple(deaf if p.__name__ == "note_writes" else p for p in pipeline.PASSES))

    @qd.kernel
    def longer():
        for i in n:
            n[i] = 60

    longer()
    with pytest.raises(qd.QuadrantsAssertionError, match="[Aa]dstack overflow"):
        case.launch()
        qd.sync()
    assert case.looks() == 1


def test_bounds_in_members_and_views():
    x, y = field(POINTS), field(np.zeros(4))

    @qd.data_oriented
    class Holder:
        def __init__(self):
            self.n = array([1, 2, 3, 4])

        @qd.kernel
        def k(self):
            for i in x:
                v = x[i]
                for _ in range(self.n[i]):
                    v = qd.sin(v)
                y[i] = v

    holder = Holder()
    case = Case(holder.k, x, y, (), lambda i: holder.n[i])
    assert [case.looks(), case.looks()] == [1, 0]
    holder.n[2] = 50
    assert [case.looks(), case.looks()] == [1, 0]
    holder.n = array([9, 9, 9, 70])
    assert [case.looks(), case.looks()] == [1, 0]

    @qd.kernel
    def of_view(w: qd.BufferView[qd.i32]):
        for i in x:
            v = x[i]
            for _ in range(w[i]):
                v = qd.sin(v)
            y[i] = v

    whole = array(np.arange(10))
    case = Case(of_view, x, y, (whole[2:6],), lambda i: whole[2 + i])
    assert [case.looks(), case.looks()] == [1, 0]
    case.args, case.trips = (whole[6:10],), lambda i: whole[6 + i]
    case.looks()
    assert case.looks() == 0
    whole[8] = 40
    assert [case.looks(), case.looks()] == [1, 0]


def test_launches_that_know_their_depths_allocate_nothing():
    case = of_array(array([1, 2, 3, 4]))
    assert case.looks() == 1
    kernel, args = case.kernel.grad, case.args
    kernel(*args)
    before = sys.getallocatedblocks()
    for _ in range(2000):
        kernel(*args)
    assert sys.getallocatedblocks() - before < 20
    assert case.hits() == 2001


PROGRAM = """
import sys
import numpy as np
import quadrants as qd

@qd.kernel(fastcache=True)
def kept(x: qd.types.ndarray(qd.f64, 1), y: qd.types.ndarray(qd.f64, 1), n: qd.types.ndarray(qd.i32, 1)):
    for i in range(x.shape[0]):
        v = x[i]
        for _ in range(n[i]):
            v = qd.sin(v)
        y[i] = v

qd.init(arch=getattr(qd, sys.argv[1]), ad_stack_experimental_enabled=True)
x, y = (qd.ndarray(qd.f64, (4,), needs_grad=True) for _ in range(2))
n = qd.ndarray(qd.i32, (4,))
x.fill(1.0)
for trips in (3, 3, 20, 20, 20, 2):
    if n[0] != trips:
        n.fill(trips)
    x.grad.fill(0)
    y.grad.fill(1)
    kept.grad(x, y, n)
    v, slope = 1.0, 1.0
    for _ in range(trips):
        v, slope = np.sin(v), slope * np.cos(v)
    assert np.allclose(x.grad.to_numpy(), slope), trips
(plan,) = kept.grad._plans
print("found", plan.kept.hits, plan.kept.misses)
"""


def test_kernels_from_the_disk_keep_them_too(arch_environment, arch_name, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    said = []
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, str(path), arch_name], capture_output=True, text=True, timeout=120,
            env={**arch_environment, "QD_OFFLINE_CACHE_FILE_PATH": str(tmp_path / "cache")},
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        said += [line for line in run.stdout.splitlines() if line.startswith("found")]
    assert said == ["found 3 3"] * 2
