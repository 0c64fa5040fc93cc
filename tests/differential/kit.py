"""What the programs share: catching errors, capturing what kernels print, encoding results."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator

import numpy as np

# Texts of errors that lacked the wanted fragment: for the reader of a failing test, never part of a result.
messages: list[str] = []
# What programs run on; the harness changes it.
arch = "cpu"


def start(qd, **options) -> None:
    """A new runtime of the package `qd` on the arch under test, without a disk cache."""
    qd.init(arch=getattr(qd, arch), offline_cache=False, **options)


def fails(action: Callable[[], object], fragment: str = "") -> str:
    """Run `action`: "CLASS: FRAGMENT" if it raised with `fragment` in the text (spaces folded), else what happened."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            action()
    except Exception as error:
        text = " ".join(str(error).split())
        if " ".join(fragment.split()) in text:
            return f"{type(error).__name__}: {fragment}"
        messages.append(f"{type(error).__name__}: {text[-400:]}")
        return f"{type(error).__name__} without {fragment!r}"
    return "no error"


@contextlib.contextmanager
def _fd_to_file(path: str) -> Iterator[None]:
    libc = ctypes.CDLL(None)
    libc.fflush(None)
    saved = os.dup(1)
    try:
        with open(path, "wb") as target:
            os.dup2(target.fileno(), 1)
        yield
    finally:
        libc.fflush(None)
        os.dup2(saved, 1)
        os.close(saved)


def printed(qd, action: Callable[[], object]) -> str:
    """What `action` wrote to file descriptor 1, after `qd.sync()`."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out")
        with _fd_to_file(path):
            action()
            qd.sync()
        with open(path, encoding="utf-8") as file:
            return file.read()


def warned(action: Callable[[], object]) -> list[str]:
    """Sorted names of the warning classes that `action` gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return sorted({w.category.__name__ for w in caught})


def specialisations(kernel) -> int:
    """How many specialisations of a kernel exist."""
    return len(kernel._primal.materialized_kernels)


def _number(value: float | int) -> float | int | str:
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def encode(value: object) -> object:
    """A result as JSON: numbers, strings, lists of them, arrays as {"dtype", "shape", "data"}."""
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return {
            "dtype": str(array.dtype),
            "shape": list(array.shape),
            "data": [_number(x) for x in array.ravel().tolist()],
        }
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    raise TypeError(
        f"a program returned {type(value).__name__}; return numbers, strings, NumPy arrays or lists of them"
    )


def _close(got: float, want: float, rtol: float, atol: float) -> bool:
    if math.isnan(want) or math.isinf(want) or not math.isfinite(got):
        return repr(got) == repr(want)
    return abs(got - want) <= atol + rtol * abs(want)


def difference(got: object, want: object, rtol: float, atol: float, where: str = "") -> str | None:
    """None if two encoded results agree (integers, strings exactly; floats within the tolerance), else what differs."""
    if isinstance(want, dict) and isinstance(got, dict):
        if set(want) != set(got):
            return f"{where}: keys {sorted(set(want) ^ set(got))} are on one side only"
        if "dtype" in want and want["dtype"] == "float64":
            rtol, atol = rtol * 1e-6, atol * 1e-6
        found = (difference(got[k], want[k], rtol, atol, f"{where}.{k}" if where else k) for k in want)
        return next((text for text in found if text), None)
    if isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            return f"{where}: {len(got)} items, expected {len(want)}"
        found = (difference(g, w, rtol, atol, f"{where}[{k}]") for k, (g, w) in enumerate(zip(got, want, strict=True)))
        return next((text for text in found if text), None)
    if isinstance(want, float) or isinstance(got, float):
        numbers = [float(x) for x in (got, want) if isinstance(x, (int, float)) or x in ("nan", "inf", "-inf")]
        if len(numbers) == 2 and _close(numbers[0], numbers[1], rtol, atol):
            return None
    elif type(got) is type(want) and got == want:
        return None
    return f"{where}: {got!r}, expected {want!r}"
