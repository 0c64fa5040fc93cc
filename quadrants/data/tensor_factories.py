"""`qd.tensor`, which `Vector.tensor` and `Matrix.tensor` forward to: a field or an ndarray behind one wrapper."""

from __future__ import annotations

from typing import Any

import numpy as np

from quadrants.data import context, dtypes, factories, shapes
from quadrants.data.field import Field
from quadrants.data.ndarray import Ndarray
from quadrants.data.tensor import Tensor, wrap

_FIELD, _NDARRAY = 0, 1


def tensor(dtype: Any, shape: Any, *, backend: Any = _NDARRAY, layout: Any = None, **kwargs: Any) -> Tensor:
    """A zeroed tensor of numbers, or of vectors or matrices if `dtype` is such a type.

    backend: `qd.Backend.NDARRAY` (kernels do not recompile per tensor) or `qd.Backend.FIELD`. layout: canonical axis
    per storage axis, outermost first (scalar dtype only). needs_grad: own a gradient.
    Raises `TypeError` for other keywords, `ValueError` for a bad backend or layout.

        t = qd.tensor(qd.f32, shape=(4, 4), backend=qd.Backend.NDARRAY)
    """
    context.require()
    if isinstance(dtype, (Tensor, Ndarray, Field)):
        raise TypeError("qd.tensor takes a dtype; use qd.wrap(..) to wrap an existing field or ndarray")
    compound = dtypes.compound(dtype)
    needs_grad = _needs_grad(kwargs, scalar=compound is None)
    if compound is not None and layout is not None:
        raise TypeError("layout= needs a scalar dtype; tensors of vectors or matrices are stored row-major")
    return _make(dtype, shape, _backend(backend), layout, needs_grad)


def _needs_grad(kwargs: dict, scalar: bool) -> bool:
    if "order" in kwargs:
        raise TypeError("qd.tensor does not accept order=" + ("; pass layout= instead" if scalar else ""))
    unknown = [key for key in kwargs if key != "needs_grad"]
    if unknown:
        accepted = ["backend", "layout", "needs_grad"] if scalar else ["backend", "needs_grad"]
        what = "qd.tensor" if scalar else "a tensor of vectors or matrices"
        raise TypeError(f"{what} got unexpected keyword(s) {unknown}; it accepts {accepted}")
    return bool(kwargs.get("needs_grad", False))


def _backend(backend) -> int:
    if isinstance(backend, bool) or not isinstance(backend, int) or backend not in (_FIELD, _NDARRAY):
        raise ValueError(f"backend must be qd.Backend.FIELD or qd.Backend.NDARRAY, not {backend!r}")
    return int(backend)


def _make(dtype, shape, backend: int, layout, needs_grad: bool) -> Tensor:
    if layout is not None:
        extents = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        layout = shapes.tensor_layout(layout, len(extents))
    if backend == _NDARRAY:
        return wrap(factories.laid_out_ndarray(dtype, shape, needs_grad, layout))
    if layout is None:
        return wrap(factories.field(dtype, shape, needs_grad=needs_grad))
    order = "".join(chr(ord("i") + axis) for axis in layout)
    return wrap(factories.field(dtype, shape, order=order, needs_grad=needs_grad))
