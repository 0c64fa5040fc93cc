"""Renders preludes, compiles them with the toolchain's own flags and calls them on NumPy arrays."""

from __future__ import annotations

import ctypes
import os

import jinja2
import numpy as np

from quadrants.emit import dialects
from quadrants.emit.environment import builtin_folder
from quadrants.emit.prelude import Prelude
from quadrants.ir.types import PRIMITIVES, DType, TensorType, tensor_type
from quadrants.toolchain import cc

TEMPLATES = builtin_folder()
DTYPES = tuple(PRIMITIVES.values())
INTS = tuple(t for t in DTYPES if t.kind in "iu")
REALS = tuple(t for t in DTYPES if t.kind == "f")


def environment(*folders, **options) -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([*map(str, folders), str(TEMPLATES)]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **options,
    )


ENVIRONMENT = environment()


def numpy_type(t) -> np.dtype:
    if isinstance(t, TensorType):
        return np.dtype((t.dtype.numpy_name, t.shape))
    return np.dtype(t.numpy_name)


class Library:
    """Functions of a prelude, each wrapped in a loop over arrays."""

    def __init__(self, fast_math: bool = True, simd=False, extra: tuple = ()):
        self.prelude = Prelude(dialects.get("c").spelling, simd=simd)
        self.options = cc.CcOptions(fast_math=fast_math, extra=extra)
        self.wrappers: list = []
        self.signatures: dict = {}

    def export(self, name: str, result, *operands) -> str:
        """Wrap the function of that name, which takes values of the types `operands` and returns `result`."""
        wrapper = f"array_{name}"
        if wrapper not in self.signatures:
            arguments = "".join(f", const {self.prelude.type(t)} *x{i}" for i, t in enumerate(operands))
            call = f"{name}({', '.join(f'x{i}[i]' for i in range(len(operands)))})"
            self.wrappers.append(
                f"void {wrapper}({self.prelude.type(result)} *restrict r{arguments}, long n)\n"
                f"{{\n    for (long i = 0; i < n; ++i)\n        r[i] = {call};\n}}\n"
            )
            self.signatures[wrapper] = (result, operands)
        return wrapper

    def text(self, body: str) -> None:
        self.wrappers.append(body)

    def source(self) -> str:
        return self.prelude.render(ENVIRONMENT) + "\n" + "\n".join(self.wrappers)

    def build(self, folder) -> Library:
        path = os.path.join(str(folder), f"prelude_{id(self)}.so")
        self.binary = cc.compile(self.source(), name="prelude", options=self.options)
        with open(path, "wb") as file:
            file.write(self.binary)
        self.native = ctypes.CDLL(path)
        return self

    def __call__(self, name: str, *arrays) -> np.ndarray:
        """Apply an exported function to arrays, which are converted to its operand types."""
        wrapper = f"array_{name}"
        result, operands = self.signatures[wrapper]
        inputs = [np.ascontiguousarray(x, numpy_type(t).base) for x, t in zip(arrays, operands, strict=True)]
        n = inputs[0].shape[0]
        for x, t in zip(inputs, operands, strict=True):
            assert x.shape == (n, *numpy_type(t).shape), (name, x.shape, t)
        out = np.zeros((n, *numpy_type(result).shape), numpy_type(result).base)
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (out, *inputs)]
        getattr(self.native, wrapper)(*pointers, ctypes.c_long(n))
        return out


def vector(n: int, dtype: DType) -> TensorType:
    return tensor_type((n,), dtype)


def matrix(n: int, m: int, dtype: DType) -> TensorType:
    return tensor_type((n, m), dtype)


def integer_samples(t: DType, count: int, seed: int) -> np.ndarray:
    """Random values of every magnitude, with the extremes among them."""
    rng = np.random.default_rng(seed)
    if t.kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    special = [v for v in (t.min, t.min + 1, -3, -2, -1, 0, 1, 2, 3, 7, t.max - 1, t.max) if t.min <= v <= t.max]
    shift = rng.integers(0, t.bits, count)
    random = rng.integers(t.min, t.max, count, dtype=t.numpy_name, endpoint=True) >> shift.astype(t.numpy_name)
    return np.concatenate([np.array(special, t.numpy_name), random])[rng.permutation(count)]


def real_samples(t: DType, count: int, seed: int) -> np.ndarray:
    """Random values of many magnitudes, with zeros, infinities, NaN and the extremes among them."""
    rng = np.random.default_rng(seed)
    info = np.finfo(t.numpy_name)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, np.inf, -np.inf, np.nan, float(info.max), -float(info.max)]
    special += [float(info.tiny), float(np.nextafter(np.asarray(0.5, t.numpy_name), np.asarray(0, t.numpy_name)))]
    random = rng.normal(size=count) * np.exp(rng.normal(size=count) * 2)
    with np.errstate(over="ignore"):
        return np.concatenate([special, random]).astype(t.numpy_name)[rng.permutation(count)]
