"""qd.ad.FwdMode: kernels compute directional derivatives beside their values."""

from __future__ import annotations

import math

from quadrants import session
from quadrants._ext import core
from quadrants.data.field import ScalarField
from quadrants.data.matrix_field import MatrixField
from quadrants.errors import QuadrantsRuntimeError
from quadrants.lang.enums import AutodiffMode, SNodeGradType
from quadrants.tapes import recording
from quadrants.tapes.clearing import clear_all_gradients

_NO_SEED = (
    "`seed` is not set for non 0-D field, please specify. `seed` is a list to specify which parameters the computed "
    "derivatives respect to. The length of the `seed` should be same to that of the `parameter`. "
    "E.g. Given a loss `loss = qd.field(float, shape=3)`, parameter `x = qd.field(float, shape=3)`, "
    "seed = [1, 0, 0] indicates compute derivative respect to the first element of `x`."
)


class FwdMode(core.Listener):
    """Context manager: kernels launched in its body also propagate derivatives along one direction of `param`.

        with qd.ad.FwdMode(loss=y, param=x, seed=[1, 0, 0]):
            forward()
        print(y.dual)

    Args:
        loss: the scalar field, or list of scalar fields, whose `dual` is wanted.
        param: one scalar field with `needs_dual=True`.
        seed: the direction: one number for each element of `param`, flat, in row-major order of its indices. May be
            left out if `param` has one element; it then is 1.
        clear_gradients: zero the duals of all fields on entry.

    `param.dual` holds the seed inside the body and 0 after it, unless `param` is a loss too: then it holds the result,
    as the duals of the other fields do. No kernel needs a stack for this: any `for` loop can be differentiated.
    Ndarrays have no duals and count as constants.

    Raises `AssertionError` for other kinds of `loss` and `param`, for a seed of the wrong length, and when entered a
    second time; `RuntimeError` on entry if a seed is missing, and inside another tape or forward-mode manager.
    """

    def __init__(self, loss, param, seed=None, clear_gradients: bool = True):
        losses = [_unwrapped(x) for x in (loss if isinstance(loss, (list, tuple)) else [loss])]
        param = _unwrapped(param)
        if not isinstance(param, ScalarField):
            raise AssertionError(f"`param` of FwdMode must be one scalar field, not {_named(param)}")
        if not param.dtype.is_real:
            raise AssertionError(f"`param` of FwdMode is a field of {param.dtype}: only real numbers have derivatives")
        for x in losses:
            if not isinstance(x, ScalarField):
                raise AssertionError(
                    f"`loss` of FwdMode must be a scalar field or a list of scalar fields, not {_named(x)}"
                )
        self.loss = losses
        self.param = param
        self.seed = None if seed is None else [float(s) for s in seed]
        self.clear_gradients = clear_gradients
        self.calls: list = []
        self.modes: list = []
        self.entered = False
        self.kernels_recovered = False

    def _prepare(self) -> None:
        if self.entered:
            raise AssertionError("Forward mode manager can be entered only once.")
        session.require_runtime()
        if session.is_python_backend():
            raise QuadrantsRuntimeError("The python arch computes no derivatives; use another one, such as qd.cpu.")
        recording.check_free(self)
        session.get_runtime().materialize()
        self._settle_seed()
        self.entered = True
        if self.clear_gradients:
            clear_all_gradients(SNodeGradType.DUAL)

    def _begin(self) -> None:
        self._write_seed()
        recording.start(self, self._record)

    def _left(self, kind) -> None:
        self.recover_kernels()
        # Two objects may be one component of a vector field.
        if all(x._leaf() is not self.param._leaf() for x in self.loss):
            self.clear_seed()

    def _settle_seed(self) -> None:
        elements = math.prod(self.param.shape)
        if self.seed is None:
            if elements != 1:
                raise QuadrantsRuntimeError(_NO_SEED)
            self.seed = [1.0]
        if len(self.seed) != elements:
            raise AssertionError(
                f"the seed has {len(self.seed)} numbers, the parameter {elements} elements: one number each is needed"
            )

    def _write_seed(self) -> None:
        import numpy as np

        self.param.dual.from_numpy(np.array(self.seed, dtype=np.float64).reshape(self.param.shape))

    def insert(self, func) -> None:
        """Note that kernel `func` was run in forward mode."""
        self.calls.append(func)
        self.modes.append(AutodiffMode.FORWARD)

    def recover_kernels(self) -> None:
        """Launch kernels as usual again; called on exit. `AssertionError` before entry."""
        if not self.entered:
            raise AssertionError("Before recover the kernels, fwd mode manager must be entered.")
        recording.stop(self)
        self.kernels_recovered = True

    def clear_seed(self) -> None:
        """Zero `param.dual`; called on exit, unless `param` is a loss."""
        self.param.dual.fill(0)

    def _record(self, kernel, args: tuple):
        self.insert(kernel)
        return kernel._in_mode(AutodiffMode.FORWARD)


def _named(x) -> str:
    if isinstance(x, MatrixField):
        return f"a {x.n} x {x.m} MatrixField: write one of its components, such as x.get_scalar_field(0)"
    return type(x).__name__


def _unwrapped(x):
    return x._unwrap() if hasattr(x, "_unwrap") else x
