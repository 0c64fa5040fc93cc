"""Central differences in f64 that know how far they can be trusted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def difference(f: Callable[[np.ndarray], float], x: np.ndarray, direction: np.ndarray, eps: float) -> float:
    """(f(x + eps d) - f(x - eps d)) / (2 eps)."""
    return (f(x + eps * direction) - f(x - eps * direction)) / (2 * eps)


def slope(f: Callable[[np.ndarray], float], x: np.ndarray, direction: np.ndarray) -> tuple[float, float]:
    """Directional derivative of a scalar function, and an estimate of its error.

    Three step sizes and Richardson extrapolation. Where f jumps or has a kink they disagree, and the error tells.
    """
    coarse, middle, fine = (difference(f, x, direction, eps) for eps in (4e-4, 2e-4, 1e-4))
    first, second = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
    noise = 1e-11 * max(1.0, abs(f(x)))
    return second, abs(first - second) + noise
