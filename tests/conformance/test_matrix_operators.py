"""matrix-math.md 7, 9, 11: operators and elementwise functions on vectors and matrices against NumPy."""

import kernel_ops as ops
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support import assert_close, assert_exact, np_dtype, reference, supported

import quadrants as qd

SHAPES = [(2,), (3,), (4,), (2, 2), (2, 3), (3, 3)]
COUNT = 16


def tensor_type(shape: tuple[int, ...], dtype: str):
    """The vector or matrix type of a shape."""
    element = getattr(qd, dtype)
    return qd.types.vector(shape[0], element) if len(shape) == 1 else qd.types.matrix(*shape, element)


def _kernel(table: list[tuple], shape: tuple[int, ...], dtype: str, form: str):
    """out[k, i] is operation k of x[i] and y[i]; `form` makes the left or right operand a scalar."""
    funcs, t = [row[1] for row in table], tensor_type(shape, dtype)
    first = (0,) * len(shape)

    @qd.kernel
    def run_tensors(
        x: qd.types.ndarray(dtype=t, ndim=1),
        y: qd.types.ndarray(dtype=t, ndim=1),
        out: qd.types.ndarray(dtype=t, ndim=2),
    ):
        for i in range(x.shape[0]):
            for k, f in qd.static(enumerate(funcs)):
                if qd.static(form == "both"):
                    out[k, i] = f(x[i], y[i])
                elif qd.static(form == "left"):
                    out[k, i] = f(x[i][first], y[i])
                else:
                    out[k, i] = f(x[i], y[i][first])

    return run_tensors


def _check(table, shape, dtype, form, x, y, exact: bool) -> None:
    out = np.zeros((len(table), *x.shape), x.dtype)
    _kernel(table, shape, dtype, form)(x, y, out)
    corner = (slice(None), *(slice(0, 1),) * len(shape))
    left = np.broadcast_to(x[corner], x.shape) if form == "left" else x
    right = np.broadcast_to(y[corner], x.shape) if form == "right" else y
    left, right = left.ravel(), right.ravel()
    for row, got in zip(table, out, strict=True):
        want = reference(row, left, right).astype(x.dtype)
        name = f"{row[0]} {dtype} {shape} {form}"
        if exact:
            assert_exact(name, got.ravel(), want, left, right)
        else:
            assert_close(name, got.ravel(), want, {"f32": 1e-6, "f64": 1e-14}[dtype], 1e-6, left, right)


