"""Sparse matrices, which SciPy keeps, but for those that kernels have made on a device."""

from __future__ import annotations

import numbers
import operator
from typing import Any

import numpy as np

import quadrants as qd
from quadrants import session
from quadrants.errors import QuadrantsRuntimeError
from quadrants.lang.kinds import FIELD_KINDS, kind_of, unwrapped
from quadrants.linalg import _library as library
from quadrants.linalg._products import Rows

FORMATS = {"col_major": "csc", "row_major": "csr"}


class SparseMatrix:
    """An n x m matrix that stores what is not zero, and what was stored explicitly.

    Args:
        n: rows. m: columns; n, if None.
        sm: a matrix of SciPy whose numbers it copies, rounded to dtype, in place of n and m.
        dtype: qd.f32 or qd.f64.
        storage_format: "col_major" (compressed columns) or "row_major" (compressed rows).

    `A + B`, `A - B`, `A * B` (element by element), `A * 2.5`, `A @ B`, `A @ x`, `A.transpose()` and `A[i, j]` are those
    of NumPy; a result has the dtype and the format of A. `x` is a NumPy array, a field (the product is a NumPy array),
    or an ndarray (the product is an ndarray). It is made zero at first. i and j count from 0; there are no negative
    ones, and no slices. A large one that a builder has made on a GPU stays there until its numbers are asked for, and
    is lost with the runtime, as ndarrays are.

    Raises QuadrantsRuntimeError for other dtypes and formats, ImportError where there is no SciPy.

        A = K.build()
        y = A @ b
    """

    def __init__(
        self, n: int | None = None, m: int | None = None, sm: Any = None, dtype: Any = qd.f32,
        storage_format: str = "col_major",
    ):  # fmt: skip
        sparse = library.scipy("sparse")
        self.dtype = library.real(dtype, "The dtype of a sparse matrix:")
        if storage_format not in FORMATS:
            raise QuadrantsRuntimeError(f"storage_format is {storage_format!r}; use 'col_major' or 'row_major'.")
        self.storage_format = storage_format
        self._numpy_dtype = library.numpy_dtype(self.dtype)
        if sm is None:
            if n is None:
                raise QuadrantsRuntimeError("A sparse matrix needs its number of rows, n.")
            sm = sparse.coo_array((int(n), int(n if m is None else m)), dtype=self._numpy_dtype)
        self._keep(sm)

    def _keep(self, matrix: Any) -> None:
        self._host = matrix.asformat(FORMATS[self.storage_format], copy=True).astype(self._numpy_dtype, copy=False)
        self._host.sum_duplicates()
        self._shape = self._host.shape
        self._rows: Rows | None = None

    @classmethod
    def of_rows(cls, rows: Rows, storage_format: str) -> SparseMatrix:
        """A matrix that kernels have made; SciPy gets a copy when it is asked first."""
        made = cls.__new__(cls)
        made.dtype, made.storage_format = rows.dtype, storage_format
        made._numpy_dtype, made._shape = library.numpy_dtype(rows.dtype), rows.shape
        made._host, made._rows = None, rows
        return made

    @property
    def _scipy(self) -> Any:
        if self._host is None:
            self._host = self._of_this_runtime().to_scipy().asformat(FORMATS[self.storage_format])
        return self._host

    def _of_this_runtime(self) -> Rows:
        assert self._rows is not None  # there are rows where SciPy has no matrix
        if self._rows.generation != session.generation():
            raise QuadrantsRuntimeError(
                "This sparse matrix was made on the device of a runtime that qd.init or qd.reset has ended: keep "
                "A.to_scipy(), and make qd.linalg.SparseMatrix(sm=..) of it."
            )
        return self._rows

    def _like(self, matrix: Any) -> SparseMatrix:
        return SparseMatrix(sm=matrix, dtype=self.dtype, storage_format=self.storage_format)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)"""
        return self._shape

    @property
    def n(self) -> int:
        """Rows."""
        return self.shape[0]

    @property
    def m(self) -> int:
        """Columns."""
        return self.shape[1]

    def to_scipy(self) -> Any:
        """A copy as scipy.sparse.csc_array or csr_array."""
        return self._scipy.copy()

    def transpose(self) -> SparseMatrix:
        """A new matrix with rows and columns exchanged."""
        return self._like(self._scipy.T)

    def __add__(self, other: Any) -> Any:
        return self._like(self._scipy + self._same(other)) if isinstance(other, SparseMatrix) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return self._like(self._scipy - self._same(other)) if isinstance(other, SparseMatrix) else NotImplemented

    def __iadd__(self, other: Any) -> Any:
        if not isinstance(other, SparseMatrix):
            return NotImplemented
        self._keep(self._scipy + self._same(other))
        return self

    def __isub__(self, other: Any) -> Any:
        if not isinstance(other, SparseMatrix):
            return NotImplemented
        self._keep(self._scipy - self._same(other))
        return self

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, SparseMatrix):
            return self._like(self._scipy.multiply(self._same(other)))
        if isinstance(other, numbers.Real) and np.ndim(other) == 0:
            return self._like(self._scipy * float(other))
        return NotImplemented

    __rmul__ = __mul__

    # Else NumPy takes a matrix on the right of one of its own numbers for an object, and multiplies by itself.
    __array_ufunc__ = None

    def _same(self, other: SparseMatrix) -> Any:
        assert self.shape == other.shape, f"Dimension mismatch between sparse matrices {self.shape} and {other.shape}"
        return other._scipy

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, SparseMatrix):
            assert self.m == other.n, f"Dimension mismatch between sparse matrices {self.shape} and {other.shape}"
            return self._like(self._scipy @ other._scipy)
        other = unwrapped(other)
        if kind_of(other) == "ndarray":
            if other.shape != (self.m,) or other.element_shape:
                raise QuadrantsRuntimeError(self._mismatch(other.shape + other.element_shape))
            return self.rows().times(other)
        if kind_of(other) in FIELD_KINDS[:2]:
            other = other.to_numpy()
        if not isinstance(other, np.ndarray):
            raise QuadrantsRuntimeError(
                f"Sparse matrix-matrix/vector multiplication does not support {type(other)} for now. Supported types "
                "are SparseMatrix, qd.field, qd.ndarray, and numpy ndarray."
            )
        assert other.shape == (self.m,), self._mismatch(other.shape)
        return self._scipy @ other.astype(self._numpy_dtype, copy=False)

    def _mismatch(self, shape: tuple) -> str:
        return f"Dimension mismatch between sparse matrix {self.shape} and vector ({shape})"

    def rows(self) -> Rows:
        """The compressed rows, where kernels can read them."""
        if self._host is None:
            return self._of_this_runtime()
        if self._rows is None or self._rows.generation != session.generation():
            self._rows = Rows.of_scipy(self._host.tocsr(), self.dtype)
        return self._rows

    def rows_of_symmetric(self) -> Rows:
        """The same where the matrix is symmetric: its columns are its rows, however they are stored."""
        return self.rows() if self._host is None else Rows.of_scipy(self._host, self.dtype)

    def __getitem__(self, indices: Any) -> float:
        return float(self._scipy[self._inside(indices)])

    def __setitem__(self, indices: Any, value: Any) -> None:
        i, j = self._inside(indices)
        if not isinstance(value, (numbers.Real, np.number, np.bool_)) or np.iscomplexobj(value):
            raise TypeError(f"An entry of a sparse matrix is a real number, not {value!r}")
        sparse = library.scipy("sparse")
        # What is there is taken out first: adding the difference would round.
        kept = self._scipy.tocoo()
        others = (kept.row != i) | (kept.col != j)
        parts = ((kept.data[others], value), (kept.row[others], i), (kept.col[others], j))
        values, rows, columns = (np.append(*part) for part in parts)
        self._keep(sparse.coo_array((values, (rows, columns)), shape=self.shape))

    def _inside(self, indices: Any) -> tuple[int, int]:
        if not (isinstance(indices, tuple) and len(indices) == 2):
            raise IndexError(f"An entry of a sparse matrix has a row and a column: A[i, j], not {indices!r}")
        try:
            i, j = (operator.index(k) for k in indices)
        except TypeError:
            raise IndexError(
                f"An entry of a sparse matrix has an integer for its row and one for its column, not "
                f"[{indices[0]!r}, {indices[1]!r}]; A.to_scipy() has slices"
            ) from None
        if not (0 <= i < self.n and 0 <= j < self.m):
            raise IndexError(
                f"[{i}, {j}] is outside of a sparse matrix of {self.n} x {self.m}; its rows and columns count from 0"
            )
        return i, j

    def __str__(self) -> str:
        texts = [[f"{x:.4g}" for x in row] for row in self._scipy.toarray()]
        width = max((len(text) for row in texts for text in row), default=0)
        return "\n".join("[" + ", ".join(text.rjust(width) for text in row) + "]" for row in texts)

    __repr__ = __str__

    def mmwrite(self, filename: Any) -> None:
        """Write a file of Matrix Market: "coordinate real general", indices from 1, in the order that they are kept."""
        digits = 17 if self.dtype == qd.f64 else 9
        with open(filename, "wb") as file:
            library.scipy("io").mmwrite(file, self._scipy.tocoo(), field="real", precision=digits, symmetry="general")

    def build_from_ndarray(self, ndarray: Any) -> None:
        """Replace the entries by triplets (row, column, value) of an ndarray, of the dtype of the matrix.

        ndarray: of numbers, vectors or matrices, 3k numbers in all. Rows and columns are numbers of that dtype as well:
        f32 has those up to 2**24. Triplets of one entry are added up.

        Raises QuadrantsRuntimeError for other objects, lengths, dtypes, and triplets outside of the matrix.
        """
        ndarray = unwrapped(ndarray)
        if kind_of(ndarray) != "ndarray":
            raise QuadrantsRuntimeError(
                "Sparse matrix only supports building from [qd.ndarray, qd.Vector.ndarray, qd.Matrix.ndarray], not "
                f"{type(ndarray)}"
            )
        if ndarray.dtype != self.dtype:
            raise QuadrantsRuntimeError(
                f"The ndarray's dtype {ndarray.dtype} is not consistent with the sparse matrix's dtype {self.dtype}."
            )
        numbers_ = ndarray.to_numpy().reshape(-1)
        if len(numbers_) % 3:
            raise QuadrantsRuntimeError("The ndarray must have a length that is divisible by 3.")
        i, j, x = numbers_.reshape(-1, 3).T
        inside = (i >= 0) & (i < self.n) & (j >= 0) & (j < self.m) & (i == np.floor(i)) & (j == np.floor(j))
        if not inside.all():
            k = int(np.argmin(inside))
            raise QuadrantsRuntimeError(f"A triplet at [{i[k]:g}, {j[k]:g}] is no entry of a matrix of {self.shape}.")
        triplets = (x, (i.astype(np.int32), j.astype(np.int32)))
        self._keep(library.scipy("sparse").coo_array(triplets, shape=self.shape))
