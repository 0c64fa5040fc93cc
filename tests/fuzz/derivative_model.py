"""A differentiable program with its data: a function of a point, its gradient in each mode, and its differences."""

from __future__ import annotations

import numpy as np
from ad.differences import slope

import quadrants as qd
from quadrants.lang.enums import AutodiffMode, SNodeGradType

from .derivative_places import SCALARS, VECTORS, N

_INPUTS, _OUTPUTS = ("x", "v"), ("y", "z", "u")
_ALL = (*SCALARS, *VECTORS)
_RULE = "Breaks the global data access rule"


class Disagreement(Exception):
    """Two ways to the same derivative give different numbers. `sign`: which ones."""

    def __init__(self, sign: str, detail: str):
        super().__init__(f"{sign}: {detail}")
        self.sign = sign


class Unclear(Exception):
    """The differences say nothing: a branch or a rounding changes within their steps."""


class Model:
    """`module` is one of `derivative_programs`. A point is an array (N, 3) with x and v."""

    def __init__(self, module):
        self.m = module
        rng = np.random.default_rng(module.seed)
        self.point = rng.uniform(-1.2, 1.2, (N, 3))
        self.direction = rng.uniform(-1, 1, (N, 3))
        self.weights = {name: rng.uniform(-1, 1, (N, 2) if name in VECTORS else N) for name in _OUTPUTS}
        self.c = float(rng.uniform(-1, 1))
        put(module.n, rng.integers(0, 4, N).astype(np.int32))
        put(module.at, rng.integers(0, N, N).astype(np.int32))
        module.weights.from_numpy(rng.uniform(-1, 1, N))

    # ------------------------------------------------------------ data

    def _where(self, name: str):
        text = self.m.places[name][0]
        return eval(f"np.s_[{text}]", {"np": np})

    def get(self, name: str, obj=None) -> np.ndarray:
        return content(getattr(self.m, name) if obj is None else obj)[self._where(name)]

    def set(self, name: str, values, obj=None) -> None:
        """The elements that the program uses; all others become 0."""
        obj = getattr(self.m, name) if obj is None else obj
        full = np.zeros_like(content(obj))
        full[self._where(name)] = values
        put(obj, full)

    def gradient(self, name: str) -> np.ndarray:
        """Of the elements that the program uses; all others must have none."""
        full = content(gradient_of(getattr(self.m, name))).copy()
        found = full[self._where(name)].copy()
        full[self._where(name)] = 0
        if full.any():
            raise Disagreement("other cells", f"cells of {name} that are not read have a gradient: {full.tolist()}")
        return found

    def clear_gradients(self) -> None:
        for name in _ALL:
            self.set(name, 0, gradient_of(getattr(self.m, name)))
        self.m.loss.grad.fill(0)

    def begin(self, point: np.ndarray) -> None:
        for name in _ALL:
            self.set(name, 0)
        self.set("x", point[:, 0])
        self.set("v", point[:, 1:])
        self.m.loss.fill(0)

    def along(self) -> float:
        """The gradient that has arrived, along the direction."""
        found = np.concatenate([self.gradient("x")[:, None], self.gradient("v")], axis=1)
        return float((found * self.direction).sum())

    # ------------------------------------------------------------ one kernel

    def value(self, point: np.ndarray) -> float:
        self.begin(point)
        self.m.program(self.c, *self.m.arguments)
        return sum(float((self.weights[name] * self.get(name)).sum()) for name in _OUTPUTS)

    def backward(self) -> float:
        self.value(self.point)
        self.clear_gradients()
        for name in _OUTPUTS:
            self.set(name, self.weights[name], gradient_of(getattr(self.m, name)))
        self.m.program.grad(self.c, *self.m.arguments)
        return self.along()

    def forward(self) -> float | None:
        """None where a container has no duals."""
        if not all(self.m.places[name][1] for name in (*_INPUTS, *_OUTPUTS)):
            return None
        self.begin(self.point)
        qd.ad.clear_all_gradients(SNodeGradType.DUAL)
        self.set("x", self.direction[:, 0], self.m.x.dual)
        self.set("v", self.direction[:, 1:], self.m.v.dual)
        self.m.program._in_mode(AutodiffMode.FORWARD)(self.c, *self.m.arguments)
        return sum(float((self.weights[k] * self.get(k, getattr(self.m, k).dual)).sum()) for k in _OUTPUTS)

    # ------------------------------------------------------------ a sequence of launches

    def result(self, point: np.ndarray) -> float:
        self.begin(point)
        self.launch()
        return float(self.m.loss.to_numpy())

    def launch(self) -> None:
        for kernel, c in self.m.calls:
            kernel(c, *self.m.arguments)

    def taped(self, validation: bool) -> float | None:
        """None where the tape says that a launch overwrites what an earlier one has read."""
        self.begin(self.point)
        self.clear_gradients()
        try:
            with qd.ad.Tape(loss=self.m.loss, validation=validation):
                self.launch()
        except qd.QuadrantsAssertionError as error:
            if _RULE in str(error) and not self.m.safe:
                return None
            raise
        return self.along()

    # ------------------------------------------------------------ the checks

    def check(self, validation: bool) -> None:
        """Raises `Disagreement`, or `Unclear`."""
        backward, forward = self.backward(), self.forward()
        if forward is not None:
            self._equal("reverse and forward mode", backward, forward)
        clear = self._agrees("reverse mode and differences", self.value, backward)
        taped = self.taped(validation)
        if taped is not None:
            clear &= self._agrees("tape and differences", self.result, taped)
        if not clear:
            raise Unclear("the differences say nothing")

    @staticmethod
    def _equal(sign: str, a: float, b: float) -> None:
        if not abs(a - b) <= 1e-9 * max(1.0, abs(b)):
            raise Disagreement(sign, f"{a!r} and {b!r}")

    def _agrees(self, sign: str, f, derivative: float) -> bool:
        measured, error = slope(f, self.point, self.direction)
        scale = max(1.0, abs(measured))
        if not error < 1e-5 * scale:
            return False
        if not abs(measured - derivative) <= 1e-5 * scale + 10 * error:
            raise Disagreement(sign, f"{derivative!r} and {measured!r}")
        return True


def content(x) -> np.ndarray:
    """What a container holds, as an array."""
    if isinstance(x, np.ndarray):
        return x
    return x.detach().numpy() if hasattr(x, "detach") else x.to_numpy()


def put(x, values: np.ndarray) -> None:
    if isinstance(x, np.ndarray):
        x[...] = values
    elif hasattr(x, "detach"):
        x.detach().numpy()[...] = values
    else:
        x.from_numpy(np.ascontiguousarray(values))


def gradient_of(x):
    """The container of the gradient; made as zeros for a tensor without one."""
    if hasattr(x, "detach") and x.grad is None:
        x.grad = x.detach().clone().zero_()
    return x.grad
