"""language.md 17.1, 17.3: captured values, ordinary Python calls, which scope a function belongs to."""

import enum
import math

import numpy as np
import pytest
from language_kit import alive, raises, warns

import quadrants as qd


class Mode(enum.IntEnum):
    FAST = 4


class Holder:
    scale = 3


NUMBER = 2
FLAG = True
TEXT = "abc"
ITEMS = (10, 20)
TABLE = {"a": 100}
VECTOR = qd.Vector([1.0, 2.0])
ARRAY = np.array([5, 6, 7])
HOLDER = Holder()


@qd.func
def plus_one(x):
    return x + 1


def test_what_is_baked(arch):
    f = qd.field(qd.i32, shape=2)
    f[1] = 1000
    dtype, function = qd.f32, plus_one

    @qd.kernel
    def run() -> qd.types.vector(10, qd.f32):
        v = qd.Vector(ARRAY)
        s = 0
        if qd.static(FLAG and TEXT == "abc"):
            s = 1
        return qd.Vector(
            [
                NUMBER,
                s,
                ITEMS[1],
                TABLE["a"],
                VECTOR[1],
                ARRAY[2] + v[0],
                Mode.FAST + Holder.scale + HOLDER.scale,
                f[1],
                qd.cast(2.5, dtype) + function(1),
                math.pi,
            ]
        )

    np.testing.assert_allclose(run().to_numpy(), [2, 1, 20, 100, 2, 12, 10, 1000, 4.5, math.pi], rtol=1e-6)


def test_changes_after_the_first_call_have_no_effect(arch):
    global NUMBER

    @qd.kernel
    def run() -> qd.i32:
        return NUMBER

    first = run()
    NUMBER += 5
    try:
        assert run() == first
    finally:
        NUMBER -= 5


def test_arrays_are_not_captured(arch):
    a = qd.ndarray(qd.i32, shape=(2,))
    t = qd.tensor(qd.i32, shape=(2,))

    @qd.kernel
    def an_array() -> qd.i32:
        return a[0]

    @qd.kernel
    def a_tensor() -> qd.i32:
        return t[0]

    with raises(qd.QuadrantsCompilationError, "not registered as a kernel parameter"):
        an_array()
    with raises(qd.QuadrantsCompilationError):
        a_tensor()
    alive()


@qd.data_oriented
class Holders:
    def __init__(self, a):
        self.items, self.pair, self.table = [a], (a,), {"a": a}

    def first(self):
        return self.items[0]

    @qd.kernel
    def item(self) -> qd.i32:
        return self.items[0][1]

    @qd.kernel
    def of_tuple(self) -> qd.i32:
        return self.pair[0][1]

    @qd.kernel
    def of_dict(self) -> qd.i32:
        return self.table["a"][1]

    @qd.kernel
    def unrolled(self) -> qd.i32:
        s = 0
        for a in qd.static(self.items):
            s += a[1]
        return s

    @qd.kernel
    def unpacked(self) -> qd.i32:
        (a,) = qd.static(self.pair)
        return a[1]

    @qd.kernel
    def returned(self) -> qd.i32:
        return qd.static(self.first())[1]

    @qd.kernel
    def extent(self) -> qd.i32:
        return self.items[0].shape[0]

    @qd.kernel
    def looped(self):
        for i in self.items[0]:
            self.items[0][i] = 7

    @qd.kernel
    def written(self):
        self.items[0][1] = 7


@pytest.mark.parametrize("make", [qd.ndarray, qd.tensor])
@pytest.mark.parametrize(
    "name", ["item", "of_tuple", "of_dict", "unrolled", "unpacked", "returned", "extent", "looped", "written"]
)
def test_arrays_in_containers_of_members_are_refused(arch, name, make):
    """A launch would go on with the array that was there when the kernel was compiled."""
    holder = Holders(make(qd.i32, shape=(2,)))
    with raises(qd.QuadrantsCompilationError, "not registered as a kernel parameter") as caught:
        getattr(holder, name)()
    assert __file__ in str(caught.value)
    assert holder.items[0].to_numpy().tolist() == [0, 0]
    alive()


