"""A dive into the Mandelbrot set: complex numbers as 2-vectors, smooth colours."""

from __future__ import annotations

import numpy as np

import quadrants as qd

from ._picture import colormap
from ._run import Run

vec2 = qd.types.vector(2, qd.f64)
Image = qd.types.ndarray(dtype=qd.f32, ndim=2)

# Beyond this radius an orbit is sure to escape; 2 is enough, a larger one makes the colours smoother.
ESCAPE = 16.0


@qd.func
def square(z):
    # Not qd.math.cmul: that works in the default precision, and the dive needs f64.
    return qd.Vector([z.x * z.x - z.y * z.y, 2.0 * z.x * z.y])


@qd.func
def escape_time(c, limit):
    """Iterations of z -> z^2 + c from 0 until |z| > ESCAPE, with a fractional part; `limit` if that never happens."""
    z = qd.zero(c)
    n = 0
    while n < limit and z.dot(z) <= ESCAPE * ESCAPE:
        z = square(z) + c
        n += 1
    time = qd.cast(limit, qd.f32)
    if z.dot(z) > ESCAPE * ESCAPE:
        excess = qd.log(qd.cast(z.dot(z), qd.f32)) / (2.0 * qd.log(ESCAPE))
        time = qd.cast(n, qd.f32) - qd.math.log2(excess)
    return time


@qd.kernel
def render(image: Image, centre: vec2, width: qd.f64, limit: qd.i32):
    """Escape times on a grid of square pixels around `centre`; rows go downwards."""
    pixel = width / image.shape[1]
    for i, j in qd.ndrange(image.shape[0], image.shape[1]):
        offset = qd.Vector([j - 0.5 * (image.shape[1] - 1), 0.5 * (image.shape[0] - 1) - i])
        image[i, j] = escape_time(centre + pixel * offset, limit)


def escape_times(rows: int, columns: int, centre=(-0.5, 0.0), width: float = 3.0, limit: int = 200) -> np.ndarray:
    """Escape times (rows, columns) as f32; `limit` marks points that did not escape."""
    image = qd.ndarray(qd.f32, (rows, columns))
    render(image, qd.Vector([float(centre[0]), float(centre[1])]), width, limit)
    return image.to_numpy()


def paint(times: np.ndarray, limit: int) -> np.ndarray:
    """Bands of colour that repeat every 40 iterations; the set itself is black."""
    phase = 0.5 - 0.5 * np.cos(2 * np.pi * np.sqrt(np.maximum(times, 0) / 40.0))
    return np.where((times >= limit)[..., None], 0, colormap(phase)).astype(np.uint8)


def main(run: Run) -> None:
    size = 1024 if run.large else 320
    limit = 400
    for frame in run.frames(60):
        width = 3.0 * 0.87**frame
        with run.work(size * size, "pixels"):
            times = escape_times(size, size, (-0.743643887037151, 0.131825904205330), width, limit)
        run.show(lambda times=times: paint(times, limit))
