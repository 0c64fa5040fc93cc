"""Triplets that kernels collect, and the matrix that they make."""

from __future__ import annotations

from typing import Any

import numpy as np

import quadrants as qd
from quadrants.errors import QuadrantsRuntimeError
from quadrants.linalg import _assembly
from quadrants.linalg import _library as library
from quadrants.linalg._matrix import FORMATS, SparseMatrix


class SparseMatrixBuilder:
    """Collects triplets (row, column, value) out of kernels, and makes a `SparseMatrix` of them.

    Args:
        num_rows: rows of the matrix.
        num_cols: its columns; as many as rows, if None.
        max_num_triplets: how many triplets it has room for.
        dtype: qd.f32 or qd.f64.
        storage_format: "col_major" or "row_major", of the matrix.

    A kernel takes it as a parameter annotated with `qd.types.sparse_matrix_builder()`, in which `B[i, j] += v` and
    `B[i, j] -= v` append a triplet, in parallel loops too. Triplets of one entry are added up.

    Raises:
        QuadrantsRuntimeError: another dtype or format, or extents below 1.
        ImportError: there is no SciPy.

        K = qd.linalg.SparseMatrixBuilder(100, 100, max_num_triplets=300)
        assemble(K)
        A = K.build()
    """

    _qd_sparse_builder = True

    def __init__(
        self, num_rows: int | None = None, num_cols: int | None = None, max_num_triplets: int = 0,
        dtype: Any = qd.f32, storage_format: str = "col_major",
    ):  # fmt: skip
        library.scipy("sparse")
        if num_rows is None:
            raise QuadrantsRuntimeError("A sparse matrix builder needs num_rows, the number of rows of the matrix.")
        self.num_rows = _extent(num_rows, "num_rows", 1)
        self.num_cols = self.num_rows if num_cols is None else _extent(num_cols, "num_cols", 1)
        self.max_num_triplets = _extent(max_num_triplets, "max_num_triplets", 0)
        self.dtype = library.real(dtype, "The dtype of a sparse matrix builder:")
        if storage_format not in FORMATS:
            raise QuadrantsRuntimeError(f"storage_format is {storage_format!r}; use 'col_major' or 'row_major'.")
        self.storage_format = storage_format
        room = max(1, self.max_num_triplets)
        self.rows = qd.ndarray(qd.i32, room)
        self.columns = qd.ndarray(qd.i32, room)
        self.values = qd.ndarray(self.dtype, room)
        self.count = qd.ndarray(qd.u32, 1)
        self.count.fill(0)

    def print_triplets(self) -> None:
        """Print the extents, then a line `[row, column] = value` for each triplet, in no order."""
        rows, columns, values, count = self._collected()
        print(f"n={self.num_rows}, m={self.num_cols}, num_triplets={count} (max={self.max_num_triplets})")
        for row, column, value in zip(rows, columns, values):
            print(f"[{row}, {column}] = {value:.9g}")

    def build(self, dtype: Any = qd.f32, _format: str = "CSR") -> SparseMatrix:
        """The matrix of the triplets, those of one entry added up; the builder is empty afterwards.

        dtype, _format: have no effect, as dtype and format are the builder's.

        QuadrantsRuntimeError where there were more triplets than room, or one is outside of the matrix.
        """
        count = int(self.count.to_numpy()[0])
        self.count.fill(0)
        if count > self.max_num_triplets:
            raise QuadrantsRuntimeError(
                f"{count} triplets were added to a sparse matrix builder that has room for {self.max_num_triplets}: "
                f"make it with max_num_triplets={count}."
            )
        if _assembly.suits(count):
            made = _assembly.compressed_rows(self, count)
            if made is not None:
                return SparseMatrix.of_rows(made, self.storage_format)
        rows, columns, values = self._held(count)
        self._check_inside(rows, columns)
        triplets = (values, (rows, columns))
        matrix = library.scipy("sparse").coo_array(triplets, shape=(self.num_rows, self.num_cols))
        return SparseMatrix(sm=matrix, dtype=self.dtype, storage_format=self.storage_format)

    def _collected(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Rows, columns and values of the triplets that found room, and how many there were."""
        count = int(self.count.to_numpy()[0])
        return (*self._held(min(count, self.max_num_triplets)), count)

    def _held(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows, columns, values = (array.to_numpy()[:count] for array in (self.rows, self.columns, self.values))
        return rows, columns, values

    def _check_inside(self, rows: np.ndarray, columns: np.ndarray) -> None:
        for indices, extent in ((rows, self.num_rows), (columns, self.num_cols)):
            if len(indices) and not 0 <= indices.min() <= indices.max() < extent:
                k = int(np.argmax((indices < 0) | (indices >= extent)))
                raise QuadrantsRuntimeError(
                    f"A triplet at [{rows[k]}, {columns[k]}] is outside of the matrix, which is {self.num_rows} x "
                    f"{self.num_cols}."
                )


def _extent(n: Any, name: str, least: int) -> int:
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not least <= n < 2**31:
        raise QuadrantsRuntimeError(f"{name} is {n!r}; it has to be an integer from {least} to {2**31 - 1}.")
    return int(n)
