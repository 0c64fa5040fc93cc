"""Tensor helpers against NumPy: maps, reductions, products, determinants, inverses, struct layout."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from prelude_kit import Library, matrix, numpy_type, vector

from quadrants.ir.types import PRIMITIVES, StructType, f16, f32, f64, i8, i32, i64, size_align, struct_offsets, u1, u8

pytestmark = pytest.mark.slow  # two libraries of some thousand functions

COUNT = 50
ELEMENTS = (f16, f32, f64, u8, i32, u1)
INVERSES = (1, 2, 3, 4, 5, 6, 9, 12)
SHAPES = ((1,), (2,), (3,), (16,), (17,), (2, 2), (2, 3), (4, 4), (5, 5))
PRODUCTS = (
    ((2, 3), (3, 4)), ((3, 3), (3, 3)), ((4, 4), (4, 4)), ((6, 6), (6, 6)), ((2, 3), (3,)), ((9, 9), (9,)),
    ((3,), (3, 2)), ((9,), (9, 10)), ((1, 1), (1, 1)), ((3, 1), (1, 3)),
)  # fmt: skip
TOLERANCE = {f16: 2e-2, f32: 2e-5, f64: 1e-13}


def typed(shape, t):
    return vector(*shape, t) if len(shape) == 1 else matrix(*shape, t)


def samples(shape, t, seed, count=COUNT):
    rng = np.random.default_rng(seed)
    if t.kind == "f":
        return rng.normal(size=(count, *shape)).astype(t.numpy_name)
    if t.kind == "b":
        return rng.integers(0, 2, (count, *shape)).astype(bool)
    return rng.integers(max(t.min, -90), min(t.max, 90), (count, *shape), endpoint=True).astype(t.numpy_name)


@pytest.fixture(scope="module", params=[True, False], ids=["fast", "strict"])
def library(request, tmp_path_factory):
    lib = Library(fast_math=request.param)
    need, export = lib.prelude.need, lib.export
    for t in ELEMENTS:
        for shape in SHAPES:
            a = typed(shape, t)
            for op in ("sum", "min", "max", "norm_sqr"):
                export(need("linalg", op, a), t, a)
            for op in ("any", "all"):
                export(need("linalg", op, a), u1, a)
            export(need("linalg", "splat", a), a, t)
            export(need("linalg", "dot", a), t, a, a)
            if len(shape) == 2:
                export(need("linalg", "transpose", a), typed(shape[::-1], t), a)
                export(need("linalg", "row", a), vector(shape[1], t), a, i32)
                export(need("linalg", "column", a), vector(shape[0], t), a, i32)
        for left, right in PRODUCTS:
            a, b = typed(left, t), typed(right, t)
            export(need("linalg", "matmul", a, b), typed(left[:-1] + right[1:], t), a, b)
        for n, m in ((2, 3), (5, 6)):
            export(need("linalg", "outer", vector(n, t), vector(m, t)), matrix(n, m, t), vector(n, t), vector(m, t))
        export(need("linalg", "cross", vector(2, t)), t, vector(2, t), vector(2, t))
        export(need("linalg", "cross", vector(3, t)), vector(3, t), vector(3, t), vector(3, t))
        for n in (1, 2, 3, 4):
            export(need("linalg", "determinant", matrix(n, n, t)), t, matrix(n, n, t))
            export(need("linalg", "trace", matrix(n, n, t)), t, matrix(n, n, t))
        if t in (f32, f64):
            for n in INVERSES:
                export(need("linalg", "inverse", matrix(n, n, t)), matrix(n, n, t), matrix(n, n, t))
    return lib.build(tmp_path_factory.mktemp("tensor"))


def name(op, *types):
    return f"qd_{op}_" + "_".join(
        f"{'vec' if len(t.shape) == 1 else 'mat'}{'x'.join(map(str, t.shape))}_{t.dtype}" for t in types
    )


def agree(got, want, t):
    """Equal for integers (which wrap; u1 is taken mod 2), close for reals; `want` may be wider."""
    __tracebackhide__ = True
    want = np.asarray(want)
    if t.kind == "b":
        np.testing.assert_array_equal(got, want.astype(np.int64) & 1 != 0)
    elif t.kind == "f":
        np.testing.assert_allclose(got, want, rtol=TOLERANCE[t], atol=TOLERANCE[t] * max(1, np.abs(want).max()))
    else:
        np.testing.assert_array_equal(got, want.astype(t.numpy_name))


def wide(x):
    return x.astype(np.float64 if x.dtype.kind == "f" else np.int64)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("t", ELEMENTS, ids=str)
def test_reductions(library, t, shape):
    a = typed(shape, t)
    x, y = samples(shape, t, 1), samples(shape, t, 2)
    x[0] = 0
    flat, flat_y = wide(x).reshape(COUNT, -1), wide(y).reshape(COUNT, -1)
    agree(library(name("sum", a), x), flat.sum(1), t)
    agree(library(name("min", a), x), flat.min(1), t)
    agree(library(name("max", a), x), flat.max(1), t)
    agree(library(name("norm_sqr", a), x), (flat**2).sum(1), t)
    agree(library(name("dot", a), x, y), (flat * flat_y).sum(1), t)
    sparse = np.where(np.random.default_rng(3).random(x.shape) < 0.3, x, 0)
    np.testing.assert_array_equal(library(name("any", a), sparse), (sparse != 0).reshape(COUNT, -1).any(1))
    np.testing.assert_array_equal(library(name("all", a), x), (x != 0).reshape(COUNT, -1).all(1))
    agree(
        library(name("splat", a), x.reshape(COUNT, -1)[:, 0]),
        wide(x.reshape(COUNT, -1)[:, :1]).reshape(COUNT, *[1] * len(shape)) * np.ones(shape, int),
        t,
    )


@pytest.mark.parametrize("left, right", PRODUCTS, ids=str)
@pytest.mark.parametrize("t", ELEMENTS, ids=str)
def test_products(library, t, left, right):
    x, y = samples(left, t, 4), samples(right, t, 5)
    want = np.stack([wide(a) @ wide(b) for a, b in zip(x, y, strict=True)])
    agree(library(name("matmul", typed(left, t), typed(right, t)), x, y), want, t)


@pytest.mark.parametrize("t", ELEMENTS, ids=str)
def test_outer_and_cross(library, t):
    for n, m in ((2, 3), (5, 6)):
        x, y = samples((n,), t, 6), samples((m,), t, 7)
        agree(library(name("outer", vector(n, t), vector(m, t)), x, y), wide(x)[:, :, None] * wide(y)[:, None, :], t)
    if t is u1:
        return
    x, y = samples((3,), t, 8), samples((3,), t, 9)
    agree(library(name("cross", vector(3, t)), x, y), np.cross(wide(x), wide(y)), t)
    x, y = wide(samples((2,), t, 8)), wide(samples((2,), t, 9))
    agree(library(name("cross", vector(2, t)), x, y), x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0], t)


@pytest.mark.parametrize("t", ELEMENTS, ids=str)
def test_transpose_rows_and_columns(library, t):
    for shape in ((2, 2), (2, 3), (4, 4), (5, 5)):
        x = samples(shape, t, 10)
        np.testing.assert_array_equal(library(name("transpose", typed(shape, t)), x), x.swapaxes(1, 2))
        i, j = np.arange(COUNT) % shape[0], np.arange(COUNT) % shape[1]
        each = np.arange(COUNT)
        np.testing.assert_array_equal(library(name("row", typed(shape, t)), x, i), x[each, i])
        np.testing.assert_array_equal(library(name("column", typed(shape, t)), x, j), x[each, :, j])


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("t", [t for t in ELEMENTS if t is not u1], ids=str)
def test_determinant_and_trace(library, t, n):
    x = samples((n, n), t, 11)
    if t.kind != "f":
        x = (x % 10).astype(t.numpy_name)
    determinant = np.linalg.det(x.astype(np.float64))
    want = determinant if t.kind == "f" else np.rint(determinant).astype(np.int64)
    agree(library(name("determinant", matrix(n, n, t)), x), want, t)
    agree(library(name("trace", matrix(n, n, t)), x), np.trace(wide(x), axis1=1, axis2=2), t)


def test_determinant_of_the_specification(library):
    m = np.array([[[1, 2, 3], [4, 5, 6], [7, 8, 10]]])
    assert library("qd_determinant_mat3x3_i32", m)[0] == -3
    want = np.array([[-2 / 3, -4 / 3, 1], [-2 / 3, 11 / 3, -2], [1, -2, 1]])
    np.testing.assert_allclose(library("qd_inverse_mat3x3_f64", m)[0], want, rtol=1e-13)


@pytest.mark.parametrize("n", INVERSES)
@pytest.mark.parametrize("t", [f32, f64], ids=str)
def test_inverse(library, t, n):
    x = samples((n, n), t, 12)
    condition = np.linalg.cond(x.astype(np.float64))
    got = library(name("inverse", matrix(n, n, t)), x).astype(np.float64)
    want = np.linalg.inv(x.astype(np.longdouble).astype(np.float64))
    error = np.linalg.norm(got - want, axis=(1, 2)) / np.linalg.norm(want, axis=(1, 2))
    assert np.all(error <= condition * (4e-7 if t is f32 else 2e-15) * max(1, n / 4) + condition**2 * 1e-16 * (n <= 4))


@pytest.mark.parametrize("n", INVERSES[1:])
def test_inverse_needs_pivots(library, n):
    """A permutation matrix has zeros on its diagonal."""
    x = np.roll(np.eye(n), 1, axis=0)[None] * 2
    np.testing.assert_allclose(library(name("inverse", matrix(n, n, f64)), x)[0], x[0].T / 4)


@pytest.mark.parametrize("n", INVERSES)
def test_singular_matrices_give_no_number(library, n):
    got = library(name("inverse", matrix(n, n, f32)), np.zeros((1, n, n)))
    assert not np.isfinite(got).any()


def test_cross_product_keeps_exact_zeros(library):
    got = library("qd_cross_vec3_f32", [[0.3, 0.0, 0.0]], [[0.7, 0.0, 0.0]])
    np.testing.assert_array_equal(got, np.zeros((1, 3)))


@pytest.mark.parametrize("shape", [(3,), (17,), (2, 3), (6, 6)], ids=str)
def test_maps(shape, tmp_path):
    lib = Library()
    need = lib.prelude.need
    a, c, flags = typed(shape, f32), typed(shape, i32), typed(shape, u1)
    smaller = need("scalar", "min", f32)
    names = {
        "add": need("map", "add", "({a} + {b})", a, a, a),
        "scale": need("map", "mul", "({a} * {b})", a, a, f32),
        "from": need("map", "sub", "({a} - {b})", a, f32, a),
        "min": need("map", "min", smaller + "({a}, {b})", a, a, a),
        "less": need("map", "lt", "({a} < {b})", flags, a, a),
        "cast": need("map", "cast", "(int32_t){a}", c, a),
        "select": need("map", "select", "({a} ? {b} : {c})", a, flags, a, f32),
    }
    assert len(set(names.values())) == len(names)
    for key, operands, result in (
        ("add", (a, a), a), ("scale", (a, f32), a), ("from", (f32, a), a), ("min", (a, a), a), ("less", (a, a), flags),
        ("cast", (a,), c), ("select", (flags, a, f32), a),
    ):  # fmt: skip
        lib.export(names[key], result, *operands)
    lib.build(tmp_path)
    x, y, s = samples(shape, f32, 13) * 9, samples(shape, f32, 14) * 9, samples((), f32, 15)
    each = s.reshape(COUNT, *[1] * len(shape))
    np.testing.assert_array_equal(lib(names["add"], x, y), x + y)
    np.testing.assert_array_equal(lib(names["scale"], x, s), x * each)
    np.testing.assert_array_equal(lib(names["from"], s, x), each - x)
    np.testing.assert_array_equal(lib(names["min"], x, y), np.minimum(x, y))
    np.testing.assert_array_equal(lib(names["less"], x, y), x < y)
    np.testing.assert_array_equal(lib(names["cast"], x), np.trunc(x))
    np.testing.assert_array_equal(lib(names["select"], x > 0, x, s), np.where(x > 0, x, each))


def test_narrow_maps_wrap(tmp_path):
    lib = Library()
    a = vector(3, u8)
    lib.export(lib.prelude.need("map", "add", "({a} + {b})", a, a, a), a, a, a)
    lib.build(tmp_path)
    np.testing.assert_array_equal(lib("qd_add_vec3_u8", [[200, 1, 255]], [[100, 2, 1]]), [[44, 3, 0]])


def test_one_name_never_stands_for_two_spellings():
    prelude = Library().prelude
    a = vector(2, f32)
    first = prelude.need("map", "op", "({a} + {b})", a, a, a)
    second = prelude.need("map", "op", "({a} - {b})", a, a, a)
    assert first == "qd_op_vec2_f32" and second == "qd_op_vec2_f32_2"
    assert prelude.need("map", "op", "({a} + {b})", a, a, a) == first


def test_literals_and_large_loops_have_the_layout_of_numpy(tmp_path):
    lib = Library()
    m = matrix(2, 3, f64)
    value = lib.prelude.literal(m, [str(float(i)) for i in range(6)])
    lib.text(
        f"static {lib.prelude.type(m)} counted(double x) {{ {lib.prelude.type(m)} r = {value}; (void)x; return r; }}"
    )
    lib.export("counted", m, f64)
    lib.build(tmp_path)
    np.testing.assert_array_equal(lib("counted", [0.0])[0], np.arange(6.0).reshape(2, 3))


def test_structs_have_the_layout_of_the_type_module(tmp_path):
    inner = StructType((("flag", u1), ("v", vector(3, f64))), "inner")
    outer = StructType((("int", i8), ("m", matrix(2, 3, f32)), ("part", inner), ("h", f16), ("für", i64)), "Outer")
    other = StructType((("x", f32),), "Outer")
    lib = Library()
    name, second = lib.prelude.type(outer), lib.prelude.type(other)
    assert (name, second) == ("qd_struct_Outer", "qd_struct_Outer_2")
    members = [lib.prelude.member(key) for key, _ in outer.members]
    assert members[:3] == ["qd_int", "m", "part"] and members[4].isascii()
    offsets = ", ".join(f"__builtin_offsetof({name}, {key})" for key in members)
    lib.text(f"void layout(long *r) {{ long all[] = {{ sizeof({name}), _Alignof({name}), {offsets} }}; "
             f"for (int i = 0; i < {len(members) + 2}; ++i) r[i] = all[i]; }}")  # fmt: skip
    lib.build(tmp_path)
    got = (ctypes.c_long * (len(members) + 2))()
    lib.native.layout(got)
    assert list(got) == [*size_align(outer), *struct_offsets(outer).values()]


def test_every_tensor_is_as_large_as_its_elements(tmp_path):
    lib = Library()
    types = [typed(shape, t) for t in PRIMITIVES.values() for shape in SHAPES]
    for t in types:
        lib.text(f'_Static_assert(sizeof({lib.prelude.type(t)}) == {numpy_type(t).itemsize}, "size");')
    lib.build(tmp_path)


@pytest.mark.parametrize(
    "request_",
    [
        ("linalg", "matmul", matrix(2, 3, f32), matrix(2, 3, f32)),
        ("linalg", "matmul", vector(3, f32), vector(3, f32)),
        ("linalg", "inverse", matrix(13, 13, f32)), ("linalg", "inverse", matrix(2, 2, i32)),
        ("linalg", "determinant", matrix(5, 5, f32)), ("linalg", "trace", matrix(2, 3, f32)),
        ("linalg", "cross", vector(4, f32)), ("linalg", "transpose", vector(3, f32)),
        ("linalg", "matmul", matrix(2, 2, f32), matrix(2, 2, f64)), ("linalg", "sum", f32),
        ("linalg", "norm", vector(3, f32)),
        ("map", "add", "{a} + {b}", vector(3, f32), vector(3, f32), vector(2, f32)),
    ],
    ids=str,
)  # fmt: skip
def test_undefined_operations_are_errors(request_):
    with pytest.raises(ValueError, match=request_[1]):
        Library().prelude.need(*request_)
