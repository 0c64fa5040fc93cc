"""language.md 2.5: struct types, struct values, methods."""

import numpy as np
import pytest
from language_kit import alive, raises

import quadrants as qd

vec3 = qd.types.vector(3, qd.f32)


@qd.dataclass
class Ball:
    x: qd.f32
    v: vec3

    @qd.func
    def push(self, a):
        self.x += a
        self.v[1] = a

    @qd.func
    def energy(self):
        return 0.5 * self.x * self.x + self.v.dot(self.v)


Pair = qd.types.struct(n=qd.i32, ball=Ball)


def test_construction(arch):
    @qd.kernel
    def run() -> qd.types.vector(8, qd.f32):
        a, b, c = Ball(1, 2), Ball(x=3, v=[4.0, 5.0, 6.0]), Ball()
        return qd.Vector([a.x, a.v[0], a.v[2], b.x, b.v[0], b.v[2], c.x, c.v[1]])

    np.testing.assert_array_equal(run().to_numpy(), [1, 2, 2, 3, 4, 6, 0, 0])
    host = Ball(1, 2)
    assert host.x == 1 and list(host.v) == [2, 2, 2]


def test_methods_get_self_by_reference(arch):
    f = Ball.field(shape=3)

    @qd.kernel
    def run() -> qd.types.vector(4, qd.f32):
        local = Ball(1.0, 0.0)
        local.push(2.0)
        f[0].push(5.0)
        f[1].x = 1.0
        q = f[1]
        q.push(8.0)
        return qd.Vector([local.x, local.v[1], q.x, local.energy()])

    np.testing.assert_array_equal(run().to_numpy(), [3, 2, 9, 8.5])
    assert (f[0].x, f[0].v[1], f[1].x, f[1].v[1]) == (5, 5, 1, 0)


def test_anonymous_structs_and_nesting(arch):
    f = Pair.field(shape=2)

    @qd.kernel
    def run() -> qd.types.vector(4, qd.f32):
        s = qd.Struct(a=1, b=qd.Vector([2.0, 3.0]))
        t = qd.Struct({"a": 4})
        s.a += t.a
        p = Pair(n=2, ball=Ball(7.0, 1.0))
        f[1] = p
        f[1].ball.v[2] = 9.0
        return qd.Vector([s.a, s.b[1], f[1].ball.x, p.ball.v[2]])

    np.testing.assert_array_equal(run().to_numpy(), [5, 3, 7, 1])
    assert f[1].n == 2 and f[1].ball.v[2] == 9


Triple = qd.types.struct(pair=Pair, k=qd.i32, w=vec3)


def test_a_number_for_a_struct_is_its_first_member(arch):
    """At any depth, known while compiling or not; the other members are zero. Python-scope calls agree."""
    first = qd.types.struct(ball=Ball, n=qd.i32)

    @qd.kernel
    def run(x: qd.f32) -> qd.types.vector(8, qd.f32):
        a, b, c = first(0), first(x), Triple(5, w=x)
        d = Triple(k=2, pair={"ball": 3, "n": 4})
        return qd.Vector(
            [a.ball.x, b.ball.x, b.ball.v.sum() + b.n, c.pair.n, c.pair.ball.x, c.w[2], d.pair.ball.x, d.k]
        )

    np.testing.assert_array_equal(run(1.5).to_numpy(), [0, 1.5, 0, 5, 0, 1.5, 3, 2])
    assert first(1.5).ball.x == 1.5 and Triple(5).pair.n == 5

    @qd.func
    def size(b: Ball):
        return b.x

    @qd.kernel
    def assigned():
        p = Pair(1)
        p.ball = 3.0

    @qd.kernel
    def passed() -> qd.f32:
        return size(3.0)

    for kernel in (assigned, passed):
        with raises(qd.QuadrantsTypeError, "cannot assign 'f32' to 'struct{x: f32, v: [Tensor (3) f32]}'"):
            kernel()
    alive()


