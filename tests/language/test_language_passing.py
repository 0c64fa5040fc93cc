"""language.md 7: what is passed by value and what by reference."""

import dataclasses

import numpy as np
import pytest
from language_kit import alive, array, raises

import quadrants as qd

vec2 = qd.types.vector(2, qd.i32)
Pair = qd.types.struct(a=qd.i32, v=vec2)


@dataclasses.dataclass
class Box:
    cells: qd.types.NDArray[qd.i32, 1]


@qd.func
def by_scalar(x: qd.i32):
    x += 1
    return x


@qd.func
def by_name(x):
    x += 1
    return x


@qd.func
def by_vector(v: vec2):
    v[0] += 10
    return v[0]


@qd.func
def by_struct(p: Pair):
    p.a += 10
    p.v[1] = 5
    return p.a


@qd.func
def by_list(items):
    items[0] += 100
    return items[0] + items[1]


@qd.func
def by_template(x: qd.template()):
    x += 1


@qd.func
def by_template_value(x: qd.template()):
    return x * 2


@qd.func
def static_template(x: qd.template()):
    s = 0
    for k in qd.static(range(x)):
        s += k
    return s


@qd.func
def by_field(f):
    f[0] += 1


@qd.func
def by_array(a: qd.types.ndarray()):
    a[0] += 1


@qd.func
def by_tensor(a: qd.Tensor):
    a[0] += 1


@qd.func
def by_box(b: Box):
    b.cells[0] += 1


@qd.func
def cast_of(x, dtype):
    return qd.cast(x, dtype)


def test_copies(arch):
    @qd.kernel
    def run(n: qd.i32, m: qd.f32) -> qd.types.vector(12, qd.f32):
        x, y = n, m
        v = qd.Vector([1, 2])
        p = Pair(a=3, v=v)
        items = [x, 7]
        out = qd.Vector([0.0] * 12)
        out[0], out[1] = by_scalar(x), x
        out[2], out[3] = by_name(y), y
        out[4], out[5] = by_vector(v), v[0]
        out[6], out[7] = by_struct(p), p.a + p.v[1]
        out[8], out[9] = by_list(items), items[0]
        out[10] = by_scalar(2.75)
        out[11] = by_name(n) + cast_of(2.75, qd.i32)
        return out

    expected = [5, 4, 1.5, 0.5, 11, 1, 13, 5, 111, 4, 3, 7]
    np.testing.assert_array_equal(run(4, 0.5).to_numpy(), expected)


@pytest.mark.parametrize("nested", [False, True], ids=["top level", "in a loop"])
def test_aliases(arch, nested):
    f, a = qd.field(qd.i32, shape=2), array(qd.i32, [0, 0])
    S = Pair.field(shape=2)

    @qd.func
    def all_of(a: qd.types.ndarray(), b: Box):
        x = 1
        by_template(x)
        v = qd.Vector([1, 2])
        by_template(v)
        by_template(v[1])
        p = Pair(a=3, v=v)
        by_template(p.a)
        by_template(f[0])
        by_template(a[1])
        by_template(S[1].a)
        by_template(S[1].v)
        by_field(f)
        by_array(a)
        by_tensor(f)
        by_tensor(a)
        by_box(b)
        f[1] = x * 1000 + v[0] * 100 + v[1] * 10 + p.a + by_template_value(x + 1) + static_template(4)

    @qd.kernel
    def at_top(a: qd.types.ndarray(), b: Box):
        all_of(a, b)

    @qd.kernel
    def in_loop(a: qd.types.ndarray(), b: Box):
        for _ in range(1):
            all_of(a, b)

    box = Box(array(qd.i32, [8]))
    (in_loop if nested else at_top)(a, box)
    assert f[0] == 3 and a[0] == 2 and a[1] == 1
    assert S[1].a == 1 and list(S[1].v) == [1, 1] and S[0].a == 0
    assert box.cells[0] == 9
    assert f[1] == 2000 + 200 + 40 + 4 + 6 + 6


def test_unannotated_numbers_are_variables(arch):
    @qd.func
    def unrolled(n):
        s = 0
        for k in qd.static(range(n)):
            s += k
        return s

    @qd.kernel
    def run() -> qd.i32:
        return unrolled(3)

    with pytest.raises(qd.QuadrantsCompilationError):
        run()
    alive()


