"""Operators of sparse matrices, against SciPy and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed: pip install scipy")

both = pytest.mark.parametrize("dtype", [qd.f32, qd.f64])
formats = pytest.mark.parametrize("storage_format", ["col_major", "row_major"])


def random_matrix(n, m, dtype=qd.f32, storage_format="col_major", seed=1):
    """A matrix with half of its entries, and the same as an array of f64."""
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n, m)) < 0.5, rng.integers(-8, 9, (n, m)) / 4, 0)
    return qd.linalg.SparseMatrix(sm=sparse.coo_array(dense), dtype=dtype, storage_format=storage_format), dense


def dense(A):
    return A.to_scipy().toarray()


def equal(A, expected, dtype):
    assert isinstance(A, qd.linalg.SparseMatrix) and A.dtype == dtype
    assert dense(A).dtype == np.dtype(str(np.float32().dtype if dtype == qd.f32 else np.float64().dtype))
    np.testing.assert_array_equal(dense(A), expected)


@both
@formats
def test_sums_products_and_transposes(arch, dtype, storage_format):
    A, a = random_matrix(5, 4, dtype, storage_format, 1)
    B, b = random_matrix(5, 4, dtype, "row_major", 2)
    C, c = random_matrix(4, 3, dtype, storage_format, 3)
    equal(A + B, a + b, dtype)
    equal(A - B, a - b, dtype)
    equal(A * B, a * b, dtype)
    equal(A * 2.5, 2.5 * a, dtype)
    equal(2.5 * A, 2.5 * a, dtype)
    equal(A * 3, 3 * a, dtype)
    equal(np.float32(0.5) * A, a / 2, dtype)
    equal(np.int64(2) * A, a * 2, dtype)
    equal(A @ C, a @ c, dtype)
    equal(A.transpose(), a.T, dtype)
    assert A.transpose().storage_format == (A + B).storage_format == storage_format
    equal(A, a, dtype)
    D = A
    A += B
    equal(A, a + b, dtype)
    A -= B
    A -= B
    equal(D, a - b, dtype)


@both
@formats
def test_products_with_vectors(arch, dtype, storage_format):
    A, a = random_matrix(5, 4, dtype, storage_format)
    real = np.float32 if dtype == qd.f32 else np.float64
    x = np.array([1, -2, 0.5, 3])
    for given in (x, x.astype(np.float32), np.array([1, 2, 3, 4], np.int32), np.array([True, False, True, True])):
        y = A @ given
        assert isinstance(y, np.ndarray) and y.dtype == real
        np.testing.assert_allclose(y, a @ given)
    for kind in (dtype, qd.f32, qd.i32):
        field, array = qd.field(kind, 4), qd.ndarray(kind, 4)
        values = np.array([1, -2, 3, 4])
        field.from_numpy(values.astype(np.int32 if kind == qd.i32 else np.float32 if kind == qd.f32 else np.float64))
        array.from_numpy(values.astype(np.int32 if kind == qd.i32 else np.float32 if kind == qd.f32 else np.float64))
        y = A @ field
        assert isinstance(y, np.ndarray) and y.dtype == real
        np.testing.assert_allclose(y, a @ values)
        z = A @ array
        assert isinstance(z, qd.ScalarNdarray) and z.dtype == dtype and z.shape == (5,)
        np.testing.assert_allclose(z.to_numpy(), a @ values)


def test_a_product_follows_the_matrix(arch):
    """What kernels read of a matrix is made anew when it changes."""
    A, a = random_matrix(4, 4)
    x = qd.ndarray(qd.f32, 4)
    x.fill(1)
    np.testing.assert_allclose((A @ x).to_numpy(), a.sum(1))
    A[1, 2] = 100
    a[1, 2] = 100
    np.testing.assert_allclose((A @ x).to_numpy(), a.sum(1))
    A += A
    np.testing.assert_allclose((A @ x).to_numpy(), 2 * a.sum(1))


def test_products_of_matrices_with_empty_rows_and_without_entries(arch):
    A = qd.linalg.SparseMatrix(3, 2)
    x = qd.ndarray(qd.f32, 2)
    x.fill(1)
    assert list((A @ x).to_numpy()) == [0, 0, 0] and list(A @ np.ones(2)) == [0, 0, 0]
    A[2, 1] = 5
    assert list((A @ x).to_numpy()) == [0, 0, 5]
    assert qd.linalg.SparseMatrix(4).shape == (4, 4)


@formats
def test_entries_are_read_and_assigned(arch, storage_format):
    A, a = random_matrix(5, 4, qd.f64, storage_format)
    for i, j in np.ndindex(5, 4):
        assert type(A[i, j]) is float and A[i, j] == a[i, j]
    zero, other = tuple(np.argwhere(a == 0)[0]), tuple(np.argwhere(a != 0)[3])
    for at in (zero, other):
        A[at] = 0.1
        a[at] = 0.1
    np.testing.assert_array_equal(dense(A), a)
    A[other] = 0
    assert A[other] == 0
    for at in ((5, 0), (0, 4), (-1, 0)):
        with pytest.raises(IndexError, match="outside of a sparse matrix of 5 x 4"):
            A[at]
        with pytest.raises(IndexError, match="outside of a sparse matrix of 5 x 4"):
            A[at] = 1
    with pytest.raises(IndexError, match="a row and a column"):
        A[0]
    for row in (slice(None), 1.5, "a", None):
        with pytest.raises(IndexError, match=r"an integer for its row and one for its column.*to_scipy\(\) has slices"):
            A[row, 0]
    assert A[np.int64(1), np.uint8(2)] == A[1, 2]
    for value in (None, 1j, "1", [1]):
        with pytest.raises(TypeError, match="is a real number"):
            A[0, 0] = value


@both
@formats
def test_a_matrix_shares_nothing_with_scipys(arch, dtype, storage_format):
    real = np.float32 if dtype == qd.f32 else np.float64
    given = sparse.csc_array(np.eye(2, dtype=real))
    given = given if storage_format == "col_major" else given.tocsr()
    A = qd.linalg.SparseMatrix(sm=given, dtype=dtype, storage_format=storage_format)
    x = qd.ndarray(dtype, 2)
    x.fill(1)
    assert list((A @ x).to_numpy()) == [1, 1]
    given.data[:] = 5
    A.to_scipy().data[:] = 6
    for B in (A, A.transpose().transpose()):
        assert list((B @ x).to_numpy()) == list(B @ np.ones(2, real)) == [1, 1] and B[0, 0] == 1
    B = A.transpose()
    B[0, 0] = 9
    assert A[0, 0] == 1


def test_text(arch):
    A = qd.linalg.SparseMatrix(3, 2)
    assert str(A) == repr(A) == "[0, 0]\n[0, 0]\n[0, 0]"
    A[0, 1] = -1.23456789
    A[2, 0] = 1234567
    assert str(A) == "[        0,    -1.235]\n[        0,         0]\n[1.235e+06,         0]"


@both
def test_files_of_matrix_market(arch, tmp_path, dtype):
    from scipy import io

    A, a = random_matrix(5, 4, dtype)
    A[0, 0] = 1 / 3
    A.mmwrite(tmp_path / "a.mtx")
    lines = (tmp_path / "a.mtx").read_text().splitlines()
    assert lines[0] == "%%MatrixMarket matrix coordinate real general"
    assert [p.name for p in tmp_path.iterdir()] == ["a.mtx"]
    places = [tuple(map(int, line.split()[:2])) for line in lines[-A.to_scipy().nnz :]]
    assert places == sorted(places, key=lambda at: (at[1], at[0])) and min(min(at) for at in places) == 1
    np.testing.assert_array_equal(io.mmread(tmp_path / "a.mtx").toarray().astype(dense(A).dtype), dense(A))


def test_symmetric_matrices_are_written_whole(arch, tmp_path):
    A = qd.linalg.SparseMatrix(2, 2)
    A[0, 1] = A[1, 0] = 2
    A.mmwrite(str(tmp_path / "b.txt"))
    text = (tmp_path / "b.txt").read_text()
    assert "general" in text and len(text.splitlines()[-2:]) == 2 and "2 2 2" in text


@both
def test_triplets_of_an_ndarray(arch, dtype):
    triplets = np.array([[0, 0, 1], [2, 3, -2.5], [0, 0, 4], [1, 2, 8]])
    expected = np.zeros((3, 4))
    np.add.at(expected, (triplets[:, 0].astype(int), triplets[:, 1].astype(int)), triplets[:, 2])
    real = np.float32 if dtype == qd.f32 else np.float64
    flat, rows, square = qd.ndarray(dtype, 12), qd.Vector.ndarray(3, dtype, 4), qd.Matrix.ndarray(2, 3, dtype, 2)
    flat.from_numpy(triplets.reshape(-1).astype(real))
    rows.from_numpy(triplets.astype(real))
    square.from_numpy(triplets.reshape(2, 2, 3).astype(real))
    A, _ = random_matrix(3, 4, dtype)
    for given in (flat, rows, square):
        A.build_from_ndarray(given)
        equal(A, expected, dtype)


def test_triplets_that_do_not_fit_are_refused(arch):
    A = qd.linalg.SparseMatrix(3, 3)
    for given, text in (
        (np.zeros(3), "only supports building from"),
        ([1, 2, 3], "only supports building from"),
        (qd.field(qd.f32, 3), "only supports building from"),
        (qd.ndarray(qd.f32, 4), "divisible by 3"),
        (qd.ndarray(qd.i32, 3), "i32 is not consistent with the sparse matrix's dtype f32"),
    ):
        with pytest.raises(qd.QuadrantsRuntimeError, match=text):
            A.build_from_ndarray(given)
    triplet = qd.ndarray(qd.f32, 3)
    for row in (3, -1, 0.5):
        triplet.from_numpy(np.float32([row, 0, 1]))
        with pytest.raises(qd.QuadrantsRuntimeError, match="is no entry of a matrix"):
            A.build_from_ndarray(triplet)


def test_shapes_that_do_not_fit_are_refused(arch):
    A, B = qd.linalg.SparseMatrix(3, 3), qd.linalg.SparseMatrix(2, 3)
    for run in (lambda: A + B, lambda: A - B, lambda: A * B, lambda: A.__iadd__(B), lambda: A.__isub__(B)):
        with pytest.raises(AssertionError, match=r"Dimension mismatch between sparse matrices \(3, 3\) and \(2, 3\)"):
            run()
    with pytest.raises(AssertionError, match=r"between sparse matrices \(2, 3\) and \(2, 3\)"):
        B @ B
    message = r"Dimension mismatch between sparse matrix \(3, 3\) and vector \(\(5,\)\)"
    for x in (np.zeros(5), qd.field(qd.f32, 5)):
        with pytest.raises(AssertionError, match=message):
            A @ x
    with pytest.raises(qd.QuadrantsRuntimeError, match=message):
        A @ qd.ndarray(qd.f32, 5)
    with pytest.raises(AssertionError, match=r"vector \(\(3, 1\)\)"):
        A @ np.zeros((3, 1))


def test_operands_of_other_types_are_refused(arch):
    A = qd.linalg.SparseMatrix(3, 3)
    for run in (lambda: A + 1, lambda: A - 1.5, lambda: A * "x", lambda: A * [1.0], lambda: "x" * A, lambda: A * 1j):
        with pytest.raises(TypeError):
            run()
    for other in ([1, 2, 3], "x", 2.0, None):
        with pytest.raises(qd.QuadrantsRuntimeError, match="does not support <class"):
            A @ other
    for arguments in (dict(n=3, dtype=qd.i32), dict(n=3, storage_format="x"), dict()):
        with pytest.raises(qd.QuadrantsRuntimeError):
            qd.linalg.SparseMatrix(**arguments)
