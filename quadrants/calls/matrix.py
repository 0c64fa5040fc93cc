"""Vectors and matrices by value: `v: qd.math.vec3`. Lists, NumPy arrays and torch tensors will do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quadrants._ext.core import OPAQUE
from quadrants.calls import messages
from quadrants.calls.kind import Kind, Packer, Source
from quadrants.errors import QuadrantsCompilationError, QuadrantsRuntimeTypeError
from quadrants.ir.types import DType, TensorType
from quadrants.lang import parameters
from quadrants.lang.store import check_integer, store_value

if TYPE_CHECKING:
    from quadrants.calls.declarer import Declarer


class Matrix(Kind):
    core = OPAQUE
    slot = "tensor"
    selects = "type"

    @classmethod
    def suits(cls, annotation: Any) -> bool:
        return parameters.compound_kind(annotation) == "tensor"

    def declare(self, declarer: Declarer, source: Source, name: str, x: Any) -> Any:
        a = self.annotation
        if getattr(a, "unpacked", False):
            a.reject_unpacked(f"annotate '{name}' with")
        t = a.ir_type()
        if t is None:
            raise QuadrantsCompilationError(
                f"Kernel parameter '{name}': {a} needs extents and a dtype, e.g. qd.types.vector(3, qd.f32)."
            )
        return declarer.by_value(source, name, t, self.slot)

    @classmethod
    def packer(cls, t: Any, name: str) -> Packer:
        return lambda value, block, offset: pack_tensor(t, name, value, block, offset)


def pack_tensor(t: TensorType, name: str, value: Any, block: memoryview, offset: int) -> None:
    """Write a vector or matrix into the block."""
    data = _entries(t, name, value)
    if data.dtype.kind == "O":
        data = whole_numbers(data, t.dtype, name)
    if data.dtype.kind not in "biuf":
        raise _no_entries(t, name, value)
    if data.dtype.kind == "f" and not t.dtype.is_real:
        raise QuadrantsRuntimeTypeError(
            f"Argument {name} (type={data.dtype}) cannot be converted into required type {t.dtype}; pass {_wanted(t)}"
        )
    if data.ndim == 0:
        raise TypeError(f"Argument {name} needs {t.count} elements, got the number {value!r}; pass {_wanted(t)}")
    if data.ndim == len(t.shape) + 1 and data.shape[-1] == 1:
        data = data[..., 0]
    if data.ndim != len(t.shape) or any(have < want for have, want in zip(data.shape, t.shape)):
        raise IndexError(f"Argument {name} needs shape {t.shape}, got {data.shape}; pass {_wanted(t)}")
    data = data[tuple(slice(n) for n in t.shape)]
    if data.dtype.kind in "iu" and data.dtype.kind != t.dtype.kind:
        for x in (data.min(), data.max()):
            check_integer(int(x), t.dtype, f"Argument {name}")
    tell_of_lost_bits(data, t.dtype, name)
    with np.errstate(all="ignore"):
        raw = np.ascontiguousarray(data.astype(t.dtype.numpy_name)).tobytes()
    block[offset : offset + len(raw)] = raw


def whole_numbers(data: np.ndarray, dtype: DType, name: str) -> np.ndarray:
    """Python's integers as they are stored, or as real numbers; what neither holds is an error. Other data comes back
    as it is."""
    if not _all_whole(data):
        return data
    if dtype.is_real:
        try:
            return data.astype(np.float64)
        except OverflowError:
            told = "one of the integers is further from 0 than every real number; pass one nearer to it, or math.inf"
            raise OverflowError(f"Argument {name}: {told}") from None
    for x in data.flat:
        check_integer(int(x), dtype, f"Argument {name}")
    tell_of_lost_bits(data, dtype, name)
    stored: np.ndarray = store_value(data, np.dtype(dtype.numpy_name))
    return stored


def tell_of_lost_bits(data: np.ndarray, dtype: DType, name: str) -> None:
    """A warning as of scalars, whose bits may be meant as those of the unsigned type."""
    if data.dtype.kind in "iuO" and dtype.kind in "iu" and data.dtype.itemsize >= dtype.size < 8:
        half = 1 << (8 * dtype.size - 1)
        lost = data[(data < -half) | (data >= 2 * half)]
        if lost.size:
            messages.tell_of_lost_bits(f"Argument {name}", int(lost[0]), dtype)


def _all_whole(data: np.ndarray) -> bool:
    return data.dtype.kind == "O" and all(isinstance(x, (int, np.integer)) for x in data.flat)


def _entries(t: TensorType, name: str, value: Any) -> np.ndarray:
    if getattr(value, "_qd_host_matrix", False):
        return np.asarray(value.to_numpy())
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (list, tuple)):
        try:
            data = np.asarray(value)
            # NumPy takes integers of more than 63 bits beside others for real numbers.
            exact = np.asarray(value, object) if data.dtype.kind == "f" and not t.dtype.is_real else data
            return exact if _all_whole(exact) else data
        except ValueError:
            raise IndexError(
                f"Argument {name}: the rows of {value!r} differ in length or depth; pass {_wanted(t)}"
            ) from None
    if hasattr(value, "__getitem__") and not isinstance(value, str) and not _is_torch(value):
        return _indexed(t, name, value)
    if isinstance(value, (int, float)):
        raise TypeError(f"Argument {name} needs {t.count} elements, got the number {value!r}; pass {_wanted(t)}")
    raise _no_entries(t, name, value)


def _indexed(t: TensorType, name: str, value: Any) -> np.ndarray:
    """The entries of what is none of the kinds that are known, by its indices."""
    try:
        if len(t.shape) == 1:
            return np.asarray([value[i] for i in range(t.shape[0])])
        return np.asarray([[value[i, j] for j in range(t.shape[1])] for i in range(t.shape[0])])
    except IndexError as error:
        raise IndexError(f"Argument {name} needs shape {t.shape}: {error}; pass {_wanted(t)}") from None
    except (KeyError, TypeError, ValueError, NotImplementedError):
        raise _no_entries(t, name, value) from None


def _no_entries(t: TensorType, name: str, value: Any) -> QuadrantsRuntimeTypeError:
    return QuadrantsRuntimeTypeError(
        f"Argument {name} (type={type(value)}) cannot be converted into required type {t}; pass {_wanted(t)}"
    )


def _wanted(t: TensorType) -> str:
    kind = "real numbers" if t.dtype.is_real else "integers"
    if len(t.shape) == 1:
        return f"a qd.Vector, a list or a NumPy array of {t.shape[0]} {kind}"
    return f"a qd.Matrix, or a list or a NumPy array of {t.shape[0]} rows of {t.shape[1]} {kind}"


def _is_torch(value: Any) -> bool:
    return type(value).__module__.split(".")[0] == "torch"
