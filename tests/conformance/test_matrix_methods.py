"""matrix-math.md 8: methods of vectors and matrices against NumPy over generated inputs, f32 and f64 and integers."""

import numpy as np
import pytest
from support import np_dtype
from test_matrix_operators import tensor_type

import quadrants as qd

COUNT = 50
RTOL = {"f32": 1e-5, "f64": 1e-12}


def _vectors(n: int, dtype: str, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=(COUNT, n)).astype(np_dtype(dtype)) for _ in range(2))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_vector_methods(arch, n: int, dtype: str) -> None:
    """dot, norms, normalized, reductions, with eps where there is one."""
    t, scalar = tensor_type((n,), dtype), getattr(qd, dtype)

    @qd.kernel
    def methods(
        x: qd.types.ndarray(dtype=t, ndim=1),
        y: qd.types.ndarray(dtype=t, ndim=1),
        numbers: qd.types.ndarray(dtype=scalar, ndim=2),
        unit: qd.types.ndarray(dtype=t, ndim=1),
        flags: qd.types.ndarray(dtype=qd.i32, ndim=2),
    ):
        for i in range(x.shape[0]):
            a, b = x[i], y[i]
            numbers[0, i] = a.dot(b)
            numbers[1, i] = a.norm()
            numbers[2, i] = a.norm_sqr()
            numbers[3, i] = a.norm_inv()
            numbers[4, i] = a.norm(0.5)
            numbers[5, i] = a.sum()
            numbers[6, i] = a.max()
            numbers[7, i] = a.min()
            numbers[8, i] = a.normalized(0.25).norm()
            unit[i] = a.normalized()
            flags[0, i] = (a > 0).any()
            flags[1, i] = (a > 0).all()
            flags[2, i] = a.all()

    x, y = _vectors(n, dtype)
    x[3] = 0
    x[4, 0] = 0
    numbers, unit, flags = np.zeros((9, COUNT), x.dtype), np.zeros_like(x), np.zeros((3, COUNT), np.int32)
    methods(x, y, numbers, unit, flags)
    x64, y64 = x.astype(np.float64), y.astype(np.float64)
    square = (x64 * x64).sum(1)
    norm = np.sqrt(square)
    with np.errstate(all="ignore"):
        want = [
            (x64 * y64).sum(1),
            norm,
            square,
            1 / norm,
            np.sqrt(square + 0.5),
            x64.sum(1),
            x64.max(1),
            x64.min(1),
            norm / (norm + 0.25),
        ]
        unit64 = x64 / norm[:, None]
    for k, (got, w) in enumerate(zip(numbers, want, strict=True)):
        np.testing.assert_allclose(got, w, rtol=RTOL[dtype] * 10, atol=RTOL[dtype], err_msg=str(k))
    keep = norm > 0
    np.testing.assert_allclose(unit[keep], unit64[keep], rtol=RTOL[dtype] * 10, atol=RTOL[dtype])
    np.testing.assert_array_equal(flags, np.stack([(x > 0).any(1), (x > 0).all(1), (x != 0).all(1)]).astype(np.int32))


@pytest.mark.parametrize("dtype", ["f32", "f64", "i32"])
def test_cross_and_outer(arch, dtype: str) -> None:
    """cross in two and three dimensions (exact zeros stay zero), outer products of different lengths."""
    v2, v3, m, scalar = (
        tensor_type((2,), dtype),
        tensor_type((3,), dtype),
        tensor_type((2, 3), dtype),
        getattr(qd, dtype),
    )

    @qd.kernel
    def crosses(a: v2, b: v2, c: v3, d: v3) -> tuple[scalar, v3, m, v3]:
        return a.cross(b), c.cross(d), a.outer_product(c), c.cross(c * 2)

    rng = np.random.default_rng(2)
    for _ in range(20):
        a, b = rng.integers(-9, 9, (2, 2)).astype(np_dtype(dtype))
        c, d = rng.integers(-9, 9, (2, 3)).astype(np_dtype(dtype))
        flat, cross, outer, zero = crosses(a, b, c, d)
        assert flat == a[0] * b[1] - a[1] * b[0]
        np.testing.assert_array_equal(cross.to_numpy(), np.cross(c, d))
        np.testing.assert_array_equal(outer.to_numpy(), np.outer(a, c))
        np.testing.assert_array_equal(zero.to_numpy(), 0)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 9, 12])
