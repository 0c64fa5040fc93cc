"""Runs a kernel over fields in both modes, and central differences."""

from __future__ import annotations

import numpy as np

import quadrants as qd


def field(values, dtype=qd.f64, **options):
    """A field with gradient and dual, holding `values`."""
    values = np.asarray(values, dtype=np.float64)
    made = qd.field(dtype, values.shape, needs_grad=True, needs_dual=True, **options)
    made.from_numpy(values.astype(np.float32 if dtype is qd.f32 else np.float64))
    return made


def reverse(kernel, inputs, outputs, *args) -> list:
    """Gradients of the sum of `outputs` with respect to each of `inputs`."""
    for x in inputs:
        x.grad.fill(0)
    for y in outputs:
        y.grad.fill(1)
    kernel.grad(*args)
    return [x.grad.to_numpy() for x in inputs]


def forward(kernel, inputs, outputs, *args) -> list:
    """The same, one element at a time, in forward mode."""
    from quadrants.lang.enums import AutodiffMode

    result = []
    launch = kernel._in_mode(AutodiffMode.FORWARD)
    for x in inputs:
        found = np.zeros(x.shape)
        for at in np.ndindex(*x.shape):
            for other in (*inputs, *outputs):
                other.dual.fill(0)
            x.dual[at if at else None] = 1.0
            launch(*args)
            found[at] = sum(float(y.dual.to_numpy().sum()) for y in outputs)
        for other in (*inputs, *outputs):
            other.dual.fill(0)
        result.append(found)
    return result


def differences(function, arrays, eps: float = 1e-6) -> list:
    """Central differences of the sum of what `function` makes of `arrays`."""
    arrays = [np.array(a, dtype=np.float64) for a in arrays]
    result = []
    for a in arrays:
        found = np.zeros(a.shape)
        for at in np.ndindex(*a.shape):
            kept = a[at]
            a[at] = kept + eps
            up = float(np.sum(function(*arrays)))
            a[at] = kept - eps
            down = float(np.sum(function(*arrays)))
            a[at] = kept
            found[at] = (up - down) / (2 * eps)
        result.append(found)
    return result


def kernel_differences(kernel, inputs, outputs, *args, eps: float = 1e-6) -> list:
    """Central differences by launching the kernel itself; `outputs` start from zero each time."""

    def run(*arrays):
        for x, a in zip(inputs, arrays, strict=True):
            x.from_numpy(a)
        for y in outputs:
            y.fill(0)
        kernel(*args)
        return sum(float(y.to_numpy().sum()) for y in outputs)

    kept = [x.to_numpy() for x in inputs]
    found = differences(run, kept, eps)
    run(*kept)
    return found


def check(kernel, inputs, outputs, *args, rtol: float = 1e-5, atol: float = 1e-6, modes: str = "rf") -> None:
    """Reverse and forward mode against central differences of the kernel itself."""
    expected = kernel_differences(kernel, inputs, outputs, *args)
    if "r" in modes:
        for found, want in zip(reverse(kernel, inputs, outputs, *args), expected, strict=True):
            np.testing.assert_allclose(found, want, rtol=rtol, atol=atol, err_msg="reverse mode")
    if "f" in modes:
        for y in outputs:
            y.fill(0)
        for found, want in zip(forward(kernel, inputs, outputs, *args), expected, strict=True):
            np.testing.assert_allclose(found, want, rtol=rtol, atol=atol, err_msg="forward mode")
