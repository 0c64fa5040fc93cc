"""language.md 6: template arguments and what triggers a compilation."""

import dataclasses
import enum
import threading
from typing import Final, NamedTuple

import numpy as np
import pytest
from language_kit import alive, array, raises, specialisations

import quadrants as qd
from quadrants.lang.exception import QuadrantsRuntimeTypeError
from quadrants.toolchain import build


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass(frozen=True)
class Rate:
    x: Final[float]


class Size(NamedTuple):
    n: int
    m: int


class Cfg:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return isinstance(other, Cfg) and other.n == self.n

    def __hash__(self):
        return hash(self.n)


@qd.func
def one_of(x):
    return x + 1


@qd.func
def two_of(x):
    return x + 2


def test_accepted(arch):
    @qd.kernel
    def number(x: qd.template()) -> qd.f32:
        return x

    @qd.kernel
    def text(x: qd.template()) -> qd.i32:
        return qd.static(len(x))

    @qd.kernel
    def nothing(x: qd.template()) -> qd.i32:
        return 1 if qd.static(x == None) else 0  # noqa: E711

    @qd.kernel
    def colour(x: qd.template()) -> qd.i32:
        return 1 if qd.static(x == Colour.RED) else 2

    @qd.kernel
    def dtype(x: qd.template()) -> qd.f32:
        return qd.cast(2.7, x)

    @qd.kernel
    def function(x: qd.template()) -> qd.i32:
        return x(4)

    @qd.kernel
    def size(x: qd.template()) -> qd.i32:
        return x.n * 10 + x[1]

    @qd.kernel
    def matrix(x: qd.template()) -> qd.f32:
        return x[1]

    @qd.kernel
    def config(x: qd.template()) -> qd.i32:
        return x.n

    assert [number(3), number(2.5), number(True)] == [3, 2.5, 1]
    assert [text("abc"), nothing(None), nothing(3), colour(Colour.RED), colour(Colour.BLUE)] == [3, 1, 0, 1, 2]
    assert [dtype(qd.i32), dtype(qd.f64)] == [2, pytest.approx(2.7)]
    assert [function(one_of), function(two_of)] == [5, 6]
    assert [size(Size(3, 4)), size(Size(3, 4)), size(Size(5, 4))] == [34, 34, 54]
    assert specialisations(size) == 2
    assert [matrix(qd.Vector([1, 2])), matrix(qd.Vector([1, 3]))] == [2, 3]
    assert [config(Cfg(3)), config(Cfg(3)), config(Cfg(4))] == [3, 3, 4]
    assert specialisations(config) == 2


def test_snodes(arch):
    x = qd.field(qd.i32)
    node = qd.root.dense(qd.i, 5)
    node.place(x)

    @qd.kernel
    def fill(s: qd.template(), f: qd.template()):
        for i in s:
            f[i] = i

    fill(node, x)
    assert list(x.to_numpy()) == [0, 1, 2, 3, 4]


def test_rejected(arch):
    @qd.kernel
    def run(x: qd.template()): ...

    with raises(QuadrantsRuntimeTypeError, "Ndarray shouldn't be passed in via"):
        run(qd.ndarray(qd.i32, shape=(2,)))
    for value in ([1], {1: 2}, {1}, np.zeros(2)):
        with raises(TypeError):
            run(value)
    run(3)
    alive()


def test_values_select_nothing(arch):
    S = qd.types.struct(a=qd.i32)

    @qd.kernel
    def run(i: qd.i32, x: float, v: qd.math.vec2, m: qd.types.matrix(2, 2, qd.f32), s: S) -> qd.f32:
        return i + x + v[0] + m[1, 1] + s.a

    for k in range(3):
        assert run(k, 0.5, [k, 0], np.full((2, 2), k), S(k)) == 4 * k + 0.5
    assert specialisations(run) == 1


def test_arrays(arch):
    @qd.kernel
    def run(a: qd.types.ndarray()) -> qd.i32:
        return a.shape[0]

    def fresh(dtype, shape, **options):
        return qd.ndarray(dtype, shape=shape, **options)

    expected = 0
    for arrays in (
        (fresh(qd.f32, 3), fresh(qd.f32, 4), fresh(qd.f32, (3,))),
        (fresh(qd.i32, 3),),
        (fresh(qd.f32, (3, 3)), fresh(qd.f32, (3, 5))),
        (fresh(qd.f32, 3, needs_grad=True),),
        (fresh(qd.math.vec3, 3),),
    ):
        expected += 1
        for a in arrays:
            assert run(a) == a.shape[0]
            assert specialisations(run) == expected


