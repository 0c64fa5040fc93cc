"""Files of VTK, which ParaView and others read, written by pyevtk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from quadrants.tools import _library as library

__all__ = ["write_vtk"]

# What VTK has no type for, by NumPy's name.
_OTHERS = {"float16": np.float32, "bool": np.uint8}


def write_vtk(scalar_field: Any, filename: Any) -> None:
    """Write a rectilinear grid with a number at each of its points, whose coordinates are indices, as `filename`.vtr.

    scalar_field: field, ndarray or NumPy array of numbers, two or three axes. They are called as the file is.

    Halves are written as f32 and u1 as u8, which VTK has. Raises ValueError for other shapes and for numbers that are
    not real, and RuntimeError where there is no pyevtk (pip install pyevtk).

        qd.tools.write_vtk(density, "density")  # density.vtr
    """
    numbers = library.array_of(scalar_field)
    if numbers.ndim not in (2, 3) or getattr(scalar_field, "_element_shape", ()):
        raise ValueError("The input field must be a 2D or 3D scalar field.")
    if numbers.dtype.kind not in "biuf":
        raise ValueError(f"write_vtk writes real numbers, not {numbers.dtype}.")
    hl = library.package("pyevtk.hl", "pyevtk", "qd.tools.write_vtk", RuntimeError)
    numbers = numbers.astype(_OTHERS.get(numbers.dtype.name, numbers.dtype), copy=False)
    grid = np.asfortranarray(numbers.reshape(numbers.shape + (1,) * (3 - numbers.ndim)))
    path = os.fspath(filename).removesuffix(".vtr")
    name = escape(Path(path).name, {'"': "&quot;"})  # pyevtk writes it into an attribute as it is
    hl.gridToVTK(path, *(np.arange(n) for n in grid.shape), pointData={name: grid})
