"""Per-thread linear algebra of small dense matrices: svd, polar decomposition, eigenvalues, linear systems.

These are plain functions that run while a kernel is traced: they check sizes, convert the input to the working dtype
and call one `@qd.func` per (operation, size, dtype), so all call sites of a kernel share one emitted function. Inputs
may be of any dtype and are not modified. `dt` is `qd.f32` or `qd.f64`; None means `qd.f64` where the input is, else
`default_fp`. Iteration counts are bounded, so NaN and infinite inputs terminate. Wrong sizes are reported at
compile time as QuadrantsCompilationError.
"""

from __future__ import annotations

import quadrants as qd
from quadrants.ir.types import element_dtype
from quadrants.lang import scope, typed

from ._eigen import eig2, psd_part, sym_eig_jacobi
from ._polar import polar2
from ._solve import gauss
from ._svd import polar3, svd2, svd3


def _working_dtype(dt, *inputs):
    """(dtype to compute in, its machine epsilon). AssertionError in Python scope."""
    # The python arch computes on tensors of torch, which have a dtype.
    if scope.current() is None and not all(hasattr(A, "dtype") for A in inputs):
        raise AssertionError(
            "Decompositions and solvers of small matrices cannot be called in Python-scope; call them in a kernel, "
            "or use numpy.linalg on m.to_numpy()"
        )
    if dt is float:
        dt = qd.cfg.default_fp
    if dt is None:
        dt = qd.f64 if any(map(_is_double, inputs)) else qd.cfg.default_fp
    if dt == qd.f32:
        return dt, 2.0**-23
    if dt == qd.f64:
        return dt, 2.0**-52
    raise TypeError(f"small linear algebra computes in qd.f32 or qd.f64, got dt={dt}; pass dt=qd.f32 or dt=qd.f64")


def _is_double(A) -> bool:
    if scope.current() is None:  # the python arch computes on tensors of torch
        return str(A.dtype) == "torch.float64"
    return element_dtype(typed.to_value(A).type) is qd.f64


def _converted(A, dt):
    """The input in the working dtype. A constant of the kernel has numbers of `default_fp` until it is a value."""
    return qd.cast(A if scope.current() is None else typed.to_value(A), dt)


def _check_square(A, sizes, message: str) -> int:
    shape = tuple(A.get_shape())
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] not in sizes:
        raise ValueError(f"{message} (got shape {shape})")
    return shape[0]


def svd(A, dt=None):
    """Singular value decomposition `A = U @ S @ V.transpose()` of a 2x2 or 3x3 matrix. Kernel scope only.

    Returns three matrices `U, S, V` of dtype `dt`; `S` is diagonal with exact zeros elsewhere.

    - 3x3: `det(U) = det(V) = 1` always; `S00 >= S11 >= |S22|`, and `S22` has the sign of `det(A)`.
    - 2x2: `S00 >= S11 >= 0`, `det(V) = 1` and `det(U)` has the sign of `det(A)` (1 when that is 0).

    The result is invariant under scaling of `A`; the zero matrix gives `U = V = I`. Its derivatives are finite; where
    singular values coincide, those of `U` and `V` leave the turning in their plane to `S`, off the diagonal.

        U, S, V = qd.svd(A)
    """
    n = _check_square(A, (2, 3), "SVD only supports 2×2 and 3×3 matrices.")
    dt, eps = _working_dtype(dt, A)
    return svd2(_converted(A, dt), dt, eps) if n == 2 else svd3(_converted(A, dt), dt, eps)


def polar_decompose(A, dt=None):
    """Polar decomposition `A = R @ P` of a 2x2 or 3x3 matrix, `P` symmetric. Kernel scope only.

    Returns the matrices `R, P` of dtype `dt`.

    - 3x3: `R` is always a proper rotation, so `P` is indefinite when `det(A) < 0`.
    - 2x2: `P` is positive semidefinite and `det(R)` has the sign of `det(A)`.

    The derivative is exact where no two singular values add up to 0; elsewhere that of `R` is 0 for a 3x3 matrix.

        R, P = qd.polar_decompose(A)
    """
    n = _check_square(A, (2, 3), "Polar decomposition only supports 2×2 and 3×3 matrices.")
    dt, eps = _working_dtype(dt, A)
    return polar2(_converted(A, dt), dt) if n == 2 else polar3(_converted(A, dt), dt, eps)


def sym_eig(A, dt=None):
    """Eigenvalues (a vector, ascending) and eigenvectors (columns of a matrix) of a symmetric n x n matrix, n <= 6.

    `A` is assumed symmetric. The eigenvectors are orthonormal with arbitrary signs. Kernel scope only.
    Derivatives take `A` for symmetric, too, and are finite: eigenvectors of equal eigenvalues do not turn.

        values, vectors = qd.sym_eig(A)
    """
    n = _check_square(A, range(1, 7), "Symmetric eigen solver currently supports sizes up to 6×6.")
    dt, eps = _working_dtype(dt, A)
    return sym_eig_jacobi(_converted(A, dt), n, dt, eps)


def make_spd(A, dt=None):
    """The positive semidefinite matrix nearest (Frobenius) to the symmetric n x n matrix `A`, n <= 6.

    Negative eigenvalues are replaced by 0. A matrix that has none is returned unchanged. Kernel scope only.

        H = qd.make_spd(H)
    """
    n = _check_square(A, range(1, 7), "Symmetric eigen solver currently supports sizes up to 6×6.")
    dt, eps = _working_dtype(dt, A)
    return psd_part(_converted(A, dt), n, dt, eps)


def eig(A, dt=None):
    """Eigenvalues and eigenvectors of a general real 2x2 matrix. Kernel scope only.

    Returns a 2x2 matrix whose row i is `(re, im)` of eigenvalue i, and a 4x2 matrix whose column i is the unit
    eigenvector `(re0, im0, re1, im1)`. Real eigenvalues come larger first, complex ones with positive imaginary part
    first. The phase of an eigenvector is arbitrary; a defective matrix has the same eigenvector twice.

        values, vectors = qd.eig(A)
    """
    _check_square(A, (2,), "Eigen solver only supports 2×2 matrices.")
    dt, _ = _working_dtype(dt, A)
    return eig2(_converted(A, dt), dt)


def solve(A, b, dt=None):
    """The vector x with `A @ x = b`, for `A` of 2x2 or 3x3 and a vector `b`; Gauss with partial pivoting.

    A singular matrix fails an assertion with `qd.init(debug=True)`, otherwise x holds inf or NaN. Kernel scope only.

        x = qd.solve(A, b)
    """
    shape = tuple(A.get_shape())
    assert len(shape) == 2 and shape[0] == shape[1], f"Only square matrix is supported (got shape {shape})"
    n = shape[0]
    assert n in (2, 3), f"Only 2×2 and 3×3 matrices are supported (got shape {shape})"
    rhs = tuple(b.get_shape())
    assert rhs == (n,), f"Matrix and Vector dimension dismatch (matrix {shape}, right-hand side {rhs})"
    dt, _ = _working_dtype(dt, A, b)
    return gauss(_converted(A, dt), _converted(b, dt), n)