def test_square_matrices(arch, n: int, dtype: str) -> None:
    """inverse up to 12x12, determinant up to 4x4, trace, transpose, frobenius_inner, norm."""
    t, scalar = tensor_type((n, n), dtype), getattr(qd, dtype)

    @qd.kernel
    def square(
        x: qd.types.ndarray(dtype=t, ndim=1),
        inverse: qd.types.ndarray(dtype=t, ndim=1),
        transposed: qd.types.ndarray(dtype=t, ndim=1),
        numbers: qd.types.ndarray(dtype=scalar, ndim=2),
    ):
        for i in range(x.shape[0]):
            m = x[i]
            inverse[i] = m.inverse()
            transposed[i] = m.transpose()
            numbers[0, i] = m.trace()
            numbers[1, i] = m.frobenius_inner(m)
            numbers[2, i] = m.norm()
            if qd.static(n <= 4):
                numbers[3, i] = m.determinant()

    rng = np.random.default_rng(n)
    x = (rng.normal(size=(10, n, n)) + 2 * np.eye(n)).astype(np_dtype(dtype))
    if n > 1:
        x[0] = np.roll(np.eye(n), 1, axis=0)
    inverse, transposed, numbers = np.zeros_like(x), np.zeros_like(x), np.zeros((4, 10), x.dtype)
    square(x, inverse, transposed, numbers)
    x64 = x.astype(np.float64)
    for got, m in zip(inverse, x64, strict=True):
        bound = np.linalg.cond(m) * {"f32": 2e-6, "f64": 2e-15}[dtype] * n * np.abs(np.linalg.inv(m)).max()
        assert np.abs(got - np.linalg.inv(m)).max() <= bound, (n, dtype, bound)
    np.testing.assert_array_equal(transposed, x.transpose(0, 2, 1))
    tol = {"rtol": RTOL[dtype] * 10, "atol": RTOL[dtype] * 10}
    np.testing.assert_allclose(numbers[0], np.trace(x64, axis1=1, axis2=2), **tol)
    np.testing.assert_allclose(numbers[1], (x64 * x64).sum((1, 2)), **tol)
    np.testing.assert_allclose(numbers[2], np.sqrt((x64 * x64).sum((1, 2))), **tol)
    if n <= 4:
        np.testing.assert_allclose(numbers[3], np.linalg.det(x64), **tol)


def test_integer_reductions(arch) -> None:
    """Integer sums wrap in the element type, norm_sqr stays an integer, norm and inverse are real."""
    u8, i32, b = qd.types.vector(4, qd.u8), qd.types.vector(3, qd.i32), qd.types.matrix(2, 2, qd.i32)

    @qd.kernel
    def reductions(
        u: u8, v: i32, m: b
    ) -> tuple[qd.i32, qd.i32, qd.i32, qd.i32, qd.f32, qd.i32, qd.i32, qd.types.matrix(2, 2, qd.f32)]:
        return (
            qd.cast(u.sum(), qd.i32),
            v.sum(),
            v.max(),
            v.norm_sqr(),
            v.norm(),
            qd.cast((v > 0).sum(), qd.i32),
            m.determinant(),
            m.inverse(),
        )

    values = list(
        reductions(np.array([200, 100, 1, 2], np.uint8), np.array([3, -4, 12], np.int32), np.array([[1, 2], [3, 4]]))
    )
    assert values[:4] == [47, 11, 12, 169]
    assert values[4] == 13
    assert values[5] == 0, "a u1 sum is modulo 2"
    assert values[6] == -2
    np.testing.assert_allclose(values[7].to_numpy(), [[-2, 1], [1.5, -0.5]], rtol=1e-6)


def test_fill_and_shapes(arch) -> None:
    """fill writes in place; transpose of a rectangle; rows, columns and diagonals."""

    @qd.kernel
    def build(
        m: qd.types.matrix(2, 3, qd.f32),
    ) -> tuple[qd.types.matrix(3, 2, qd.f32), qd.types.matrix(2, 3, qd.f32), qd.types.matrix(3, 3, qd.f32)]:
        a = m
        a.fill(2.5)
        return m.transpose(), a, qd.Matrix.diag(3, 4.5)

    m = np.arange(6, dtype=np.float32).reshape(2, 3)
    transposed, filled, diagonal = build(m)
    np.testing.assert_array_equal(transposed.to_numpy(), m.T)
    np.testing.assert_array_equal(filled.to_numpy(), np.full((2, 3), 2.5))
    np.testing.assert_array_equal(diagonal.to_numpy(), 4.5 * np.eye(3))
