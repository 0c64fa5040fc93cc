"""Products of a matrix in compressed rows, as kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

import quadrants as qd
from quadrants import session, targets
from quadrants.linalg import _library as library


@qd.kernel
def _multiply(starts: qd.Tensor, columns: qd.Tensor, values: qd.Tensor, x: qd.Tensor, y: qd.Tensor):
    for i in range(y.shape[0]):
        total = qd.zero(values[0])
        for k in range(starts[i], starts[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total


class Rows:
    """Compressed rows where the kernels of this arch read them."""

    def __init__(self, shape: tuple[int, int], dtype: Any, starts: Any, columns: Any, values: Any):
        self.shape, self.dtype, self.generation = shape, dtype, session.generation()
        self.starts, self.columns, self.values = starts, columns, values

    @classmethod
    def of_scipy(cls, csr: Any, dtype: Any) -> Rows:
        """The arrays of SciPy themselves on the CPU, a copy elsewhere."""
        starts, columns = (shared(a.astype(np.int32, copy=False), qd.i32) for a in (csr.indptr, csr.indices))
        return cls(csr.shape, dtype, starts, columns, shared(csr.data, dtype))

    def to_scipy(self) -> Any:
        """A copy, where there are entries."""
        parts = (self.values.to_numpy(), self.columns.to_numpy(), self.starts.to_numpy())
        return library.scipy("sparse").csr_array(parts, shape=self.shape)

    def times(self, x: Any) -> Any:
        """The product with an ndarray of any dtype, as a new one."""
        if x.dtype != self.dtype:
            x = library.ndarray_of(x.to_numpy().astype(library.numpy_dtype(self.dtype)), self.dtype)
        y = qd.ndarray(self.dtype, self.shape[0])
        _multiply(self.starts, self.columns, self.values, x, y)
        return y


def shared(array: np.ndarray, dtype: Any) -> Any:
    """The array where kernels read it without a copy at each launch."""
    return array if _on_host() and len(array) else library.ndarray_of(array, dtype)


def blank(n: int, dtype: Any) -> Any:
    """An array of n numbers, whatever they are, as `shared` has them."""
    return np.empty(n, library.numpy_dtype(dtype)) if _on_host() and n else qd.ndarray(dtype, max(1, n))


def _on_host() -> bool:
    target = targets.of_arch(session.require_runtime().arch.name)
    return target is not None and target.host_memory
