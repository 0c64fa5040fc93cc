"""language.md 4: dataclasses.dataclass arguments."""

import dataclasses
import warnings

import numpy as np
from language_kit import alive, array, raises, specialisations

import quadrants as qd
from quadrants.lang.exception import QuadrantsRuntimeTypeError

NDArray = qd.types.NDArray


@dataclasses.dataclass(frozen=True)
class Inner:
    cells: NDArray[qd.i32, 1]
    k: qd.i32


@dataclasses.dataclass(frozen=True)
class State:
    x: qd.Tensor
    inner: Inner
    scale: qd.f32
    mode: qd.template()
    offset: qd.types.vector(2, qd.f32)


@dataclasses.dataclass
class Loose:
    a: NDArray[qd.i32, 1]
    n: int
    unused: qd.Tensor


@qd.func
def add_inner(inner: Inner, by):
    for i in range(inner.cells.shape[0]):
        inner.cells[i] += by + inner.k


@qd.func
def add_state(by, s: State):
    add_inner(s.inner, by)
    s.x[0] += 1.0


@qd.kernel
def step(s: State, t: qd.i32) -> qd.f32:
    add_inner(s.inner, t)
    add_state(by=1, s=s)
    if t > 0:
        add_inner(inner=s.inner, by=100)
    r = s.scale * s.offset[1]
    if qd.static(s.mode == "twice"):
        r *= 2
    return r


def state(x=None, mode="once", scale=2.0, k=10):
    x = qd.field(qd.f32, shape=3) if x is None else x
    return State(x, Inner(array(qd.i32, [1, 2]), k), scale, mode, qd.Vector([3.0, 4.0]))


def test_nested_members(arch):
    s = state()
    assert step(s, 5) == 8
    assert [s.inner.cells[i] for i in range(2)] == [1 + 15 + 11 + 110, 2 + 15 + 11 + 110]
    assert s.x[0] == 1


def test_what_a_member_adds_to_the_key(arch):
    x = qd.ndarray(qd.f32, shape=3)
    assert step(state(x), 0) == 8
    assert step(state(x, scale=5.0, k=1), 0) == 20
    assert step(state(qd.ndarray(qd.f32, shape=7)), 0) == 8
    assert specialisations(step) == 1
    assert step(state(x, mode="twice"), 0) == 16
    assert specialisations(step) == 2
    step(state(), 0)
    assert specialisations(step) == 3


def test_mutable_instances_are_read_again(arch):
    @qd.kernel
    def run(s: Loose) -> qd.i32:
        return s.a[0] + s.n

    s = Loose(array(qd.i32, [1]), 10, None)
    assert run(s) == 11
    s.n, s.a = 20, array(qd.i32, [2, 3])
    assert run(s) == 22 and specialisations(run) == 1
    s.a = qd.ndarray(qd.i32, shape=(2,))
    assert run(s) == 20 and specialisations(run) == 1


def test_bindings_are_read_only(arch):
    @qd.kernel
    def scalar(s: Loose):
        s.n = 1

    @qd.kernel
    def augmented(s: Loose):
        s.n += 1

    @qd.kernel
    def rebinding(s: Loose):
        s.a = 3

    @qd.kernel
    def alias(s: State):
        t = s.inner

    @qd.kernel
    def static(s: Loose) -> qd.i32:
        r = 0
        if qd.static(s.n > 0):
            r = 1
        return r

    loose = Loose(array(qd.i32, [1]), 10, None)
    for k in (scalar, augmented, rebinding):
        with raises(qd.QuadrantsSyntaxError, "is immutable in the kernel"):
            k(loose)
    with raises(qd.QuadrantsTypeError):
        alias(state())
    with raises(qd.QuadrantsCompilationError):
        static(loose)
    alive()


@dataclasses.dataclass
class Base:
    n: qd.i32

    def method(self):
        return 3

    @property
    def twice(self):
        return 2 * self.n


@dataclasses.dataclass
class Derived(Base):
    m: qd.i32 = 7


