"""What the tests of `qd.simt` share: values of every lane type, and folds of tiles by NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

LANE_TYPES = ("i32", "u32", "i64", "u64", "f32", "f64")
FOLDS = {
    "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip

gpu = pytest.mark.runtime(exclude=("cpu",))
lanes = pytest.mark.runtime(exclude=("cpu", "opencl"))  # OpenCL C 1.2 has no subgroups


def values(name: str, count: int, seed: int = 0) -> np.ndarray:
    """Random values of a lane type. Sums of 64 of them are exact in every order."""
    rng = np.random.default_rng(seed)
    t = np.dtype({"i": "int", "u": "uint", "f": "float"}[name[0]] + name[1:])
    if t.kind == "f":
        return (rng.integers(-64, 64, count) / 8).astype(t)
    info = np.iinfo(t)
    return rng.integers(info.min, info.max, count, dtype=t, endpoint=True)


def array(data: np.ndarray):
    """An ndarray of the runtime with these values."""
    out = qd.ndarray(getattr(qd, data.dtype.name), data.shape)
    out.from_numpy(data)
    return out


def tiles(data: np.ndarray, log2: int) -> np.ndarray:
    """The last axis as (tile, lane of the tile)."""
    return data.reshape(*data.shape[:-1], -1, 1 << log2)


def inclusive(how: str, data: np.ndarray, log2: int) -> np.ndarray:
    with np.errstate(over="ignore"):
        return FOLDS[how].accumulate(tiles(data, log2), axis=-1, dtype=data.dtype).reshape(data.shape)


def exclusive(how: str, data: np.ndarray, log2: int) -> np.ndarray:
    out = tiles(inclusive(how, data, log2), log2).copy()
    out[..., 1:] = out[..., :-1]
    out[..., 0] = identity(how, data.dtype)
    return out.reshape(data.shape)


def total(how: str, data: np.ndarray, log2: int) -> np.ndarray:
    """The fold of each tile, in all its lanes."""
    last = tiles(inclusive(how, data, log2), log2)[..., -1:]
    return np.broadcast_to(last, tiles(data, log2).shape).reshape(data.shape)


def identity(how: str, t: np.dtype):
    if how in ("min", "max"):
        if t.kind == "f":
            return np.inf if how == "min" else -np.inf
        return np.iinfo(t).max if how == "min" else np.iinfo(t).min
    if how == "and":
        return np.invert(np.zeros((), t))
    return 1 if how == "mul" else 0


def segmented(how: str, data: np.ndarray, heads: np.ndarray, log2: int) -> np.ndarray:
    out = tiles(data.copy(), log2)
    flags = tiles(heads, log2)
    with np.errstate(over="ignore"):
        for k in range(1, 1 << log2):
            joined = FOLDS[how](out[..., k - 1], out[..., k], dtype=data.dtype)
            out[..., k] = np.where(flags[..., k] != 0, out[..., k], joined)
    return out.reshape(data.shape)
