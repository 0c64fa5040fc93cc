"""language.md 8: return values of kernels and funcs."""

import numpy as np
import pytest
from language_kit import alive, raises

import quadrants as qd

vec3 = qd.types.vector(3, qd.f32)
ivec2 = qd.types.vector(2, qd.i32)
mat2 = qd.types.matrix(2, 2, qd.f32)
Inner = qd.types.struct(k=qd.i32, v=vec3)
Outer = qd.types.struct(inner=Inner, x=qd.f64)


def test_scalars(arch):
    @qd.kernel
    def as_int(x: qd.f64) -> int:
        return x

    @qd.kernel
    def as_bool(x: qd.f64) -> bool:
        return x > 0

    @qd.kernel
    def as_u64() -> qd.u64:
        return qd.cast(-1, qd.u64)

    @qd.kernel
    def as_i8(x: qd.i32) -> qd.i8:
        return x

    @qd.kernel
    def as_double() -> qd.f64:
        return 1 / qd.f64(3.0)

    @qd.kernel
    def nothing(x: qd.i32) -> None:
        pass

    assert [as_int(2.7), as_int(-2.7), as_u64(), as_i8(200), as_double()] == [2, -2, 2**64 - 1, -56, 1 / 3]
    assert [as_bool(1.0), as_bool(-1.0)] == [1, 0] and type(as_bool(1.0)) is int
    assert type(as_int(2.0)) is int and type(as_double()) is float
    assert nothing(1) is None


def test_vectors_and_matrices(arch):
    @qd.kernel
    def vector(x: qd.f32) -> vec3:
        return qd.Vector([x, 2.0, 3])

    @qd.kernel
    def matrix(x: qd.f32) -> mat2:
        return qd.Matrix([[x, 2], [3, 4]])

    @qd.kernel
    def lists(x: qd.f32) -> mat2:
        return [[x, 2], [3, 4]]

    @qd.kernel
    def large() -> qd.types.matrix(7, 7, qd.i32):
        m = qd.Matrix.zero(qd.i32, 7, 7)
        for i in qd.static(range(7)):
            for j in qd.static(range(7)):
                m[i, j] = 10 * i + j
        return m

    assert isinstance(vector(1), qd.Vector) and list(vector(1)) == [1, 2, 3]
    assert isinstance(matrix(1), qd.Matrix) and matrix(1).to_list() == lists(1).to_list() == [[1, 2], [3, 4]]
    np.testing.assert_array_equal(large().to_numpy(), 10 * np.arange(7)[:, None] + np.arange(7))


def test_structs(arch):
    @qd.kernel
    def run(k: qd.i32) -> Outer:
        return Outer(inner=Inner(k=k, v=[1.0, 2.0, k]), x=0.1 if k > 0 else 0.2)

    out = run(3)
    assert isinstance(out, qd.Struct) and (out.inner.k, list(out.inner.v)) == (3, [1, 2, 3])
    assert out.x == pytest.approx(0.1, rel=1e-6)


def test_tuples(arch):
    from typing import Tuple  # noqa: UP035 - the spelling is what is tested

    @qd.kernel
    def modern(x: qd.i32) -> tuple[qd.i32, vec3]:
        return x, qd.Vector([1.0, 2.0, x])

    @qd.kernel
    def typing_tuple(x: qd.i32) -> Tuple[qd.i32, qd.f32]:  # noqa: UP006
        return x, x / 2

    @qd.kernel
    def literal(x: qd.i32) -> (qd.i32, qd.f32):
        return x, x / 2

    @qd.kernel
    def flags(x: qd.i32) -> tuple[bool, bool]:
        return x > 0, x > 5

    @qd.kernel
    def short(x: qd.i32) -> tuple[qd.i32, qd.i32]:
        return (x,)

    n, v = modern(3)
    assert n == 3 and list(v) == [1, 2, 3]
    assert typing_tuple(3) == literal(3) == (3, 1.5)
    assert flags(3) == (1, 0)
    with raises(qd.QuadrantsSyntaxError):
        short(1)
    alive()