def test_what_needs_an_annotation(arch):
    a = array(qd.i32, [1])

    @qd.kernel
    def an_array(a: qd.types.ndarray()):
        by_field(a)

    @qd.kernel
    def a_func():
        by_name(by_scalar)

    @qd.kernel
    def a_string():
        by_name("text")

    for action in (lambda: an_array(a), a_func, a_string):
        with raises(qd.QuadrantsTypeError):
            action()
    alive()


def test_shapes_of_vectors(arch):
    @qd.func
    def any_dtype(v: qd.types.vector(2)):
        return v[0] + v[1]

    @qd.kernel
    def fine() -> qd.f32:
        return any_dtype(qd.Vector([1, 2])) + any_dtype(qd.Vector([0.5, 0.25])) + any_dtype([1, 2])

    @qd.kernel
    def long() -> qd.i32:
        return by_vector(qd.Vector([1, 2, 3]))

    @qd.kernel
    def number() -> qd.i32:
        return by_vector(3)

    assert fine() == 6.75
    for k in (long, number):
        with raises(qd.QuadrantsSyntaxError, "is expected to be a Matrix"):
            k()
    alive()


def test_kernel_parameters_are_immutable(arch):
    @qd.kernel
    def assign(n: qd.i32):
        n = 3

    @qd.kernel
    def augment(n: qd.i32):
        n += 3

    @qd.kernel
    def declare(n: qd.i32):
        n: qd.i32 = 3

    @qd.kernel
    def through_template(n: qd.i32):
        by_template(n)

    @qd.kernel
    def members(p: Pair) -> qd.i32:
        p.a += 5
        p.v[1] += 6
        return p.a + p.v[1]

    for k in (assign, augment, declare, through_template):
        with raises(qd.QuadrantsSyntaxError):
            k(1)
    for k in (assign, augment, declare):
        with raises(qd.QuadrantsSyntaxError, "is immutable in the kernel"):
            k(1)
    assert members(Pair(1, 2)) == 14


def test_writing_through_a_template(arch):
    @qd.kernel
    def expression(n: qd.i32):
        by_template(n + 1)

    @qd.kernel
    def constant():
        by_template(3)

    with raises(qd.QuadrantsSyntaxError, "cannot use a non-writable target"):
        expression(1)
    with pytest.raises(qd.QuadrantsCompilationError):
        constant()
    alive()


def test_assignment_copies(arch):
    f = qd.Vector.field(2, qd.i32, shape=2)
    S = Pair.field(shape=2)

    @qd.kernel
    def run() -> vec2:
        v = f[0]
        v[0] = 1
        w = v
        w[1] = 9
        f[1][0] = 6
        S[1].a = 7
        q = S[1]
        q.a = 8
        return v

    assert list(run()) == [1, 0]
    assert list(f[0]) == [0, 0] and list(f[1]) == [6, 0] and S[1].a == 7


def test_what_cannot_be_stored(arch):
    f = qd.field(qd.i32, shape=1)

    @qd.kernel
    def a_field():
        g = f

    @qd.kernel
    def an_array(a: qd.types.ndarray()):
        b = a

    @qd.kernel
    def a_func():
        g = by_scalar

    @qd.kernel
    def a_string():
        g = "text"

    @qd.kernel
    def static() -> qd.i32:
        g, h = qd.static(f), qd.static(by_scalar)
        g[0] = 5
        return h(1) + 3

    for action in (a_field, lambda: an_array(array(qd.i32, [1])), a_func, a_string):
        with raises(qd.QuadrantsTypeError, "Invalid constant scalar data type"):
            action()
    assert static() == 5 and f[0] == 5


def test_order_of_evaluation(arch):
    """Left to right, as in Python; the reference leaves it open."""
    counter = qd.field(qd.i32, shape=())

    @qd.func
    def tick():
        counter[None] += 1
        return counter[None]

    @qd.kernel
    def run() -> qd.i32:
        return tick() * 100 + tick() * 10 + tick()

    assert run() == 123 and counter[None] == 3
