"""Shared by the data tests: all dtypes, and the address formula of the contract as an independent model."""

import ctypes

import numpy as np

from quadrants._ext.core import Buffer
from quadrants.ir.types import PRIMITIVES

DTYPES = list(PRIMITIVES.values())
INTEGERS = [t for t in DTYPES if not t.is_real and t.name != "u1"]
REALS = [t for t in DTYPES if t.is_real]


def samples(dtype, shape, seed=0):
    """An array of varied values of that type, extremes included."""
    count = int(np.prod(shape, dtype=int))
    rng = np.random.default_rng(seed)
    if dtype.name == "u1":
        flat = rng.integers(0, 2, count).astype(bool)
    elif dtype.is_real:
        flat = rng.normal(size=count).astype(dtype.numpy_name)
    else:
        flat = rng.integers(dtype.min, dtype.max, count, dtype=dtype.numpy_name, endpoint=True)
        flat[:2] = [dtype.min, dtype.max][: min(2, count)]
    return flat.reshape(shape)


def read_by_address(cell, index):
    """One element through the byte address that kernels compute from a CellLayout."""
    offset = cell.offset
    for axis, extent, divisor, stride in cell.levels:
        offset += (index[axis] - cell.index_offset[axis]) // divisor % extent * stride
    return np.frombuffer(raw_bytes(cell.tree.buffer, offset, cell.dtype.size), cell.dtype.numpy_name)[0]


def raw_bytes(buffer, offset=0, nbytes=None):
    """A copy of a part of the memory of a container, on the host or on a device; all of it unless told."""
    nbytes = buffer.nbytes - offset if nbytes is None else nbytes
    if isinstance(buffer, Buffer):
        return ctypes.string_at(buffer.ptr + offset, nbytes)
    return buffer.fetch(offset, nbytes).tobytes()


def live_array(container):
    """The live array over the storage of a container that is one strided array: of NumPy, or of a device."""
    impl = getattr(container, "_impl", container)
    impl._check_usable()
    return impl._strided()
