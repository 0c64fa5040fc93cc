"""Matrices of many triplets, which are made on the device where that takes less time than on the host."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd
from quadrants.linalg import _assembly

sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed: pip install scipy")


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(_assembly, "LEAST", 1)


@qd.kernel
def append(B: qd.types.sparse_matrix_builder(), i: qd.types.ndarray(), j: qd.types.ndarray(), x: qd.types.ndarray()):
    for t in range(i.shape[0]):
        B[i[t], j[t]] += x[t]


def triplets(shape, count, seed=0, rows=None):
    """Whole numbers, so that sums are exact in every order."""
    rng = np.random.default_rng(seed)
    i = rng.integers(0, shape[0], count) if rows is None else rng.choice(rows, count)
    return i.astype(np.int32), rng.integers(0, shape[1], count).astype(np.int32), rng.integers(-9, 10, count)


def built(shape, i, j, x, dtype=qd.f32, storage_format="col_major"):
    B = qd.linalg.SparseMatrixBuilder(*shape, len(i), dtype, storage_format)
    append(B, i, j, x.astype(np.float32 if dtype == qd.f32 else np.float64))
    return B.build()


def is_scipys(A, shape, i, j, x):
    expected = sparse.coo_array((x.astype(np.float64), (i, j)), shape=shape).tocsr()
    found = A.to_scipy()
    assert found.format == {"col_major": "csc", "row_major": "csr"}[A.storage_format]
    assert found.dtype == (np.float32 if A.dtype == qd.f32 else np.float64)
    assert found.nnz == expected.nnz and found.has_canonical_format
    assert A.shape == shape and (found != expected).nnz == 0


@pytest.mark.parametrize("storage_format", ["col_major", "row_major"])
@pytest.mark.parametrize("dtype", [qd.f32, qd.f64])
def test_entries_are_scipys(arch, dtype, storage_format):
    for seed, (shape, count) in enumerate(
        [((40, 30), 900), ((1, 1), 50), ((7, 1), 9), ((1, 900), 40), ((3000, 5), 700)]
    ):
        data = triplets(shape, count, seed)
        is_scipys(built(shape, *data, dtype, storage_format), shape, *data)


def test_columns_of_31_bits(arch):
    shape, far = (64, 2**31 - 1), 2**31 - 2
    i = np.array([0, 63, 5, 63, 5, 16], np.int32)
    j = np.array([far, far, 2**16, far, 2**16 - 1, 0], np.int32)
    x = np.arange(1, 7)
    found = built(shape, i, j, x, storage_format="row_major").to_scipy().tocoo()
    expected = sparse.coo_array((x.astype(np.float64), (i, j)), shape=shape).tocsr().tocoo()
    entries = [sorted(zip(m.row.tolist(), m.col.tolist(), m.data.tolist())) for m in (found, expected)]
    assert entries[0] == entries[1]


def test_rows_without_entries(arch):
    shape = (1000, 10)
    data = triplets(shape, 300, 3, rows=[200, 201, 998])
    A = built(shape, *data)
    is_scipys(A, shape, *data)
    starts = A.rows().starts
    starts = starts if isinstance(starts, np.ndarray) else starts.to_numpy()
    assert starts[200] == 0 and starts[202] == starts[998] and starts[999] == starts[1000] == A.to_scipy().nnz


def test_entries_that_cancel_stay(arch):
    i = np.zeros(64, np.int32)
    A = built((2, 2), i, i, np.tile([1, -1], 32))
    assert A.to_scipy().nnz == 1 and A[0, 0] == 0


def test_products_and_solutions_need_no_host(arch):
    n = 60
    line = np.arange(n)
    i = np.concatenate([line, line[1:], line[:-1], line]).astype(np.int32)
    j = np.concatenate([line, line[:-1], line[1:], line]).astype(np.int32)
    x = np.concatenate([np.full(n, 2), np.full(2 * (n - 1), -1), np.full(n, 1)])
    A = built((n, n), i, j, x)
    dense = sparse.coo_array((x.astype(np.float64), (i, j))).toarray()
    b = np.random.default_rng(5).standard_normal(n).astype(np.float32)
    vector = qd.ndarray(qd.f32, n)
    vector.from_numpy(b)
    on_device = A._host is None
    np.testing.assert_allclose((A @ vector).to_numpy(), dense @ b, rtol=1e-5, atol=1e-5)
    solution, converged = qd.linalg.SparseCG(A, b, max_iter=200, atol=1e-6).solve()
    assert converged and np.abs(dense @ solution - b).max() < 1e-4
    assert (A._host is None) is on_device
    np.testing.assert_allclose(A @ b, dense @ b, rtol=1e-5, atol=1e-5)
    A += A
    np.testing.assert_allclose((A @ vector).to_numpy(), 2 * dense @ b, rtol=1e-5, atol=1e-5)
    assert (A - A.transpose()).to_scipy().count_nonzero() == 0


@pytest.mark.parametrize("place", [(-1, 0), (0, -1), (5, 0), (0, 4), (2**31 - 1, 2**31 - 1), (-(2**31), 3)])
def test_triplets_outside_are_refused(arch, place):
    i, j, x = triplets((5, 4), 20)
    i[11], j[11] = place
    B = qd.linalg.SparseMatrixBuilder(5, 4, 30)
    append(B, i, j, x.astype(np.float32))
    told = rf"A triplet at \[{place[0]}, {place[1]}\] is outside of the matrix, which is 5 x 4"
    with pytest.raises(qd.QuadrantsRuntimeError, match=told):
        B.build()
    append(B, i[:5], j[:5], x[:5].astype(np.float32))
    is_scipys(B.build(), (5, 4), i[:5], j[:5], x[:5])


def test_a_matrix_of_a_device_ends_with_the_runtime(arch, init):
    data = triplets((8, 8), 30)
    kept, asked = built((8, 8), *data), built((8, 8), *data)
    on_device = kept._host is None
    asked.to_scipy()
    init()
    is_scipys(asked, (8, 8), *data)
    if on_device:
        with pytest.raises(qd.QuadrantsRuntimeError, match="that qd.init or qd.reset has ended: keep A.to_scipy"):
            kept.to_scipy()
        with pytest.raises(qd.QuadrantsRuntimeError, match="has ended"):
            kept @ qd.ndarray(qd.f32, 8)
    else:
        is_scipys(kept, (8, 8), *data)
