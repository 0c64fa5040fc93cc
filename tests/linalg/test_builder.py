"""Triplets that kernels append, against SciPy and by hand."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import quadrants as qd

sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed: pip install scipy")
FORMATS = ("col_major", "row_major")


@qd.kernel
def diagonal(B: qd.types.sparse_matrix_builder(), n: qd.i32):
    for i in range(n):
        B[i, i] += i + 1


@pytest.mark.parametrize("storage_format", FORMATS)
@pytest.mark.parametrize("dtype", [qd.f32, qd.f64])
def test_entries_of_a_parallel_loop_are_added_up(arch, dtype, storage_format):
    n = 8
    B = qd.linalg.SparseMatrixBuilder(n, n, 4 * n * n, dtype, storage_format)

    @qd.kernel
    def fill(B: qd.types.sparse_matrix_builder()):
        for i, j, k in qd.ndrange(n, n, 4):
            B[i, j] += 10.0 * i + j + 0.25

    fill(B)
    A = B.build()
    i, j = np.indices((n, n))
    np.testing.assert_allclose(A.to_scipy().toarray(), 4 * (10 * i + j + 0.25), rtol=1e-6)
    assert A.shape == (n, n) and (A.n, A.m) == (n, n) and A.dtype == dtype
    assert A.to_scipy().format == {"col_major": "csc", "row_major": "csr"}[storage_format]


def test_plus_and_minus_in_every_kind_of_statement(arch):
    B = qd.linalg.SparseMatrixBuilder(4, 3, 100)

    @qd.func
    def add_twice(B: qd.types.sparse_matrix_builder(), i, v):
        B[i, 0] += v
        B[i, 0] += v

    @qd.func
    def by_template(B: qd.template(), I: qd.template()):
        B[I] -= 3

    @qd.kernel
    def fill(B: qd.types.sparse_matrix_builder()):
        B[3, 2] += 7
        for i in range(4):
            if i % 2 == 0:
                add_twice(B, i, 1.5)
            for j in range(i):
                B[i, 1] -= j
        for I in qd.grouped(qd.ndrange(2, 2)):
            by_template(B, I + 1)

    fill(B)
    expected = np.zeros((4, 3))
    expected[3, 2] += 7
    expected[[0, 2], 0] += 3
    for i in range(4):
        expected[i, 1] -= sum(range(i))
    expected[1:3, 1:3] -= 3
    np.testing.assert_array_equal(B.build().to_scipy().toarray(), expected)


def test_values_are_converted_to_the_dtype_of_the_builder(arch):
    B = qd.linalg.SparseMatrixBuilder(3, 3, 10)

    @qd.kernel
    def fill(B: qd.types.sparse_matrix_builder(), flag: qd.u1, small: qd.u8, index: qd.u8):
        B[0, 0] += flag
        B[1, 1] -= small
        B[2, index] += 2**24 + 1

    fill(B, True, 200, 2)
    np.testing.assert_array_equal(B.build().to_scipy().diagonal(), np.float32([1, -200, 2**24 + 1]))


def test_a_builder_is_filled_again_after_a_matrix_was_made(arch):
    B = qd.linalg.SparseMatrixBuilder(5, max_num_triplets=10)
    diagonal(B, 5)
    first = B.build()
    assert B.build().to_scipy().nnz == 0
    diagonal(B, 3)
    diagonal(B, 2)
    second = B.build()
    np.testing.assert_array_equal(first.to_scipy().diagonal(), [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(second.to_scipy().diagonal(), [2, 4, 3, 0, 0])


def test_kernels_take_builders_of_both_dtypes(arch):
    for dtype in (qd.f32, qd.f64, qd.f32):
        B = qd.linalg.SparseMatrixBuilder(3, 3, 3, dtype)
        diagonal(B, 3)
        np.testing.assert_array_equal(B.build().to_scipy().diagonal(), [1, 2, 3])


def test_zeros_are_kept(arch):
    B = qd.linalg.SparseMatrixBuilder(2, 2, 4)

    @qd.kernel
    def fill(B: qd.types.sparse_matrix_builder()):
        B[0, 1] += 0.0
        B[1, 1] += 2.0
        B[1, 1] -= 2.0

    fill(B)
    assert B.build().to_scipy().nnz == 2


def test_triplets_are_printed(arch, capsys):
    B = qd.linalg.SparseMatrixBuilder(3, 2, 5)

    @qd.kernel
    def fill(B: qd.types.sparse_matrix_builder()):
        B[0, 0] += 2
        B[2, 1] -= 1.25

    fill(B)
    capsys.readouterr()
    B.print_triplets()
    assert capsys.readouterr().out == "n=3, m=2, num_triplets=2 (max=5)\n[0, 0] = 2\n[2, 1] = -1.25\n"


@pytest.mark.parametrize("room", [0, 1, 5])
def test_triplets_without_room_are_told_when_the_matrix_is_made(arch, room):
    B = qd.linalg.SparseMatrixBuilder(9, 9, room)
    diagonal(B, 9)
    with pytest.raises(qd.QuadrantsRuntimeError, match=f"9 triplets .* room for {room}: .*max_num_triplets=9"):
        B.build()
    assert B.build().to_scipy().nnz == 0  # it can be used again


@pytest.mark.parametrize(("row", "column"), [(3, 0), (0, 4), (-1, 0), (0, -7)])
def test_triplets_outside_of_the_matrix_are_told(arch, row, column):
    B = qd.linalg.SparseMatrixBuilder(3, 4, 5)

    @qd.kernel
    def fill(B: qd.types.sparse_matrix_builder(), i: qd.i32, j: qd.i32):
        B[1, 1] += 1
        B[i, j] += 1

    fill(B, row, column)
    with pytest.raises(
        qd.QuadrantsRuntimeError, match=rf"\[{row}, {column}\] is outside of the matrix, which is 3 x 4"
    ):
        B.build()


def test_an_index_of_64_bits_is_not_cut(arch):
    B = qd.linalg.SparseMatrixBuilder(3, 3, 5)

    @qd.kernel
    def fill(B: qd.types.sparse_matrix_builder(), i: qd.i64):
        B[i, 0] += 1

    fill(B, 2**32 + 1)
    with pytest.raises(qd.QuadrantsRuntimeError, match="outside of the matrix"):
        B.build()


def refusals():
    def kernel(body):
        return pytest.param(body, id=body.__name__)

    @qd.kernel
    def stored(B: qd.types.sparse_matrix_builder()):
        B[0, 0] = 1.0

    @qd.kernel
    def multiplied(B: qd.types.sparse_matrix_builder()):
        B[0, 0] *= 2.0

    @qd.kernel
    def read(B: qd.types.sparse_matrix_builder()) -> qd.f32:
        return B[0, 0] + 1.0

    @qd.kernel
    def named(B: qd.types.sparse_matrix_builder()):
        x = B[0, 0]

    @qd.kernel
    def one_index(B: qd.types.sparse_matrix_builder()):
        B[0] += 1.0

    @qd.kernel
    def three_indices(B: qd.types.sparse_matrix_builder()):
        B[0, 0, 0] += 1.0

    @qd.kernel
    def real_index(B: qd.types.sparse_matrix_builder()):
        B[0, 0.5] += 1.0

    @qd.kernel
    def vector(B: qd.types.sparse_matrix_builder()):
        B[0, 0] += qd.Vector([1.0, 2.0])

    @qd.kernel
    def negative(B: qd.types.sparse_matrix_builder()):
        B[-1, 0] += 1.0

    @qd.kernel
    def whole(B: qd.types.sparse_matrix_builder()):
        B += 1.0

    return [
        (stored, qd.QuadrantsSyntaxError, r"cannot be assigned: .*B\[i, j\] \+= v"),
        (multiplied, qd.QuadrantsCompilationError, "Only operations '\\+=' and '-=' are supported on sparse matrices"),
        (read, qd.QuadrantsTypeError, "cannot be read while it is built"),
        (named, qd.QuadrantsTypeError, "cannot be read while it is built"),
        (one_index, qd.QuadrantsCompilationError, "1 indices: .*with a row and a column"),
        (three_indices, qd.QuadrantsCompilationError, "3 indices"),
        (real_index, qd.QuadrantsTypeError, "indices must be integers"),
        (vector, qd.QuadrantsTypeError, "is a number, not"),
        (negative, qd.QuadrantsSyntaxError, "Negative indices"),
        (whole, qd.QuadrantsSyntaxError, "immutable|augmented assignment"),
    ]


@pytest.mark.parametrize(("kernel", "error", "text"), refusals(), ids=lambda x: getattr(x, "__name__", ""))
def test_other_uses_in_a_kernel_are_refused_with_the_line(arch, kernel, error, text):
    B = qd.linalg.SparseMatrixBuilder(3, 3, 5)
    with pytest.raises(error, match=text) as caught:
        kernel(B)
    assert "test_builder.py" in str(caught.value)


def test_another_object_is_refused(arch):
    x = qd.ndarray(qd.f32, 4)
    for other in (x, None, 3, qd.field(qd.f32, 3), qd.linalg.SparseMatrix(2, 2)):
        with pytest.raises(qd.QuadrantsRuntimeTypeError, match="'B' expects a sparse matrix builder, .*Builder"):
            diagonal(other, 1)


def test_wrong_arguments_of_the_constructor(arch):
    for arguments, text in (
        (dict(num_rows=3, dtype=qd.i32), "i32 is not supported: use qd.f32 or qd.f64"),
        (dict(num_rows=3, dtype="f32"), "use qd.f32 or qd.f64"),
        (dict(num_rows=3, storage_format="diagonal"), "'col_major' or 'row_major'"),
        (dict(), "needs num_rows"),
        (dict(num_rows=0), "num_rows is 0"),
        (dict(num_rows=3, num_cols=2.5), "num_cols is 2.5"),
        (dict(num_rows=3, max_num_triplets=-1), "max_num_triplets is -1"),
    ):
        with pytest.raises(qd.QuadrantsRuntimeError, match=text):
            qd.linalg.SparseMatrixBuilder(**arguments)


def test_no_matrix_has_a_kernel_with_gradients_of_it(arch):
    """Triplets are no function of anything: the derivative of a kernel that appends them runs and adds nothing."""
    x = qd.field(qd.f32, (), needs_grad=True)
    B = qd.linalg.SparseMatrixBuilder(2, 2, 4)

    @qd.kernel
    def fill(B: qd.types.sparse_matrix_builder()):
        for i in range(2):
            B[i, i] += x[None]

    x[None] = 3
    fill(B)
    fill.grad(B)
    assert x.grad[None] == 0


def test_a_builder_that_outlives_its_runtime_does_no_harm(init):
    init()
    B = qd.linalg.SparseMatrixBuilder(3, 3, 5)
    diagonal(B, 3)
    A = B.build()
    qd.reset()
    init()
    with pytest.raises(qd.QuadrantsRuntimeError):
        B.build()
    del B
    np.testing.assert_array_equal(A @ np.ones(3), [1, 2, 3])
    again = qd.linalg.SparseMatrixBuilder(3, 3, 5)
    diagonal(again, 2)
    assert again.build()[1, 1] == 2


@pytest.mark.cpu_only
def test_without_scipy_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)  # importing it is an ImportError
    qd.init(arch=qd.cpu)
    try:
        for make in (
            lambda: qd.linalg.SparseMatrixBuilder(3, 3, 5), lambda: qd.linalg.SparseMatrix(3, 3),
            lambda: qd.linalg.SparseSolver(),
        ):  # fmt: skip
            with pytest.raises(ImportError, match="pip install scipy"):
                make()
    finally:
        qd.reset()