def test_subclasses_and_unknown_attributes(arch):
    @qd.kernel
    def run(b: Base) -> qd.i32:
        return b.n

    @qd.kernel
    def beyond(b: Base) -> qd.i32:
        return b.m

    @qd.kernel
    def prop(b: Base) -> qd.i32:
        return b.twice

    @qd.kernel
    def method(b: Base) -> qd.i32:
        return b.method()

    assert run(Base(3)) == 3 and run(Derived(4)) == 4
    for k in (beyond, prop, method):
        with raises(qd.QuadrantsCompilationError):
            k(Derived(4))
    for value in (None, 3, Inner(array(qd.i32, [1]), 1)):
        with np.testing.assert_raises((AttributeError, QuadrantsRuntimeTypeError)):
            run(value)
    assert run(Base(5)) == 5


def test_members_are_checked(arch):
    @qd.kernel
    def uses(s: Loose) -> qd.i32:
        return s.n

    @qd.kernel
    def ignores(s: Loose) -> qd.i32:
        return s.a[0]

    @qd.kernel
    def elsewhere(s: Loose) -> qd.i32:
        return s.n

    bad = Loose(array(qd.i32, [4]), "many", None)
    with raises(QuadrantsRuntimeTypeError, "cannot be converted into required type"):
        uses(bad)
    assert ignores(bad) == 4
    wrong = Loose(qd.ndarray(qd.f32, shape=2), 1, None)
    with raises(TypeError, "Expect element type"):
        elsewhere(wrong)
    assert uses(Loose(array(qd.i32, [4]), 6, None)) == 6


@qd.data_oriented
class Oriented:
    pass


@dataclasses.dataclass
class Text:
    s: str


@dataclasses.dataclass
class Quoted:
    n: "qd.i32"


@dataclasses.dataclass
class OptionalMember:
    n: NDArray[qd.f32, 1] | None


@dataclasses.dataclass
class HoldsOriented:
    o: Oriented


def test_unsupported_members(arch):
    @qd.kernel
    def text(s: Text):
        x = s.s

    @qd.kernel
    def oriented(s: HoldsOriented):
        x = s.o

    with raises(qd.QuadrantsSyntaxError, "Invalid type annotation of Text.s"):
        text(Text("a"))
    with raises(qd.QuadrantsSyntaxError, "cannot be flattened into a typed-dataclass kernel arg"):
        oriented(HoldsOriented(Oriented()))
    alive()


def test_members_beyond_the_reference(arch):
    """String annotations and optional members, which the specification allows to be refused, work."""

    @qd.kernel
    def quoted(s: Quoted) -> qd.i32:
        return s.n

    @qd.kernel
    def optional(s: OptionalMember) -> qd.i32:
        r = 0
        if qd.static(s.n != None):  # noqa: E711 - the way to test members
            r = s.n.shape[0]
        return r

    assert quoted(Quoted(4)) == 4
    assert optional(OptionalMember(qd.ndarray(qd.f32, shape=2))) == 2
    assert optional(OptionalMember(None)) == 0


def test_through_template(arch):
    @qd.kernel
    def run(s: qd.template()) -> qd.i32:
        return s.n

    @dataclasses.dataclass(frozen=True)
    class Frozen:
        n: qd.i32

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert run(Frozen(3)) == 3
    assert any(w.category is DeprecationWarning for w in caught)
    with raises(TypeError, "write @dataclass(frozen=True) or @dataclass(eq=False) above Base"):
        run(Base(3))
    alive()


CAPTURED = None


def test_captured_as_a_global(arch):
    global CAPTURED
    f = qd.field(qd.i32, shape=2)
    f[1] = 4

    @dataclasses.dataclass
    class Both:
        n: qd.i32
        f: qd.template()
        a: NDArray[qd.i32, 1]

    @qd.kernel
    def fine() -> qd.i32:
        return CAPTURED.n + CAPTURED.f[1]

    @qd.kernel
    def bad() -> qd.i32:
        return CAPTURED.a[0]

    CAPTURED = Both(3, f, array(qd.i32, [1]))
    assert fine() == 7
    with raises(qd.QuadrantsCompilationError):
        bad()
    alive()


def test_members_of_data_oriented_objects(arch):
    @qd.data_oriented
    class Solver:
        def __init__(self):
            self.inner = Inner(array(qd.i32, [1, 2]), 10)

        @qd.kernel
        def run(self):
            add_inner(self.inner, 1)

    s = Solver()
    s.run()
    assert [s.inner.cells[i] for i in range(2)] == [12, 13]
    s.inner = Inner(array(qd.i32, [5]), 10)
    s.run()
    assert s.inner.cells[0] == 16
