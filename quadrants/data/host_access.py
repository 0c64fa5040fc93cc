"""Rules for one element at a time from Python scope: which indices, which values, which errors."""

from __future__ import annotations

import operator

import numpy as np

from quadrants import caller
from quadrants.data import context
from quadrants.errors import QuadrantsAssertionError, QuadrantsIndexError
from quadrants.ir.conversion import wrapped
from quadrants.ir.types import DType, f16

_INTEGERS = (int, np.integer)
_MAX_FLOAT = {16: 65504.0, 32: 3.4028234663852886e38, 64: float("inf")}


def is_plain_index(key, extents: tuple) -> bool:
    """True if `key` is an int or a tuple of ints that indexes an array of these extents without any conversion."""
    if type(key) is int:
        return len(extents) == 1 and 0 <= key < extents[0]
    if type(key) is not tuple or len(key) != len(extents):
        return False
    for k, extent in zip(key, extents, strict=True):
        if type(k) is not int or not 0 <= k < extent:
            return False
    return True


def field_index(key, ndim: int) -> tuple:
    """The index tuple of `f[key]`: an int, a tuple or list of ints, or None for rank 0.

    `TypeError` for slices, floats and the like, `AssertionError` for a wrong number of indices.
    """
    key = _as_tuple(key)
    for part in key:
        if not isinstance(part, _INTEGERS):
            raise TypeError(
                f"Detected illegal element of type: {type(part)}. Please be aware that slicing a qd.field is not "
                "supported so far; index with ints, or take to_numpy() first."
            )
    if len(key) != ndim:
        raise AssertionError(f"Slicing is not supported on qd.field: {ndim} indices are needed, got {len(key)}: {key}")
    return key


def ndarray_index(key, ndim: int) -> tuple:
    """The index tuple of `a[key]`. `QuadrantsIndexError` for a wrong count, `TypeError` for what is no int."""
    key = _as_tuple(key)
    for part in key:
        if not isinstance(part, _INTEGERS):
            raise TypeError(
                f"an ndarray is indexed with ints, not {type(part).__name__}; a slice of a 1-d ndarray gives a "
                "read-only window, a[begin:end]"
            )
    if len(key) != ndim:
        raise QuadrantsIndexError(f"{ndim}d ndarray indexed with {len(key)}d indices: {key}")
    return key


def _as_tuple(key) -> tuple:
    if type(key) is tuple:
        return key
    if key is None:
        return ()
    if isinstance(key, list):
        return tuple(key)
    if isinstance(key, np.ndarray) and key.ndim == 1 and key.dtype.kind in "iu":
        return tuple(key.tolist())
    if getattr(key, "ndim", None) == 1 and hasattr(key, "to_list"):
        return tuple(key.to_list())
    return (key,)


def zero_based(index: tuple, cell, field) -> tuple:
    """`index` less the field's offset. Out of range: `IndexError`, in debug mode `QuadrantsAssertionError`."""
    shape, offset = cell.shape, cell.index_offset
    out = tuple(i - o for i, o in zip(index, offset, strict=True))
    for i, extent in zip(out, shape, strict=True):
        if not 0 <= i < extent:
            raise _out_of_field(field._label(), shape, offset, index)
    return out


def _out_of_field(name: str, shape: tuple, offset: tuple, index: tuple) -> Exception:
    shift = f" offset ({_list(offset)})" if any(offset) else ""
    kind = QuadrantsAssertionError if context.debug() else IndexError
    return kind(f"Accessing field ({name}) of size ({_list(shape)}){shift} with indices ({_list(index)})")


def check_ndarray_bounds(index: tuple, shape: tuple) -> None:
    for i, extent in zip(index, shape, strict=True):
        if not 0 <= i < extent:
            raise QuadrantsIndexError(f"Out of bound access to ndarray of shape {shape} with indices {list(index)}")


def _list(numbers: tuple) -> str:
    return ", ".join(str(int(n)) for n in numbers)


_NUMBER = "an element takes a number; fill(0) sets all to zero"


