"""Central differences in f64 that know how far they can be trusted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def slope(f: Callable[[np.ndarray], float], x: np.ndarray, direction: np.ndarray) -> tuple[float, float]:
    """Directional derivative of a scalar function, and an estimate of its error.

    Three step sizes and Richardson extrapolation. Where f jumps or has a kink within the steps they disagree, and the
    error tells. They agree about a kink that is nearer than all steps, where one slope changes to the other however
    small the step is.
    """
    here = f(x)
    ends = [(eps, f(x + eps * direction), f(x - eps * direction)) for eps in (4e-4, 2e-4, 1e-4)]
    coarse, middle, fine = ((above - below) / (2 * eps) for eps, above, below in ends)
    _, far, near = (((above - here) - (here - below)) / eps for eps, above, below in ends)
    first, second = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
    noise = 1e-11 * max(1.0, abs(here))
    return second, abs(first - second) + abs(2 * near - far) + noise
