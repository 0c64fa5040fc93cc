"""Operators and methods of Python-scope vectors and matrices, against NumPy and known values."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from quadrants.errors import QuadrantsCompilationError
from quadrants.ir.types import f32
from quadrants.lang.matrix import Matrix, Vector

OPERATORS = [getattr(operator, n) for n in "add sub mul truediv floordiv mod eq ne lt le gt ge".split()]
INTEGER_OPERATORS = [getattr(operator, n) for n in "and_ or_ xor lshift rshift pow".split()]
A, B = np.array([7, 2, 3]), np.array([1, 2, 4])


@pytest.mark.parametrize("op", OPERATORS + INTEGER_OPERATORS)
@pytest.mark.parametrize("wrap_right", [Vector, np.asarray, list, lambda b: 2])
def test_binary_operators(op, wrap_right):
    right = wrap_right(B)
    plain = 2 if isinstance(right, int) else B
    for got, want in ((op(Vector(A), right), op(A, plain)), (op(right, Vector(A)), op(plain, A))):
        assert isinstance(got, Vector)
        assert got.to_numpy().dtype == want.dtype
        np.testing.assert_array_equal(got.to_numpy(), want)


def test_unary_operators():
    v = Vector([1, -2])
    assert ((-v).to_list(), (+v).to_list(), (~v).to_list(), abs(v).to_list()) == ([-1, 2], [1, -2], [-2, 1], [1, 2])


def test_in_place_forms_rebind():
    v = w = Vector([1, 2])
    w += 1
    assert v.to_list() == [1, 2] and w.to_list() == [2, 3]


def test_numpy_scalars_on_the_left():
    assert isinstance(np.float32(2) * Vector([1, 2]), Vector)


def test_comparison_truth_and_hash():
    v = Vector([1, 2])
    assert (v + 1 == Vector([2, 3])).all() is True
    assert (v == Vector([1, 3])).all() is False
    assert (v == Vector([1, 3])).any() is True
    assert bool(v) and not bool(Vector([]))
    assert hash(v) == hash(v) and len({v, Vector([1, 2])}) == 2


def test_broadcasting_is_numpys():
    assert (Vector([1, 2]) + Matrix([[1, 2], [3, 4]])).to_list() == [[2, 4], [4, 6]]
    with pytest.raises(ValueError):
        Vector([1, 2, 3]) + Vector([1, 2])


def test_matmul():
    v, m, n = Vector([1, 2]), Matrix([[1, 2], [3, 4]]), Matrix([[1, 2, 3], [3, 4, 5]])
    assert v @ v == 5
    assert (m @ v).to_list() == [5, 11] and (v @ m).to_list() == [7, 10]
    assert (m @ n).get_shape() == (2, 3)
    assert isinstance(np.ones((2, 2)) @ m, Matrix)
    with pytest.raises(QuadrantsCompilationError, match=r"dimension mismatch between \(2, 3\) and \(2, 3\)"):
        n @ n
    with pytest.raises(QuadrantsCompilationError, match="multiply by a scalar"):
        m @ 2


def test_products():
    v, w = Vector([1, 2, 3]), Vector([1.5, 2, 4])
    assert v.dot(w) == 17.5
    assert v.cross(w).to_list() == [2.0, 0.5, -1.0]
    assert Vector([1, 2]).cross(Vector([3, 4])) == -2
    assert v.outer_product(Vector([1, 2])).to_list() == [[1, 2], [2, 4], [3, 6]]
    assert Matrix([[1, 2], [3, 4]]).frobenius_inner(Matrix([[1, 2], [3, 4]])) == 30


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: Vector([1]).dot(Matrix([[1]])), "rhs for dot is not a vector"),
        (lambda: Matrix([[1]]).dot(Vector([1])), "lhs for dot is not a vector"),
        (lambda: Vector([1, 2, 3]).cross(Vector([1, 2])), "required shapes to be the same"),
        (lambda: Vector([1] * 4).cross(Vector([1] * 4)), r"only dimension < 4 is supported, got shape \(4,\)"),
        (lambda: Matrix([[1]]).normalized(), "expected a vector"),
        (lambda: Vector([1]).transpose(), "cannot apply to a vector"),
        (lambda: Matrix([[1, 2]]).trace(), r"expected a square matrix, got shape \(1, 2\)"),
        (lambda: Matrix([[1, 2]]).inverse(), r"expected a square matrix, got shape \(1, 2\)"),
        (lambda: Matrix._wrap(np.eye(13)).inverse(), "only dimension < 13 is supported"),
    ],
)
def test_method_errors(call, text):
    with pytest.raises(QuadrantsCompilationError, match=text):
        call()


@pytest.mark.parametrize("call", [lambda m: m.determinant(), lambda m: m.cast(f32)])
def test_kernel_methods_name_the_scope(call):
    with pytest.raises(AssertionError, match="cannot be called in Python-scope"):
        call(Matrix([[1]]))


def test_norms():
    v = Vector([3, 4])
    assert (v.norm(), v.norm_sqr(), v.norm(11), v.norm_inv()) == (5.0, 25, 6.0, 0.2)
    assert v.normalized().to_list() == [pytest.approx(0.6), 0.8]
    assert v.normalized(5).to_list() == [pytest.approx(0.3), 0.4]
    assert np.isinf(Vector([0, 0]).norm_inv()) and np.isnan(Vector([0, 0]).normalized().to_numpy()).all()


def test_reductions_and_fill():
    m = Matrix([[1, 2], [3, 0]])
    assert (m.sum(), m.max(), m.min(), m.trace(), m.any(), m.all()) == (6, 3, 0, 1, True, False)
    m.fill(2.5)
    assert m.to_list() == [[2, 2], [2, 2]]


def test_known_inverse():
    got = Matrix([[1, 2, 3], [4, 5, 6], [7, 8, 10]]).inverse().to_numpy()
    np.testing.assert_allclose(got, [[-2 / 3, -4 / 3, 1], [-2 / 3, 11 / 3, -2], [1, -2, 1]], atol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 12])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_inverse_rebuilds_identity(n, dtype):
    a = (np.random.default_rng(n).integers(-3, 4, (n, n)) + np.eye(n) * 20).astype(dtype)
    np.testing.assert_allclose((Matrix(a) @ Matrix(a).inverse()).to_numpy(), np.eye(n), atol=1e-12)


@pytest.mark.parametrize("n", [2, 6])
def test_inverse_of_singular_matrix_is_not_finite(n):
    assert not np.isfinite(Matrix(np.ones((n, n))).inverse().to_numpy()).any()


@given(hnp.arrays(np.float64, (3,), elements=st.floats(-1e3, 1e3)))
def test_cross_product_is_orthogonal(a):
    b = Vector([1.0, -2.0, 0.5])
    assert abs(Vector(a).cross(b).dot(b)) <= 1e-9
