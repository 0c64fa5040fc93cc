"""Films, by imageio and the ffmpeg that imageio-ffmpeg brings."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from quadrants.tools import _library as library
from quadrants.tools.image import pixels

__all__ = ["VideoWriter"]

# The least and the largest frame rates by the suffix of the file.
_SUFFIXES = {".gif": (0.002, 100), **dict.fromkeys((".mp4", ".mov", ".mkv", ".avi"), (0.001, 1000))}


class VideoWriter:
    """Writes images as the frames of a film (.mp4) or an animation (.gif), as the file's suffix says.

    Args:
        filename: where it goes.
        framerate: frames a second. A frame of a .gif lasts whole hundredths of a second: 4 of them for 24 and for 25.

    Raises ValueError for other suffixes than .mp4, .mov, .mkv, .avi and .gif, and for frame rates of 0 and below, or
    above 100 for a .gif. ImportError where there is no imageio or, for films, no imageio-ffmpeg.

        with qd.tools.VideoWriter("film.mp4", framerate=30) as film:
            for _ in range(90):
                step()
                film.write_frame(picture)
    """

    def __init__(self, filename: Any, framerate: float = 24):
        self.filename, self.framerate = os.fspath(filename), framerate
        suffix = os.path.splitext(self.filename)[1].lower()
        if suffix not in _SUFFIXES:
            raise ValueError(f"A film is a file with one of the suffixes {', '.join(_SUFFIXES)}: {self.filename!r}")
        least, most = _SUFFIXES[suffix]
        if not least <= framerate <= most:
            raise ValueError(f"The framerate of a {suffix} file is {least:g} to {most:g} frames a second: {framerate}")
        self._closed = False
        imageio = library.package("imageio.v2", "imageio", "qd.tools.VideoWriter")
        if suffix == ".gif":
            duration = 10 * round(100 / framerate)  # in ms; the format counts hundredths of a second
            self._writer = imageio.get_writer(self.filename, mode="I", duration=duration, loop=0)
        else:
            library.package("imageio_ffmpeg", "imageio-ffmpeg", "qd.tools.VideoWriter")
            self._writer = imageio.get_writer(self.filename, fps=framerate, macro_block_size=2)
        self._shape: tuple | None = None

    def write_frame(self, image: Any) -> None:
        """Append an image; see `qd.tools.image.pixels`.

        ValueError for other shapes than the first one had, and where the film is closed.
        """
        if self._closed:
            raise ValueError(f"{self.filename} is closed: write frames before close(), inside of the with.")
        frame = pixels(image)
        if frame.ndim == 2:
            frame = np.repeat(frame[:, :, None], 3, axis=2)
        frame = frame[:, :, :3]
        if self._shape not in (None, frame.shape):
            raise ValueError(
                f"A frame of {frame.shape[1]} x {frame.shape[0]} pixels in a film of {self._shape[1]} x "
                f"{self._shape[0]}"
            )
        self._shape = frame.shape
        self._writer.append_data(frame)

    def close(self) -> None:
        """Finish the file."""
        self._closed = True
        self._writer.close()

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
