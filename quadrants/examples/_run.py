"""One run of an example: the frame loop with its progress bar, the pictures, and the throughput at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import quadrants as qd

from ._picture import can_write_gif, write_gif, write_png
from ._progress import bar

_MAX_GIF_FRAMES = 100


class Run:
    """What the command line asked for, and what the example did.

    name: of the example, and of the files it writes.
    frames: number of frames, or None for the example's own default.
    out: folder for pictures; it is created when the first one is written.
    large: whether the large problem size was asked for.
    picture: whether pictures are wanted.
    """

    def __init__(self, name: str, frames: int | None = None, out: Path = Path("."), large: bool = False,
                 picture: bool = True):  # fmt: skip
        self.name = name
        self.large = large
        self._wanted_frames = frames
        self._out = Path(out)
        self._picture = picture
        self._count = 0
        self._frame = 0
        self._film: list[np.ndarray] = []
        self._last: np.ndarray | None = None
        self._work: list[tuple[float, float]] = []
        self._unit = "steps"

    def frames(self, default: int) -> Iterator[int]:
        """Frame numbers from 0, with a progress bar on a terminal."""
        self._count = self._wanted_frames or default
        for frame in bar(range(self._count), self.name):
            self._frame = frame
            yield frame

    @contextmanager
    def work(self, amount: float, unit: str):
        """Times the body, which does `amount` units of work, including what the device still has to finish."""
        start = time.perf_counter()
        yield
        qd.sync()
        self._work.append((amount, time.perf_counter() - start))
        self._unit = unit

    def show(self, draw: Callable[[], np.ndarray]) -> None:
        """Keeps `draw()`, a uint8 image (height, width, 3), as a frame of the film. Not called when not needed."""
        if not self._picture:
            return
        every = -(-self._count // _MAX_GIF_FRAMES)
        last = self._frame == self._count - 1
        film = can_write_gif() and self._count > 1
        if last or (film and self._frame % every == 0):
            self._last = draw()
            if film:
                self._film.append(self._last)

    def throughput(self) -> float:
        """Units of work per second. The first piece is left out when there are others: it holds the compilation."""
        pieces = self._work[1:] or self._work
        seconds = sum(s for _, s in pieces)
        return sum(a for a, _ in pieces) / seconds if seconds > 0 else 0.0

    def report(self) -> None:
        """Prints throughput and writes the pictures."""
        if self._work:
            print(f"{self.name}: {_si(self.throughput())} {self._unit}/s ({self._count} frames)")
        if self._last is not None:
            self._out.mkdir(parents=True, exist_ok=True)
            path = self._out / f"{self.name}.png"
            write_png(path, self._last)
            print(f"{self.name}: wrote {path}")
        if len(self._film) > 1:
            path = self._out / f"{self.name}.gif"
            write_gif(path, self._film)
            print(f"{self.name}: wrote {path}")
        elif self._last is not None and self._count > 1 and not can_write_gif():
            print(f"{self.name}: the last frame only; `pip install pillow` adds an animated GIF")


def _si(value: float) -> str:
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}"
    return f"{value:.3g} "