@pytest.mark.parametrize("form", ["both", "left", "right"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_integer_operators(arch, shape: tuple[int, ...], form: str) -> None:
    """Every integer operator elementwise, scalars on either side broadcast."""
    rng = np.random.default_rng(3)
    for dtype in ("i32", "u8", "i64"):
        bitwise_logic = [row for row in ops.INT_BINARY if row[0] not in ("and", "or", "select_left", "choose_right")]
        table = supported(bitwise_logic + ops.INT_DIVISION, dtype)
        info = np.iinfo(np_dtype(dtype))
        x = rng.integers(info.min, info.max, (COUNT, *shape), np_dtype(dtype), endpoint=True)
        y = rng.integers(1, 100, (COUNT, *shape)).astype(np_dtype(dtype))
        _check(table, shape, dtype, form, x, y, exact=True)


@pytest.mark.parametrize("form", ["both", "left", "right"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_real_operators(arch, shape: tuple[int, ...], form: str) -> None:
    """+ - * / // % max min elementwise in f32 and f64."""
    rng = np.random.default_rng(4)
    for dtype in ("f32", "f64"):
        table = [row for row in ops.REAL_BINARY + ops.REAL_FLOOR if row[0] not in ("choose_right", "raw_mod")]
        x = (rng.integers(-64, 64, (COUNT, *shape)) / 4).astype(np_dtype(dtype))
        y = rng.choice([-4, -2, -0.5, 0.5, 1, 2, 8], (COUNT, *shape)).astype(np_dtype(dtype))
        _check(table, shape, dtype, form, x, y, exact=False)


@pytest.mark.parametrize("shape", [(3,), (2, 2)], ids=str)
def test_comparisons(arch, shape: tuple[int, ...]) -> None:
    """Comparisons give 0 or 1 per element."""
    table = ops.COMPARISON
    funcs, t, flags = [row[1] for row in table], tensor_type(shape, "f32"), tensor_type(shape, "i32")

    @qd.kernel
    def compare(
        x: qd.types.ndarray(dtype=t, ndim=1),
        y: qd.types.ndarray(dtype=t, ndim=1),
        out: qd.types.ndarray(dtype=flags, ndim=2),
    ):
        for i in range(x.shape[0]):
            for k, f in qd.static(enumerate(funcs)):
                out[k, i] = f(x[i], y[i])

    rng = np.random.default_rng(5)
    x, y = (rng.integers(-2, 3, (COUNT, *shape)).astype(np.float32) for _ in range(2))
    x[0] = np.inf
    out = np.zeros((len(table), *x.shape), np.int32)
    compare(x, y, out)
    for row, got in zip(table, out, strict=True):
        assert_exact(row[0], got.ravel(), row[2](x, y).astype(np.int32).ravel(), x.ravel(), y.ravel())


@pytest.mark.parametrize("shape", [(3,), (2, 3)], ids=str)
def test_elementwise_functions(arch, shape: tuple[int, ...]) -> None:
    """Each real function of a tensor is the function of its elements."""
    for dtype in ("f32", "f64"):
        table = [row[:3] for row in ops.REAL_FUNCTIONS] + supported(ops.REAL_EXACT_UNARY, dtype)
        funcs, t = [row[1] for row in table], tensor_type(shape, dtype)

        @qd.kernel
        def functions(x: qd.types.ndarray(dtype=t, ndim=1), out: qd.types.ndarray(dtype=t, ndim=2)):  # noqa: B023
            for i in range(x.shape[0]):
                for k, f in qd.static(enumerate(funcs)):  # noqa: B023
                    out[k, i] = f(x[i])

        x = np.random.default_rng(6).uniform(0.01, 1, (COUNT, *shape)).astype(np_dtype(dtype))
        out = np.zeros((len(table), *x.shape), x.dtype)
        functions(x, out)
        rtol = {"f32": 1e-4, "f64": 1e-12}[dtype]
        for row, got in zip(table, out, strict=True):
            assert_close(
                f"{row[0]} {dtype} {shape}", got.ravel(), reference(row, x).ravel(), rtol, 1e-6 * rtol, x.ravel()
            )


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 3, 3), (2, 3, 4), (4, 4, 4), (6, 6, 6)], ids=str)
def test_matrix_products(arch, sizes: tuple[int, int, int]) -> None:
    """a @ b, a @ v, w @ a and v @ v for generated matrices."""
    n, k, m = sizes
    for dtype in ("f32", "f64", "i32"):
        a_t, b_t, c_t = (tensor_type(s, dtype) for s in ((n, k), (k, m), (n, m)))
        v_t, av_t, va_t, scalar = (
            tensor_type((k,), dtype),
            tensor_type((n,), dtype),
            tensor_type((m,), dtype),
            getattr(qd, dtype),
        )

        @qd.kernel
        def products(a: a_t, b: b_t, v: v_t) -> tuple[c_t, av_t, va_t, scalar]:
            return a @ b, a @ v, v @ b, v @ v

        if dtype == "i32":
            entries = st.integers(-(2**31), 2**31 - 1)
        else:
            entries = st.floats(-100, 100, width=32, allow_subnormal=False)
        dt = np_dtype(dtype)

        @settings(max_examples=8, deadline=None, derandomize=True)
        @given(
            hnp.arrays(dt, (n, k), elements=entries),
            hnp.arrays(dt, (k, m), elements=entries),
            hnp.arrays(dt, k, elements=entries),
        )
        def generated(a, b, v):
            got = products(a, b, v)  # noqa: B023
            want = (a @ b, a @ v, v @ b, v @ v)
            for name, g, w in zip(("a @ b", "a @ v", "v @ b", "v @ v"), got, want, strict=True):
                g = g if isinstance(g, (int, float)) else g.to_numpy()
                if dt.kind == "i":
                    np.testing.assert_array_equal(g, w, err_msg=name)
                else:
                    np.testing.assert_allclose(
                        g,
                        w,
                        rtol=1e-4 if dt.itemsize == 4 else 1e-12,
                        atol=0.1 if dt.itemsize == 4 else 1e-9,
                        err_msg=name,
                    )

        generated()


def test_casts_of_tensors(arch) -> None:
    """cast, int, float, bool and bit_cast work element by element."""

    @qd.kernel
    def casts(
        v: qd.math.vec3,
    ) -> tuple[
        qd.types.vector(3, qd.i32), qd.types.vector(3, qd.i8), qd.types.vector(3, qd.u32), qd.types.vector(3, qd.f32)
    ]:
        return v.cast(qd.i32), qd.cast(v, qd.i8), qd.bit_cast(v, qd.u32), float(int(v))

    v = np.array([1.75, -2.75, 100.5], np.float32)
    a, b, c, d = casts(v)
    np.testing.assert_array_equal(a.to_numpy(), v.astype(np.int32))
    np.testing.assert_array_equal(b.to_numpy(), v.astype(np.int8))
    np.testing.assert_array_equal(c.to_numpy(), v.view(np.uint32))
    np.testing.assert_array_equal(d.to_numpy(), np.trunc(v))


def test_select_and_pow_broadcast(arch) -> None:
    """select with a vector or scalar condition, and powers with scalars on either side."""

    @qd.kernel
    def mixed(c: qd.types.vector(3, qd.i32), x: qd.math.vec3, y: qd.f32) -> qd.types.matrix(5, 3, qd.f32):
        a = qd.select(c, x, y)
        b = qd.select(c[0], x, -x)
        d = x**2
        e = y**x
        f = qd.atan2(x, y)
        return qd.Matrix(
            [[a[0], a[1], a[2]], [b[0], b[1], b[2]], [d[0], d[1], d[2]], [e[0], e[1], e[2]], [f[0], f[1], f[2]]]
        )

    c, x, y = np.array([1, 0, -5], np.int32), np.array([0.5, 2.0, -1.5], np.float32), np.float32(1.25)
    want = np.stack([np.where(c != 0, x, y), x, x**2, y**x, np.arctan2(x, y)])
    np.testing.assert_allclose(mixed(c, x, y).to_numpy(), want, rtol=1e-5)
