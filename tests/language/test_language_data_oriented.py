"""language.md 5: data-oriented classes and attributes of template objects."""

import dataclasses
import enum

import numpy as np
import pytest
from language_kit import alive, array, raises, specialisations

import quadrants as qd


class Mode(enum.IntEnum):
    FAST = 2


@qd.data_oriented
class Grid:
    unit = 5

    def __init__(self, n):
        self.n = n
        self.f = qd.field(qd.i32, shape=n)
        self.mode = Mode.FAST

    @property
    def double(self):
        return 2 * self.n

    @qd.func
    def value(self, i):
        return i * self.unit

    @qd.pyfunc
    def both(self, i):
        return i + self.n

    @staticmethod
    @qd.func
    def half(x):
        return x // 2

    @qd.kernel
    def fill(self, k: qd.i32) -> qd.i32:
        for i in range(self.n):
            self.f[i] = self.value(i) + k
        return self.double + self.mode + self.both(1) + self.half(9)

    @property
    @qd.kernel
    def total(self) -> qd.i32:
        s = 0
        for i in self.f:
            s += self.f[i]
        return s


class Child(Grid):
    unit = 7


def test_instances_and_subclasses(arch):
    a, b, c = Grid(3), Grid(4), Child(2)
    assert a.fill(1) == 6 + 2 + 4 + 4 and list(a.f.to_numpy()) == [1, 6, 11]
    assert b.fill(0) == 8 + 2 + 5 + 4 and list(b.f.to_numpy()) == [0, 5, 10, 15]
    assert specialisations(Grid.fill) == 2
    assert c.fill(0) == 4 + 2 + 3 + 4 and list(c.f.to_numpy()) == [0, 7]
    a.fill(2)
    assert specialisations(Grid.fill) == 3
    assert a.total == 2 + 7 + 12
    assert a.both(4) == 7
    assert a.fill(k=1) == 16


def test_static_kernels(arch):
    @qd.data_oriented
    class Tool:
        @staticmethod
        @qd.kernel
        def twice(x: qd.i32) -> qd.i32:
            return 2 * x

    assert Tool.twice(4) == Tool().twice(5) - 2 == 8


def test_undecorated_classes(arch):
    class Plain:
        def __init__(self):
            self.n = 3

        @qd.kernel
        def run(self) -> qd.i32:
            return self.n

        @qd.func
        def method(self, x):
            return self.n * x

    plain = Plain()
    with raises(qd.QuadrantsSyntaxError, "Please decorate class Plain with @qd.data_oriented"):
        plain.run()

    @qd.kernel
    def outside() -> qd.i32:
        return plain.method(4)

    assert outside() == 12
    alive()


def test_the_object_of_a_method_may_have_any_name(arch):
    @qd.data_oriented
    class Tool:
        unit = 3

        def __init__(this, n):
            this.n = n

        @qd.func
        def scaled(me, x):
            return me.n * x

        @qd.real_func
        def doubled(it, x: qd.i32) -> qd.i32:
            return 2 * x

        @qd.kernel
        def run(that, x: qd.i32) -> qd.i32:
            return that.scaled(x) + that.doubled(100)

        @classmethod
        @qd.kernel
        def units(cls, x: qd.i32) -> qd.i32:
            return cls.unit * x

    assert Tool(5).run(3) == 215 and Tool(7).run(x=3) == 221
    assert Tool.units(4) == 12

    with raises(qd.QuadrantsSyntaxError, "must be type annotated: 'x' is not"):

        @qd.kernel
        def plain(x):
            pass

    with raises(qd.QuadrantsSyntaxError, "must be type annotated: 'x' is not"):

        class Later:
            @qd.kernel
            def second(this, x):
                pass

    with raises(qd.QuadrantsSyntaxError, "must be type annotated: 'x' is not"):

        @qd.real_func
        def real(x) -> qd.i32:
            return x

    class Plain:
        @qd.kernel
        def run(this):
            pass

    with raises(qd.QuadrantsSyntaxError, "Please decorate class Plain with @qd.data_oriented"):
        Plain().run()
    alive()


