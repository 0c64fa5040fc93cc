"""Files of VTK, which ParaView and others read, written by pyevtk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from quadrants.tools import _library as library

__all__ = ["write_vtk"]


def write_vtk(scalar_field: Any, filename: Any) -> None:
    """Write a rectilinear grid with a number at each of its points, whose coordinates are indices, as `filename`.vtr.

    scalar_field: field, ndarray or NumPy array of numbers, two or three axes. They are called as the file is.

    Raises ValueError for other shapes, and RuntimeError where there is no pyevtk (pip install pyevtk).

        qd.tools.write_vtk(density, "density")  # density.vtr
    """
    numbers = library.array_of(scalar_field)
    if numbers.ndim not in (2, 3) or getattr(scalar_field, "_element_shape", ()):
        raise ValueError("The input field must be a 2D or 3D scalar field.")
    hl = library.package("pyevtk.hl", "pyevtk", "qd.tools.write_vtk", RuntimeError)
    if numbers.dtype == np.float16:
        numbers = numbers.astype(np.float32)  # VTK has no halves
    grid = np.asfortranarray(numbers.reshape(numbers.shape + (1,) * (3 - numbers.ndim)))
    path = os.fspath(filename).removesuffix(".vtr")
    hl.gridToVTK(path, *(np.arange(n) for n in grid.shape), pointData={Path(path).name: grid})