def test_tensors_on_the_field_path(arch):
    @qd.kernel
    def run(a: qd.Tensor) -> qd.i32:
        return a[0]

    f, g = (qd.field(qd.i32, shape=2) for _ in range(2))
    f[0], g[0] = 3, 4
    assert [run(f), run(g), run(f), run(array(qd.i32, [5]))] == [3, 4, 3, 5]
    assert specialisations(run) == 3


def test_objects_by_identity(arch):
    class Box:
        def __init__(self, n):
            self.n = n

    @qd.kernel
    def run(x: qd.template()) -> qd.i32:
        return x.n

    a, b = Box(1), Box(1)
    assert [run(a), run(b), run(a)] == [1, 1, 1]
    assert specialisations(run) == 2
    for k in range(20):  # addresses of dead objects are used again
        assert run(Box(k)) == k


@pytest.mark.runtime(raise_on_templated_floats=True)
def test_templated_floats_can_be_refused(arch):
    factor = 0.5

    @qd.kernel
    def template(x: qd.template()) -> qd.f32:
        return x

    @qd.kernel
    def captured() -> qd.f32:
        return factor

    @qd.kernel
    def final(r: Rate) -> qd.f32:
        return r.x

    assert template(3) == 3
    with raises(ValueError, "Floats not allowed as templated types"):
        template(0.5)
    with raises(qd.QuadrantsCompilationError, "Floats not allowed as templated types"):
        captured()
    with raises(ValueError, "Floats not allowed as templated types"):
        final(Rate(0.5))
    alive()


def test_threads_compile_once(arch):
    @qd.kernel
    def run(x: qd.i32) -> qd.i32:
        return x + 1

    results, gate = [], threading.Barrier(6)
    compiled = build.statistics.compiled

    def work(k):
        gate.wait()
        results.append(run(k) - k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [1] * 6
    # Each thread may trace; the system compiler runs once.
    assert build.statistics.compiled == compiled + 1


def test_values_that_may_change_are_asked_for_at_each_launch(arch):
    @qd.kernel
    def config(x: qd.template()) -> qd.i32:
        return x.n

    mutable = Cfg(3)
    first = config(mutable)
    mutable.n = 5
    assert [first, config(mutable), config(Cfg(5))] == [3, 5, 5]
    assert specialisations(config) == 2


def test_a_class_that_watches_assignments_guards_nothing(arch):
    class Watched(Cfg):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)

        __eq__ = Cfg.__eq__
        __hash__ = Cfg.__hash__

    @qd.kernel
    def config(x: qd.template()) -> qd.i32:
        return x.n

    watched = Watched(3)
    first = config(watched)
    watched.n = 5
    assert [first, config(watched)] == [3, 5]


def test_values_that_their_class_guards_are_asked_for_once(arch):
    """A launch costs the same whether the hash of its template argument is dear or not."""
    asked = []

    @qd.data_oriented
    class Frozen(Cfg):
        def __setattr__(self, name, value):
            if hasattr(self, "n"):
                raise AttributeError("frozen")
            super().__setattr__(name, value)

        def __hash__(self):
            asked.append(self.n)
            return hash(self.n)

        __eq__ = Cfg.__eq__

    @qd.kernel
    def config(x: qd.template()) -> qd.i32:
        return x.n

    three, other = Frozen(3), Frozen(4)
    assert config(three) == 3
    asked.clear()
    assert [config(three), config(three)] == [3, 3]
    assert asked == []
    assert [config(other), config(three), config(Frozen(4))] == [4, 3, 4]
    assert specialisations(config) == 2


@dataclasses.dataclass(frozen=True)
class Amount:
    x: float


@dataclasses.dataclass(frozen=True)
class Order:
    amount: Amount


class Compared:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x

    def __hash__(self):
        return hash(self.x)


@qd.func
def plus_half(x: qd.template()):
    y = x
    y += 0.5
    return y


@qd.func
def inverse(x: qd.template(), one):
    return one / x


@qd.kernel
def of_number(a: qd.template(), one: qd.f64) -> qd.types.vector(2, qd.f64):
    return qd.Vector([plus_half(a), inverse(a, one)])


@qd.kernel
def of_first(a: qd.template(), one: qd.f64) -> qd.types.vector(2, qd.f64):
    return qd.Vector([plus_half(a[0]), inverse(a[0], one)])


@qd.kernel
def of_member(a: qd.template(), one: qd.f64) -> qd.types.vector(2, qd.f64):
    return qd.Vector([plus_half(a.x), inverse(a.x, one)])