def test_annotation_and_statement_belong_together(arch):
    @qd.kernel
    def unannotated():
        return 1

    @qd.kernel
    def silent() -> qd.i32:
        pass

    @qd.func
    def silent_func() -> qd.i32:
        pass

    @qd.kernel
    def calls_silent():
        silent_func()

    with raises(qd.QuadrantsSyntaxError, "must be annotated with a return type"):
        unannotated()
    with raises(qd.QuadrantsSyntaxError, "does not have a return statement"):
        silent()
    with raises(qd.QuadrantsSyntaxError):
        calls_silent()
    alive()


def test_results_that_do_not_fit(arch):
    @qd.kernel
    def floats() -> ivec2:
        return qd.Vector([1.5, 2.5])

    @qd.kernel
    def shape() -> ivec2:
        return qd.Vector([1, 2, 3])

    @qd.kernel
    def ndim() -> mat2:
        return qd.Vector([1.0, 2.0])

    @qd.kernel
    def scalar() -> mat2:
        return 1.0

    @qd.kernel
    def text() -> str:
        return 1

    for k, fragment in (
        (floats, "cannot be converted into required type"),
        (shape, "Return matrix shape mismatch"),
        (ndim, "Return matrix ndim mismatch"),
        (scalar, ""),
        (text, ""),
    ):
        with raises(qd.QuadrantsCompilationError, fragment):
            k()
    alive()


def test_placement(arch):
    @qd.kernel
    def in_if(n: qd.i32) -> qd.i32:
        if n > 0:
            return 1
        return 2

    @qd.kernel
    def in_for(n: qd.i32) -> qd.i32:
        for _ in range(n):
            return 1
        return 2

    @qd.kernel
    def in_while(n: qd.i32):
        k = n
        while k > 0:
            return

    @qd.func
    def early(n):
        if n > 0:
            return 1
        return 2

    @qd.kernel
    def through_func(n: qd.i32) -> qd.i32:
        return early(n)

    for k in (in_if, in_for, in_while, through_func):
        with raises(qd.QuadrantsSyntaxError, "Return inside non-static if/for is not supported"):
            k(1)
    alive()


def test_static_placement(arch):
    @qd.func
    def choose(c: qd.template()):
        if qd.static(c):
            return 1
        return 7

    @qd.func
    def first(v):
        for k in qd.static(range(3)):
            if qd.static(k == 1):
                return v[k]
        return undefined_name  # noqa: F821 - never traced

    @qd.kernel
    def run() -> qd.types.vector(3, qd.i32):
        if qd.static(True):
            return qd.Vector([choose(True), choose(False), first([4, 5, 6])])
        undefined_name  # noqa: B018, F821 - never traced

    assert list(run()) == [1, 7, 5]


def test_results_of_funcs(arch):
    @qd.func
    def several(x):
        return x, [x + 1, x + 2], (qd.Vector([x, x]), 3)

    @qd.func
    def constant():
        return 4

    @qd.func
    def nothing(x: qd.template()):
        x += 1

    @qd.func
    def as_flag(x) -> bool:
        return x

    @qd.func
    def as_int(x) -> qd.i32:
        return x

    @qd.func
    def as_vector(x) -> vec3:
        return qd.Vector([x, x])

    @qd.func
    def as_tuple(x) -> tuple[qd.i32, qd.f32]:
        return x, x

    @qd.kernel
    def run() -> qd.types.vector(9, qd.f32):
        a, b, (c) = several(5)
        k = 0
        nothing(k)
        i, f = as_tuple(2.75)
        s = 0
        for _ in qd.static(range(constant())):
            s += 1
        return qd.Vector([a, b[1], c[0][1] + c[1], k, as_flag(5), as_int(2.75), as_vector(3)[1], i + f, s])

    np.testing.assert_array_equal(run().to_numpy(), [5, 7, 8, 1, 1, 2, 3, 4.75, 4])
