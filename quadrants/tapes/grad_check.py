"""Gradients against finite differences: what `Tape(grad_check=[..])` does when it ends."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from quadrants._ext.core import everything_written, members
from quadrants.data import bulk, context, dtypes, memory, snode
from quadrants.data.field import Field, ScalarField
from quadrants.data.matrix_field import MatrixField

# Central differences are exact to eps**2 and lose digits as 1/eps: somewhere between they agree with the gradient.
_STEPS = [2.0**-k for k in range(3, 30, 2)]
_TOLERANCE = 100.0


class GradCheck:
    """Compares the gradients of `fields` with central differences along random directions."""

    def __init__(self, fields: list):
        self._fields = [x._unwrap() if hasattr(x, "_unwrap") else x for x in fields]
        self._memory: list = []
        self._foreign: dict = {}
        self._before: list = []

    def check(self, loss) -> None:
        """`AssertionError` for a loss that is not f64 and for what is no field with a gradient."""
        if not loss.is_f64:
            raise AssertionError("Only f64 is supported when checking grad.")
        for x in self._fields:
            if not isinstance(x, (ScalarField, MatrixField)) or not x.has_grad():
                raise AssertionError(f"grad_check needs fields of numbers with needs_grad=True, not {x!r}")
            if bulk.is_quantised(x):
                raise AssertionError("grad_check moves numbers by little, and a quantised field has steps")

    def save(self) -> None:
        """Keep the state that the forward pass starts from."""
        self._memory = _all_memory()
        self._before = [x.grad.to_numpy() for x in self._fields]

    def see(self, args: tuple) -> None:
        """Keep the state of foreign arrays that a launch is about to change."""
        for x in args:
            if id(x) not in self._foreign and (content := _foreign_content(x)) is not None:
                self._foreign[id(x)] = (content, _copied(content))

    def run(self, calls: Callable[[], list], loss) -> None:
        """Run again with changed parameters what `calls()` lists: callables, with a context that gives their arguments.

        `AssertionError` naming what disagrees.
        """
        gradients = [x.grad.to_numpy() - before for x, before in zip(self._fields, self._before, strict=True)]
        end = _all_memory()
        end_foreign = [(content, _copied(content)) for content, _ in self._foreign.values()]
        random = np.random.default_rng(0)
        try:
            agree = [self._agrees(k, gradient, calls, loss, random) for k, gradient in enumerate(gradients)]
        finally:
            _put_back(end, end_foreign)
        if not all(agree):
            names = ", ".join(x._name or f"number {k}" for k, x in enumerate(self._fields) if not agree[k])
            raise AssertionError(
                f"Grad check failed: gradients and finite differences disagree for {names}. Does a kernel overwrite "
                "what it has read, or does Python change data between kernels of the tape?"
            )

    def _agrees(self, number: int, gradient: np.ndarray, calls: Callable[[], list], loss, random) -> bool:
        """Along a direction of positive numbers, and along one of both signs, in which a wrong element stands out."""
        x = self._fields[number]
        said = f"variable {number} ({x._name})" if x._name else f"variable {number}"
        self._rewind()
        start = x.to_numpy().astype(np.float64)
        gradient = gradient.astype(np.float64)
        length = float(np.linalg.norm(gradient))  # what to expect along a direction of both signs
        for direction, least in ((random.random(start.shape), 0.0), (random.standard_normal(start.shape), length)):
            expected = float((gradient * direction).sum())
            best = self._closest(x, start, direction, expected, least, calls, loss)
            if best is not None:
                print(f"{said} fails grad check: gradient {expected!r}, closest finite difference {best!r}")
                return False
        print(f"{said} passes grad check")
        return True

    def _closest(self, x: Field, start: np.ndarray, direction, expected: float, least: float, calls, loss):
        """The finite difference that is closest to what is expected; None where one agrees, to a hundredth of that or
        of `least`."""
        measured = []
        for eps in _STEPS:
            ahead, behind = (self._loss_at(x, start + sign * eps * direction, calls, loss) for sign in (1, -1))
            measured.append((ahead - behind) / (2 * eps))
            if abs(expected - measured[-1]) * _TOLERANCE <= max(abs(expected), least):
                return None
        return min(measured, key=lambda d: abs(d - expected))

    def _loss_at(self, x: Field, values: np.ndarray, calls: Callable[[], list], loss) -> float:
        self._rewind()
        x.from_numpy(np.asarray(values, dtypes.numpy_dtype(x.dtype)))
        for func, args in calls():
            with args as values_then:
                func(*values_then)
        return loss.value()

    def _rewind(self) -> None:
        """Everything as it was before the forward pass."""
        _put_back(self._memory, self._foreign.values())


def _all_memory() -> list:
    """(where, copy of the bytes) for all fields and ndarrays of the runtime."""
    context.materialize()
    context.synchronize()
    buffers = [tree.buffer for tree in snode.trees() if tree.buffer is not None]
    buffers += [x.arr for x in members(context.live_ndarrays()) if x.arr is not None]
    return [(b, b.fetch(0, b.nbytes) if memory.is_device(b) else np.frombuffer(b, np.uint8).copy()) for b in buffers]


def _put_back(saved: list, foreign) -> None:
    for buffer, content in saved:
        if memory.is_device(buffer):
            buffer.store(0, content)
        else:
            np.frombuffer(buffer, np.uint8)[...] = content
    everything_written()
    for array, content in foreign:
        array[...] = content


def _copied(content):
    return content.copy() if isinstance(content, np.ndarray) else content.clone()


def _foreign_content(x):
    """The live content of a NumPy array or torch tensor; None for what the runtime owns and for plain values."""
    if isinstance(x, np.ndarray):
        return x
    torch = sys.modules.get("torch")
    return x.detach() if torch is not None and isinstance(x, torch.Tensor) else None