@dataclasses.dataclass
class Part:
    a: qd.types.NDArray[qd.i32, 1]


@qd.data_oriented
class Node:
    def __init__(self, value):
        self.array = array(qd.i32, [value])
        self.part = Part(array(qd.i32, [10 * value]))
        self.other = self
        self.limits = (1, 2)

    @qd.kernel
    def total(self) -> qd.i32:
        return self.array[0] + self.part.a[0] + self.other.other.array[0] + self.limits[1]


def test_arrays_are_bound_at_each_launch(arch):
    node = Node(3)
    assert node.total() == 3 + 30 + 3 + 2
    node.array = array(qd.i32, [4, 4])
    node.part.a = array(qd.i32, [50])
    assert node.total() == 4 + 50 + 4 + 2
    assert specialisations(Node.total) == 1
    node.array = np.array([6])
    assert node.total() == 6 + 50 + 6 + 2
    assert specialisations(Node.total) == 2


def test_numbers_are_baked(arch):
    @qd.data_oriented
    class Baked:
        def __init__(self, n):
            self.n = n
            self.array = qd.ndarray(qd.i32, shape=(2,))

        @qd.kernel
        def read(self) -> qd.i32:
            return self.n + self.array[0]

    x = Baked(3)
    assert x.read() == 3
    x.n = 4
    assert x.read() == 3
    x.array = qd.ndarray(qd.i64, shape=(2,))
    assert x.read() == 4
    assert Baked(9).read() == 9


@qd.data_oriented(template_primitives=False)
class Live:
    def __init__(self, n):
        self.n = n
        self.x = 0.5
        self.on = True

    @qd.kernel
    def read(self) -> qd.f32:
        r = self.x + self.n
        if self.on:
            r += 100
        return r

    @qd.kernel
    def static(self) -> qd.i32:
        s = 0
        for _ in qd.static(range(self.n)):
            s += 1
        return s


def test_numbers_at_run_time(arch):
    live = Live(3)
    assert live.read() == 103.5
    live.n, live.x, live.on = 4, 1.5, False
    assert live.read() == 5.5
    assert Live(7).read() == 107.5
    with raises(qd.QuadrantsSyntaxError, "cannot be used inside qd.static()"):
        live.static()
    live.n = 2.5
    with pytest.raises(TypeError, match="was lifted as an integer kernel argument"):
        live.read()
    live.n = 1
    assert live.read() == 2.5


@qd.data_oriented
class Counter:
    def __init__(self):
        self.count = 1


@dataclasses.dataclass
class Settings:
    count: int = 1


@dataclasses.dataclass(frozen=True)
class Frozen:
    count: int = 1


@qd.data_oriented(template_primitives=False)
class Nests:
    def __init__(self, inner):
        self.inner = inner
        self.deep = Counter()
        self.deep.inner = inner

    @qd.kernel
    def read(self) -> qd.i32:
        return self.inner.count

    @qd.kernel
    def read_deep(self) -> qd.i32:
        return self.deep.inner.count


@pytest.mark.parametrize("cls", [Counter, Live, Settings, Frozen])
def test_numbers_of_nested_objects_at_run_time(arch, cls):
    """Members of data_oriented objects and dataclasses inside follow the class around them."""
    nests = Nests(cls(1) if cls is Live else cls())
    if cls is Live:
        nests.inner.count = 1
    assert (nests.read(), nests.read_deep()) == (1, 1)
    object.__setattr__(nests.inner, "count", 9)
    assert (nests.read(), nests.read_deep()) == (9, 9)
    nests.inner = Counter()
    assert (nests.read(), nests.read_deep()) == (1, 9)
    nests.inner.count = 2.5
    with pytest.raises(TypeError, match="was lifted as an integer kernel argument"):
        nests.read()


