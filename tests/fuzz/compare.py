"""Whether two results are the same, bit for bit where the language fixes the bits."""

from __future__ import annotations

import numpy as np


def difference(got, want, path: str = "") -> str | None:
    """The first difference as text, None without one. NaN equals NaN, zeros are equal, subnormal numbers are zeros."""
    if isinstance(want, dict):
        for name in want:
            if name not in got:
                return f"{path}{name} is missing"
            found = difference(got[name], want[name], f"{path}{name}: ")
            if found:
                return found
        return None
    if isinstance(want, str) or isinstance(want, list) and want and isinstance(want[0], str):
        return None if got == want else f"{path}printed {got!r}, expected {want!r}"
    a, b = plain(got), plain(want)
    if path.startswith("~") and a.shape == b.shape:
        return None if close(a, b) else f"{path}{a.tolist()}, expected about {b.tolist()}"
    if a.shape != b.shape:
        return f"{path}shape {a.shape}, expected {b.shape}"
    wrong = np.argwhere(~equal(a, b))
    if not len(wrong):
        return None
    where = tuple(int(k) for k in wrong[0])
    return f"{path}{a[where].item()!r} at {where}, expected {b[where].item()!r}"


def close(a: np.ndarray, b: np.ndarray) -> bool:
    """Results of functions: within what an f32 may lose."""
    return bool(np.allclose(a, b, rtol=2e-4 if b.dtype != np.float64 else 1e-5, atol=1e-5, equal_nan=True))


def plain(x) -> np.ndarray:
    """Anything that a program returns as an array."""
    if hasattr(x, "to_list"):
        x = x.to_list()
    if isinstance(x, tuple):
        x = list(x)
    out = np.array(x) if not isinstance(x, list) or not _is_ragged(x) else np.array(_flat(x))
    return out.astype(object) if out.dtype.kind == "u" and out.dtype.itemsize == 8 else out


def _is_ragged(x: list) -> bool:
    return any(hasattr(e, "to_list") or isinstance(e, (list, tuple)) for e in x) or len({type(e) for e in x}) > 1


def _flat(x) -> list:
    if hasattr(x, "to_list"):
        x = x.to_list()
    return [v for e in x for v in _flat(e)] if isinstance(x, (list, tuple)) else [float(x) if abs(x) < 2**53 else x]


def equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if b.dtype.kind != "f" and a.dtype.kind != "f":
        return np.asarray(a == b)
    tiny = np.finfo(b.dtype if b.dtype.kind == "f" else np.float64).tiny
    a, b = (np.where(np.abs(x) < tiny, 0, x) for x in (a, b))
    return (a == b) | ((a != a) & (b != b))