@qd.kernel
def of_nested(a: qd.template(), one: qd.f64) -> qd.types.vector(2, qd.f64):
    return qd.Vector([plus_half(a.amount.x), inverse(a.amount.x, one)])


HOLDERS = pytest.mark.parametrize(
    "make, run",
    [
        (lambda x: x, of_number),
        (lambda x: (x,), of_first),
        (Amount, of_member),
        (lambda x: Order(Amount(x)), of_nested),
        (Compared, of_member),
    ],
    ids=["number", "tuple", "dataclass", "nested", "class"],
)


@HOLDERS
@pytest.mark.filterwarnings("ignore:A dataclass is passed")
def test_equal_constants_of_other_kinds_are_other_kernels(init, make, run):
    """2 and 2.0 are equal in Python, and so is all that holds them."""
    init(default_fp=qd.f64)
    for _ in range(2):
        assert run(make(2), 1.0).to_list() == [2, 0.5]
        assert run(make(2.0), 1.0).to_list() == [2.5, 0.5]
    assert specialisations(run) == 2


@HOLDERS
@pytest.mark.filterwarnings("ignore:A dataclass is passed")
def test_minus_zero_is_a_constant_of_its_own(init, make, run):
    init(default_fp=qd.f64, fast_math=False)
    for _ in range(2):
        assert run(make(0.0), 1.0).to_list() == [0.5, np.inf]
        assert run(make(-0.0), 1.0).to_list() == [0.5, -np.inf]
        assert run(make(np.float64(-0.0)), 1.0).to_list() == [0.5, -np.inf]


def test_minus_zero_in_one_kernel(init):
    """The functions that a kernel is split into have constants of their own, too."""
    init(default_fp=qd.f64, fast_math=False)

    @qd.func
    def inverse_of_first(x: qd.template(), one):
        return one / x[0]

    plus, minus = (0.0,), (-0.0,)
    out = qd.field(qd.f64, shape=6)

    @qd.kernel
    def run(one: qd.f64):
        for i in range(1):
            out[0], out[1] = inverse(0.0, one), inverse(-0.0, one)
            out[2], out[3] = inverse_of_first(plus, one), inverse_of_first(minus, one)
            out[4], out[5] = inverse_of_first((0,), one), inverse_of_first((0.0,), one)

    run(1.0)
    assert out.to_numpy().tolist() == [np.inf, -np.inf, np.inf, -np.inf, np.inf, np.inf]


def test_nan_is_one_constant(arch):
    @qd.kernel
    def step(a: qd.template(), b: qd.f32) -> qd.f32:
        return a + b

    for x in (float("nan"), float("nan"), np.nan, float("inf") - float("inf")):
        assert np.isnan(step(x, 1.0))
    assert specialisations(step) == 1


def written_and_equal(base):
    @qd.data_oriented
    class Written(base):
        @qd.kernel
        def inc(self):
            for i in self.a:
                self.a[i] += 1

        def __eq__(self, other):
            return type(other) is type(self)

        def __hash__(self):
            return 3

    return Written


class Open:
    def __init__(self):
        self.a = qd.field(qd.i32, shape=2)


class Guarded(Open):
    def __setattr__(self, name, value):
        if hasattr(self, "a"):
            raise AttributeError("frozen")
        super().__setattr__(name, value)


@qd.data_oriented
class Slotted:
    __slots__ = ("a",)

    def __init__(self):
        self.a = qd.field(qd.i32, shape=2)

    def __eq__(self, other):
        return isinstance(other, Slotted)

    def __hash__(self):
        return 3


@pytest.mark.parametrize("base", [Open, Guarded])
def test_equal_objects_write_their_own_fields(arch, base):
    cls = written_and_equal(base)
    first, second = cls(), cls()
    assert first == second
    first.inc()
    second.inc()
    second.inc()
    first.inc()
    assert first.a.to_numpy().tolist() == [2, 2]
    assert second.a.to_numpy().tolist() == [2, 2]
    second.inc()
    assert [first.a[0], second.a[0]] == [2, 3]


@pytest.mark.parametrize("cls", [written_and_equal(Open), written_and_equal(Guarded), Slotted])
def test_equal_template_arguments_give_their_own_fields(arch, cls):
    @qd.kernel
    def inc(x: qd.template()):
        x.a[1] += 1

    first, second = cls(), cls()
    for x in (first, second, second):
        inc(x)
    assert [first.a[1], second.a[1]] == [1, 2]