def test_views_in_containers_of_members_are_refused(arch):
    holder = Holders(qd.ndarray(qd.i32, shape=(4,))[1:3])
    with raises(qd.QuadrantsCompilationError, "not registered as a kernel parameter"):
        holder.item()


def test_arrays_in_captured_containers_are_refused(arch):
    items, table = [qd.ndarray(qd.i32, shape=(2,))], {"a": qd.ndarray(qd.i32, shape=(2,))}

    @qd.kernel
    def of_list() -> qd.i32:
        return items[0][1]

    @qd.kernel
    def of_dict() -> qd.i32:
        return table["a"][1]

    @qd.func
    def inner() -> qd.i32:
        return items[0][1]

    @qd.kernel
    def of_func() -> qd.i32:
        return inner()

    for kernel in (of_list, of_dict, of_func):
        with raises(qd.QuadrantsCompilationError, "not registered as a kernel parameter"):
            kernel()
    alive()


def test_containers_that_a_kernel_makes_of_its_arrays(arch):
    @qd.kernel
    def run(a: qd.types.ndarray(), b: qd.types.ndarray()) -> qd.i32:
        s = 0
        for x in qd.static((a, b)):
            s += x[1]
        return s

    a, b = qd.ndarray(qd.i32, shape=(2,)), qd.ndarray(qd.i32, shape=(2,))
    a.fill(3)
    b.fill(4)
    assert run(a, b) == 7


def double(a):
    return a * 2


def broken(a):
    return a + "text"


def count(values):
    return len(values)


def test_ordinary_functions_run_at_trace_time(arch):
    @qd.kernel
    def run(x: qd.i32) -> qd.i32:
        return double(x + 1) + double(3)

    with warns(SyntaxWarning, 'Calling non-quadrants function "double"') as caught:
        assert run(4) == 16
    assert all(w.filename == __file__ for w in caught if w.category is SyntaxWarning)

    @qd.kernel
    def quiet() -> qd.i32:
        return qd.static(count([1, 2, 3]))

    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert quiet() == 3


def test_errors_in_ordinary_functions(arch):
    @qd.kernel
    def run() -> qd.i32:
        return broken(1)

    with pytest.warns(SyntaxWarning), raises(qd.QuadrantsTypeError, "TypeError when calling `broken`"):
        run()

    @qd.kernel
    def arguments() -> qd.i32:
        return double(1, 2)

    with pytest.warns(SyntaxWarning), raises(qd.QuadrantsTypeError, "TypeError when calling `double`"):
        arguments()
    alive()


def test_host_functions_in_kernels(arch):
    f = qd.field(qd.i32, shape=2)

    @qd.kernel
    def make():
        x = qd.field(qd.i32, shape=2)

    @qd.kernel
    def make_array():
        x = qd.ndarray(qd.i32, shape=2)

    @qd.kernel
    def read():
        x = f.to_numpy()

    for k in (make, make_array, read):
        with raises(qd.QuadrantsCompilationError, "cannot be called in Quadrants-scope"):
            k()
    alive()


def test_kernel_functions_on_the_host(arch):
    f = qd.field(qd.i32, shape=2)
    for action in (
        lambda: list(qd.grouped(f)),
        lambda: qd.bit_shr(8, 1),
        lambda: qd.zero(f[0]),
        lambda: qd.static_print(1),
    ):
        with raises(AssertionError, "cannot be called in Python-scope"):
            action()
    for action in (lambda: qd.loop_config(serialize=True), lambda: qd.random()):
        with pytest.raises(Exception, match="."):
            action()
    assert qd.static(3) == 3
    qd.static_assert(True)
    assert list(qd.ndrange(2, 2)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert qd.sin(0.0) == 0 and qd.max(1, 2) == 2 and qd.select(True, 3, 4) == 3
    assert list(qd.Vector([1, 2]) + qd.Vector([3, 4])) == [4, 6]
    assert (qd.Matrix([[1, 2], [3, 4]]) @ qd.Vector([1, 1])).to_list() == [3, 7]
    alive()