def test_assignment_needs_the_same_members(arch):
    @qd.kernel
    def other():
        a = Ball(1, 2)
        a = qd.Struct(z=1)

    @qd.kernel
    def scalar():
        a = Ball(1, 2)
        a = 1.0

    @qd.kernel
    def arithmetic():
        a = Ball(1, 2)
        b = a + a

    for k in (other, scalar, arithmetic):
        with raises(qd.QuadrantsTypeError):
            k()
    alive()


def test_struct_arguments_and_results(arch):
    @qd.kernel
    def run(p: Pair, k: qd.i32) -> Pair:
        p.n += k
        p.ball.v[0] = 10.0
        return p

    given = Pair(n=1, ball=Ball(2.0, [3.0, 4.0, 5.0]))
    out = run(given, 4)
    assert (out.n, out.ball.x, list(out.ball.v)) == (5, 2, [10, 4, 5])
    assert given.n == 1 and given.ball.v[0] == 3
    with raises(qd.lang.exception.QuadrantsRuntimeTypeError):
        run({"n": 1, "ball": {"x": 1.0, "v": [1, 1, 1]}}, 1)
    with raises(qd.lang.exception.QuadrantsRuntimeTypeError):
        run(Ball(1, 2), 1)
    alive()


VEC2, VEC4, COLUMN = qd.types.vector(2, qd.f32), qd.types.vector(4, qd.f32), qd.types.matrix(3, 1, qd.f32)


@pytest.mark.parametrize("other", [VEC2, VEC4, COLUMN, qd.f32], ids=["vec2", "vec4", "column", "number"])
def test_struct_arguments_have_members_of_the_same_shapes(arch, other):
    @qd.kernel
    def run(p: Pair) -> qd.f32:
        return p.ball.v.sum()

    same = qd.types.struct(n=qd.i32, ball=qd.types.struct(x=qd.f32, v=vec3))
    assert run(same(1, {"x": 1.0, "v": [1.0, 2.0, 3.0]})) == 6
    with raises(qd.QuadrantsRuntimeTypeError, "cannot be converted into required type [Tensor (3) f32]"):
        run(qd.types.struct(n=qd.i32, ball=qd.types.struct(x=qd.f32, v=other))())
    with raises(qd.QuadrantsRuntimeTypeError, "Argument p.ball (type="):
        run(qd.types.struct(n=qd.i32, ball=other)())
    alive()


def test_names_of_members_never_meet(arch):
    """A member whose name is taken in a dialect, and one that is called as the first is spelled there."""
    odd = qd.types.struct(**{"int": qd.i32, "qd_int": qd.i32, "qd_qd_int": qd.i32, "int_": qd.i32, "a b": qd.i32})
    f = odd.field(shape=3)

    @qd.kernel
    def run() -> qd.i32:
        s = odd(1, 2, 3, 4, 5)
        for i in range(3):
            f[i].int = i
            f[i].qd_int = 2 * i
        return s.int + 10 * s.qd_int + 100 * s.qd_qd_int + 1000 * s.int_

    assert run() == 4321 and (f[2].int, f[2].qd_int) == (2, 4)


TAKEN = ["error", "frame", "runtime", "rng", "vec2_i32", "kernel_run", "frame_run", "lane", "half", "args_run"]


@pytest.mark.runtime(debug=True)
@pytest.mark.parametrize("name", TAKEN)
def test_classes_may_be_called_like_types_of_the_text(arch, name):
    """In a kernel whose text has these types: vectors, random numbers, a frame and checks."""
    made = qd.dataclass(type(name, (), {"__annotations__": {"a": qd.i32, "v": qd.types.vector(2, qd.i32)}}))
    f = made.field(shape=2)

    @qd.func
    def twice(s):
        s.a *= 2
        return s

    @qd.kernel
    def run() -> qd.i32:
        total = 0
        for i in range(2):
            f[i] = twice(made(i + 1, qd.Vector([i, i + 5]) % 4))
            total += f[i].a + f[i].v.sum() + (qd.random() < 0)
        return total

    assert run() == 2 + 4 + (0 + 1) + (1 + 2)