def test_bools_at_run_time_are_integers(arch):
    @qd.data_oriented(template_primitives=False)
    class Switch:
        def __init__(self):
            self.on = True

        @qd.kernel
        def read(self) -> qd.i32:
            r = self.on * 10
            if self.on:
                r += 100
            if not self.on:
                r += 1000
            return r

    switch = Switch()
    assert switch.read() == 110
    switch.on = 2
    assert switch.read() == 120
    switch.on = False
    assert switch.read() == 1000
    switch.on = np.bool_(True)
    assert switch.read() == 110
    switch.on = 0.5
    with pytest.raises(TypeError, match="was lifted as an integer kernel argument"):
        switch.read()


def test_stable_members(arch):
    @qd.data_oriented(stable_members=True)
    class Stable:
        def __init__(self):
            self.a = array(qd.i32, [5])

        @qd.kernel
        def read(self) -> qd.i32:
            return self.a[0]

    s = Stable()
    assert s.read() == 5
    s.a[0] = 6
    assert s.read() == 6


def test_unhashable_instances(arch):
    @qd.data_oriented
    class Unhashable:
        __hash__ = None

        @qd.kernel
        def read(self) -> qd.i32:
            return 1

    with raises(TypeError):
        Unhashable().read()
    alive()


@qd.data_oriented
class Writes:
    def __init__(self):
        self.n = 1
        self.f = qd.field(qd.i32, shape=2)
        self.inner = Grid(2)

    @qd.kernel
    def assign(self):
        self.n = 3

    @qd.kernel
    def alias(self) -> qd.i32:
        y = self.inner
        g = qd.static(self.f)
        g[0] = 4
        return y.n + self.f[0]

    @qd.kernel
    def store_field(self):
        g = self.f

    @qd.kernel
    def missing(self) -> qd.i32:
        return self.nothing


def test_assignment_and_aliases(arch):
    w = Writes()
    with raises(qd.QuadrantsSyntaxError, "cannot be assigned"):
        w.assign()
    assert w.alias() == 6
    with raises(qd.QuadrantsTypeError):
        w.store_field()
    with raises(qd.QuadrantsCompilationError, "nothing"):
        w.missing()
    alive()


def test_the_source_of_a_method(arch):
    """`obj.kernel.source(...)` takes the arguments of `obj.kernel(...)`."""

    @qd.data_oriented
    class Scaled:
        def __init__(self):
            self.x = qd.field(qd.f32, shape=4)

        @qd.kernel
        def fill(self, value: qd.f32):
            for i in self.x:
                self.x[i] = value

    made = Scaled()
    assert "value" in made.fill.source(2.0) and made.fill.source(2.0) == Scaled.fill.source(made, 2.0)


def test_an_array_in_place_of_something_else_in_its_place(arch):
    """An ndarray that takes the place of a NumPy array or field, whose place an ndarray had, is read."""

    def ndarray(value):
        made = qd.ndarray(qd.f64, shape=3)
        made.fill(value)
        return made

    def field(value):
        made = qd.field(qd.f64, shape=3)
        made.fill(value)
        return made

    @qd.data_oriented
    class Holder:
        def __init__(self, a):
            self.a = a

        @qd.kernel
        def read(self) -> qd.f64:
            return self.a[1]

    for between in (field, lambda value: np.full(3, value)):
        holder, seen = Holder(ndarray(1.0)), []
        for value, make in ((1.0, ndarray), (2.0, between), (3.0, ndarray), (4.0, ndarray)):
            holder.a = make(value)
            seen.append(holder.read())
        assert seen == [1.0, 2.0, 3.0, 4.0]


def test_an_error_in_a_func_that_a_static_loop_calls_is_told(arch):
    """Not what happens to the scopes of the loop on its way out."""

    @qd.data_oriented
    class Part:
        def __init__(self):
            self.cells = qd.ndarray(qd.i32, (4,))

    @qd.func
    def put(part: qd.template()):
        part.cells[0] += 1

    @qd.data_oriented
    class Whole:
        def __init__(self):
            self.parts = [Part(), Part()]

        @qd.kernel
        def run(self):
            for i in range(3):
                for k in qd.static(range(2)):
                    put(self.parts[k])

    with pytest.raises(qd.QuadrantsCompilationError) as caught:
        Whole().run()
    assert "pop from empty list" not in str(caught.value) and "ndarray" in str(caught.value)
