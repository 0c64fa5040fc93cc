"""Pictures without a display: PNG by the standard library alone, GIF when Pillow is installed.

An image is a uint8 array (height, width, 3) whose first row is the top. Simulations index `[i, j]` with i to the right
and j upwards; `upright` turns one into the other.
"""

from __future__ import annotations

import importlib.util
import struct
import zlib
from pathlib import Path

import numpy as np

# Dark blue through teal and yellow to white: dark to light, so it also reads in grey.
_STOPS = np.array(
    [[8, 10, 40], [24, 60, 130], [20, 140, 150], [140, 200, 110], [250, 220, 100], [255, 255, 245]], float
)


def upright(grid: np.ndarray) -> np.ndarray:
    """`[x, y]`, y upwards, to `[row, column]`, rows downwards. Further axes stay."""
    return np.swapaxes(grid, 0, 1)[::-1]


def to_bytes(colour: np.ndarray) -> np.ndarray:
    """Real colours, 0 to 1, as uint8; values outside are clipped and NaN is black."""
    return (np.clip(np.nan_to_num(colour, nan=0.0), 0, 1) * 255 + 0.5).astype(np.uint8)


def colormap(values: np.ndarray, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Colours (..., 3) of real values, `low` dark and `high` light."""
    t = np.clip((np.nan_to_num(values) - low) / (high - low), 0, 1) * (len(_STOPS) - 1)
    index = np.minimum(t.astype(int), len(_STOPS) - 2)
    part = (t - index)[..., None]
    return (_STOPS[index] * (1 - part) + _STOPS[index + 1] * part + 0.5).astype(np.uint8)


def enlarge(image: np.ndarray, factor: int) -> np.ndarray:
    """Every pixel as a square of `factor` x `factor` pixels."""
    return image.repeat(factor, axis=0).repeat(factor, axis=1)


def scatter(points: np.ndarray, colours, size: int = 384, radius: int = 1) -> np.ndarray:
    """Square dots at `points` (n, 2) of the unit square, painted in order on a dark ground.

    colours: (3,) for all or (n, 3), 0..255. radius: dots are `2 * radius + 1` pixels wide.
    """
    image = np.full((size, size, 3), (12, 16, 32), np.uint8)
    column = (points[:, 0] * size).astype(int)
    row = size - 1 - (points[:, 1] * size).astype(int)
    colours = np.broadcast_to(np.asarray(colours, np.uint8), (len(points), 3))
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            c, r = column + dx, row + dy
            inside = (c >= 0) & (c < size) & (r >= 0) & (r < size)
            image[r[inside], c[inside]] = colours[inside]
    return image


def segments(begins: np.ndarray, ends: np.ndarray, colours, size: int = 384) -> np.ndarray:
    """Straight lines from `begins` to `ends`, both (n, 2) in the unit square, on a dark ground.

    colours: (3,) for all or (n, 3), 0..255.
    """
    colours = np.broadcast_to(np.asarray(colours, np.uint8), (len(begins), 3))
    # As many dots as the longest line has pixels.
    count = int(np.abs(ends - begins).max() * size) + 2
    part = np.linspace(0.0, 1.0, count)[:, None, None]
    return scatter((begins + part * (ends - begins)).reshape(-1, 2), np.tile(colours, (count, 1)), size, radius=0)


def project(points: np.ndarray, turn: float = 0.6, tilt: float = 0.35) -> tuple[np.ndarray, np.ndarray]:
    """Parallel projection of (n, 3) points of the unit cube, y up, as (n, 2) points of the unit square and depths.

    turn, tilt: angles in radians about the vertical and of looking down. Larger depths are farther away.
    """
    x, y, z = (points - 0.5).T
    c, s = np.cos(turn), np.sin(turn)
    x, z = c * x + s * z, c * z - s * x
    c, s = np.cos(tilt), np.sin(tilt)
    y, z = c * y - s * z, c * z + s * y
    return np.stack([x, y], axis=1) * 0.65 + 0.5, -z


def write_png(path: Path, image: np.ndarray) -> None:
    """Writes a uint8 image (height, width, 3)."""
    height, width, channels = image.shape
    if image.dtype != np.uint8 or channels != 3:
        raise ValueError(f"a picture is uint8 of shape (height, width, 3), got {image.dtype} of shape {image.shape}")
    # Every row starts with its filter type, 0 for none.
    rows = np.concatenate([np.zeros((height, 1), np.uint8), image.reshape(height, width * 3)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)) + chunk(b"IEND", b"")
    Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + body)


def can_write_gif() -> bool:
    """Whether Pillow is installed."""
    return importlib.util.find_spec("PIL") is not None


def write_gif(path: Path, frames: list[np.ndarray], milliseconds: int = 40) -> None:
    """Writes an endless animation. Needs Pillow: see `can_write_gif`."""
    from PIL import Image

    first, *rest = [Image.fromarray(frame) for frame in frames]
    first.save(path, save_all=True, append_images=rest, duration=milliseconds, loop=0)
