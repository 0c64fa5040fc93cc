"""y = a x + y on numbers of 13 and 19 bits that share a word: half of the memory of f32, and what rounding costs."""

from __future__ import annotations

import numpy as np

import quadrants as qd

from ._picture import enlarge
from ._run import Run

STEPS_X, STEPS_Y = 2.0**-10, 2.0**-12  # of 13 bits below 4, and of 19 bits below 64


class Saxpy:
    """`size` pairs (x, y) in words of 32 bits, and y in f32 for comparison."""

    def __init__(self, size: int):
        quant = qd.types.quant
        self.x = qd.field(quant.fixed(13, max_value=4.0))
        self.y = qd.field(quant.fixed(19, max_value=64.0))
        word = qd.BitpackedFields(max_num_bits=32)
        word.place(self.x, self.y)
        qd.root.dense(qd.i, size).place(word)
        self.exact = qd.field(qd.f32, size)
        self.error = qd.field(qd.f32, size)
        start(self.x, self.y, self.exact)

    def step(self, a: float) -> None:
        saxpy(self.x, self.y, self.exact, a)

    def errors(self) -> np.ndarray:
        """Rounded y less exact y, in steps of y."""
        compare(self.y, self.exact, self.error)
        return self.error.to_numpy()


@qd.kernel
def start(x: qd.template(), y: qd.template(), exact: qd.template()):
    for i in x:
        x[i] = 3.0 * qd.sin(0.05 * i)
        y[i] = 0.0
        exact[i] = y[i]


@qd.kernel
def saxpy(x: qd.template(), y: qd.template(), exact: qd.template(), a: qd.f32):
    for i in x:
        y[i] += a * x[i]
        exact[i] += a * x[i]


@qd.kernel
def compare(y: qd.template(), exact: qd.template(), error: qd.template()):
    for i in y:
        error[i] = (y[i] - exact[i]) / STEPS_Y


def image(errors: np.ndarray, rows: list[np.ndarray]) -> np.ndarray:
    """A row a picture: how far each y is from the exact one, blue below and red above."""
    rows.append(np.clip(errors[:384] / 8, -1, 1))
    del rows[:-96]
    grid = np.repeat(np.array(rows + [np.zeros(384)] * (96 - len(rows))), 2, axis=0)[..., None]
    colours = np.where(grid > 0, (230, 80, 60), (70, 120, 240)) * abs(grid) + 12
    return enlarge(np.clip(colours, 0, 255).astype(np.uint8), 2)


def main(run: Run) -> None:
    size = 1 << (24 if run.large else 16)
    pairs = Saxpy(size)
    rows: list[np.ndarray] = []
    for frame in run.frames(192):
        with run.work(size, "pairs"):
            pairs.step(0.1 if frame % 64 < 32 else -0.1)
        run.show(lambda: image(pairs.errors(), rows))
