"""Packages that write files, asked for where they are needed, and the arrays that they are given."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from quadrants.lang.kinds import kind_of, unwrapped


def package(module: str, name: str, what: str, error: type[Exception] = ImportError) -> Any:
    """A module of an optional package. Raises `error`, which says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as reason:
        raise error(f"{what} needs {name} ({reason}): pip install {name}") from reason


def array_of(x: Any) -> np.ndarray:
    """The numbers of a field, an ndarray, or anything that NumPy takes."""
    x = unwrapped(x)
    return x.to_numpy() if kind_of(x) or hasattr(x, "to_numpy") else np.asarray(x)
