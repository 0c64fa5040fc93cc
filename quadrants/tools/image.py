"""Pictures in files, by Pillow."""

from __future__ import annotations

from typing import Any

import numpy as np

from quadrants.tools import _library as library

__all__ = ["imread", "imwrite", "pixels"]


def pixels(image: Any) -> np.ndarray:
    """An image as u8 of shape (height, width) or (height, width, 3 or 4), whose first row is at the top.

    image: field, ndarray or array of shape (width, height), of numbers or of colours of 3 or 4 components, or of shape
    (width, height, 1, 3 or 4). `image[i, j]` is i to the right and j upwards, as kernels have it. Reals are from 0 to
    1, u8 from 0 to 255; what is outside is cut, and NaN is black.

    Raises ValueError for other shapes and types.
    """
    found = library.array_of(image)
    if found.ndim == 3 and found.shape[2] == 1:
        found = found[:, :, 0]
    if found.ndim not in (2, 3) or (found.ndim == 3 and found.shape[2] not in (3, 4)) or not found.size:
        raise ValueError(f"An image has the shape (width, height) or (width, height, 1, 3 or 4), not {found.shape}.")
    if found.dtype.kind == "f":
        found = (np.clip(np.nan_to_num(found.astype(np.float32)), 0, 1) * 255 + 0.5).astype(np.uint8)
    if found.dtype == np.bool_:
        found = found.astype(np.uint8) * 255
    if found.dtype != np.uint8:
        raise ValueError(
            f"An image is of reals from 0 to 1 or of u8, not of {found.dtype}; divide by its largest value."
        )
    return np.ascontiguousarray(np.swapaxes(found, 0, 1)[::-1])


def imwrite(image: Any, filename: Any) -> None:
    """Write an image as the file's suffix says: .png, .jpg, .gif, ..

    image: see `pixels`. ValueError for other shapes and types, ImportError where there is no Pillow.

        qd.tools.imwrite(picture, "picture.png")
    """
    pil = library.package("PIL.Image", "pillow", "qd.tools.imwrite")
    pil.fromarray(pixels(image)).save(filename)


def imread(filename: Any, channels: int = 3) -> np.ndarray:
    """The image of a file as u8 of shape (width, height, channels), indexed as `imwrite` takes it.

    channels: 1 (grey, shape (width, height)), 3 or 4. Grey levels of 16 bits are rounded to 8. ValueError for files of
    other numbers, such as reals, and ImportError where there is no Pillow.

        picture = qd.tools.imread("picture.png")
    """
    if channels not in (1, 3, 4):
        raise ValueError(f"An image has 1, 3 or 4 channels, not {channels}")
    pil = library.package("PIL.Image", "pillow", "qd.tools.imread")
    with pil.open(filename) as file:
        rows = np.asarray(_of_bytes(pil, file, filename).convert({1: "L", 3: "RGB", 4: "RGBA"}[channels]))
    return np.ascontiguousarray(np.swapaxes(rows[::-1], 0, 1))


def _of_bytes(pil: Any, file: Any, filename: Any) -> Any:
    """The image with 8 bits a number: Pillow cuts larger ones off at 255."""
    if file.mode.startswith("I;16") or (file.mode == "I" and file.format == "PNG"):
        levels = np.asarray(file).astype(np.uint32)
        return pil.fromarray(((levels * 255 + 32767) // 65535).astype(np.uint8))
    if file.mode in ("I", "F"):
        kind = "reals" if file.mode == "F" else "integers of 32 bits"
        raise ValueError(f"{filename} is an image of {kind}; qd.tools.imread reads those of 8 and 16 bits.")
    return file