def stored(value, dtype: DType):
    """`value` as a Python or NumPy number that assigns into memory of `dtype` without a further check.

    Integers wrap to the width; nonzero into u1 is 1. `TypeError` for a float into an integer (numbers of NumPy's other
    real types are truncated), for integers beyond 64 bits and for anything that is no number.
    """
    if dtype.kind == "f":
        return _stored_real(value, dtype)
    if not isinstance(value, (int, np.integer, np.bool_)):
        value = _whole(value, dtype)
    number = int(value)
    if dtype.min <= number <= dtype.max:
        return number
    if not -(1 << 63) <= number < (1 << 64):
        raise TypeError(f"{number} cannot be stored as {dtype}: it does not fit in 64 bits")
    return wrapped(number, dtype)


def _whole(value, dtype: DType):
    whole = _truncated(value, dtype)
    if isinstance(whole, int) or isinstance(whole, np.ndarray) and whole.ndim == 0 and whole.dtype.kind in "iub":
        return whole
    advice = "write int(..) to truncate it first" if isinstance(value, (float, np.floating)) else _NUMBER
    raise TypeError(f"{_describe(value)} cannot be stored as {dtype}; {advice}")


def _stored_real(value, dtype: DType):
    if isinstance(value, (str, bytes, complex, np.complexfloating)) or value is None:
        raise TypeError(f"{_describe(value)} cannot be stored as {dtype}; {_NUMBER}")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf") if value > 0 else float("-inf")
    except (TypeError, ValueError):
        raise TypeError(f"{_describe(value)} cannot be stored as {dtype}; {_NUMBER}") from None
    if abs(number) > _MAX_FLOAT[dtype.bits]:
        # NumPy warns when a finite number becomes infinite; a store into a container does not.
        with np.errstate(over="ignore"):
            return (np.float16 if dtype is f16 else np.float32)(number)
    return number


def _describe(value) -> str:
    return f"{value!r} ({type(value).__name__})"


def element_values(value, shape: tuple, dtype: DType) -> np.ndarray:
    """A sequence of at least `shape` as an array of exactly that shape, for `vf[i] = value` in memory of `dtype`.

    Surplus entries are dropped, with a warning. `IndexError` if entries are missing, `TypeError` for a scalar.
    """
    if dtype.is_integral and isinstance(value, np.ndarray):
        value = _truncated(value, dtype)
    rows = _sequence(value, shape[0])
    if len(shape) == 1:
        picked = [operator.getitem(rows, k) for k in range(shape[0])]
        if any(hasattr(x, "__len__") for x in picked):
            raise TypeError(f"a vector of {shape[0]} numbers is needed, got {value!r}")
    else:
        picked = [row[k] for row in (_sequence(rows[i], shape[1]) for i in range(shape[0])) for k in range(shape[1])]
    if dtype.is_integral and any(isinstance(x, np.floating) for x in picked):
        picked = [_truncated(x, dtype) for x in picked]
    return np.array(picked, dtype=_common(picked)).reshape(shape)


def _truncated(value, dtype: DType):
    from quadrants.lang.store import truncated

    return truncated(value, dtype.kind)


def _sequence(value, count: int) -> list:
    if isinstance(value, np.ndarray) and value.ndim or hasattr(value, "to_list"):
        value = value.tolist() if isinstance(value, np.ndarray) else value.to_list()
    elif not isinstance(value, (list, tuple)):
        raise TypeError(f"a sequence of {count} is needed, not {_describe(value)}")
    if len(value) < count:
        raise IndexError(f"a sequence of {count} is needed, got only {len(value)}: {value!r}")
    if len(value) > count:
        caller.warn(f"a sequence of {count} is needed; of {len(value)} the last ones are dropped: {value!r}")
    return list(value)


def _common(numbers: list):
    # Without a hint NumPy turns mixed int64 / uint64 lists into floats, which lose bits.
    return None if any(isinstance(x, (float, np.floating)) for x in numbers) else object
