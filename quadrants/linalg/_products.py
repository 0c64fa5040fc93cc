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
    """Compressed rows where the kernels of this arch read them: the arrays of SciPy themselves on the CPU."""

    def __init__(self, csr: Any, dtype: Any):
        self.shape, self.dtype, self.generation = csr.shape, dtype, session.generation()
        self.starts = shared(csr.indptr.astype(np.int32, copy=False), qd.i32)
        self.columns = shared(csr.indices.astype(np.int32, copy=False), qd.i32)
        self.values = shared(csr.data, dtype)

    def times(self, x: Any) -> Any:
        """The product with an ndarray of any dtype, as a new one."""
        if x.dtype != self.dtype:
            x = library.ndarray_of(x.to_numpy().astype(library.numpy_dtype(self.dtype)), self.dtype)
        y = qd.ndarray(self.dtype, self.shape[0])
        _multiply(self.starts, self.columns, self.values, x, y)
        return y


def shared(array: np.ndarray, dtype: Any) -> Any:
    """The array where kernels read it without a copy at each launch."""
    target = targets.of_arch(session.require_runtime().arch.name)
    if target is not None and target.host_memory and len(array):
        return array
    return library.ndarray_of(array, dtype)
