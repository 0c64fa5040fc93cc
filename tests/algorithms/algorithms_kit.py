"""Arrays of the tests of algorithms: with guards behind them that have to stay as they are."""

import numpy as np

import quadrants as qd

NUMPY = {
    "u32": np.uint32, "i32": np.int32, "f32": np.float32, "u64": np.uint64, "i64": np.int64, "f64": np.float64,
}  # fmt: skip
GUARD = 77
GUARDS = 5
# Around a tile of 256, of the runs and tiles that are worked on at a time, and more of them than one group has.
SIZES = (0, 1, 2, 255, 256, 257, 1024, 2047, 2049, 4095, 4096, 4097, 16385, 65537, 140000)


def least_levels(n):
    depth = 1
    while 256**depth < n:
        depth += 1
    return depth


def guarded(dtype, slots, values=None):
    """An ndarray of `slots` elements, the first of which are `values`, and guards behind them."""
    array = qd.ndarray(dtype, slots + GUARDS)
    content = np.full(slots + GUARDS, GUARD).astype(array.to_numpy().dtype)
    if values is not None:
        content[: len(values)] = values
    array.from_numpy(content)
    return array


def content(array):
    """What an array of `guarded` holds, once its guards are found untouched."""
    found = array.to_numpy()
    assert (found[-GUARDS:] == np.full(GUARDS, GUARD).astype(found.dtype)).all(), found[-GUARDS:]
    return found[:-GUARDS]


def counter(n):
    count = qd.ndarray(qd.i32, ())
    count[()] = n
    return count


def numbers(name, n, seed=0):
    """Numbers over the whole range of integers, and reals of different sizes."""
    rng = np.random.default_rng((seed, n))
    dtype = NUMPY[name]
    if np.issubdtype(dtype, np.floating):
        return rng.normal(size=n).astype(dtype) * dtype(1000)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, n, dtype=dtype, endpoint=True)


def scratch_type(dtype):
    return qd.u64 if dtype in (qd.u64, qd.i64, qd.f64) else qd.u32
