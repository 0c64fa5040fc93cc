"""Edge values, generated values, kernels over tables of operations, and comparison with NumPy."""

import os

import numpy as np

import quadrants as qd

INTS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
REALS = ("f32", "f64")
ALL = (*INTS, "u1", "f16", *REALS)
_KINDS = {"i": "int", "u": "uint", "f": "float"}

# Set to check these tests themselves on the reference package: what it is known not to do is left out there.
ON_REFERENCE = os.environ.get("QD_CONFORMANCE_ON_REFERENCE") == "1"
REFERENCE_LACKS = {
    **{(op, t): "aborts (matrix-math.md 11)" for op in ("maximum", "minimum") for t in ("i8", "u8", "u1")},
    **{("absolute", t): "aborts (matrix-math.md 11)" for t in ("i8", "i16", "u8", "u16", "u32", "u64", "f16")},
    **{(op, t): "wrong: 7 // 3 is 1" for op in ("floor_div", "modulo") for t in ("i8", "u8")},
    **{("raw_mod", t): "treated as signed" for t in ("u8", "u16", "u32", "u64")},
    **{("raw_mod", t): "aborts" for t in ("f16", "f32", "f64", "u1")},
    **{("power", t): "aborts" for t in ("i8", "i16")},
    **{
        (op, t): "unsupported width (matrix-math.md 13)"
        for op in ("popcnt", "clz", "ffs")
        for t in ("i8", "i16", "u8", "u16")
    },
}


def np_dtype(name: str) -> np.dtype:
    """The NumPy dtype of a primitive type."""
    return np.dtype(np.bool_) if name == "u1" else np.dtype(_KINDS[name[0]] + name[1:])


def supported(table: list[tuple], dtype: str) -> list[tuple]:
    """The rows of a table of operations to test for `dtype`: all of them, except on the reference."""
    return [row for row in table if not (ON_REFERENCE and (row[0], dtype) in REFERENCE_LACKS)]


def int_edges(name: str) -> np.ndarray:
    """Extremes, neighbours of extremes and of zero, powers of two and a few odd values of an integer type."""
    info = np.iinfo(np_dtype(name))
    values = {
        info.min,
        info.min + 1,
        info.max,
        info.max - 1,
        info.max // 2,
        info.max // 2 + 1,
        0,
        1,
        2,
        3,
        7,
        10,
        100,
        127,
    }
    if info.min < 0:
        values |= {-1, -2, -3, -7, -10, -100, -128, info.min // 2}
    values |= {1 << k for k in range(0, info.bits - 1, 5)}
    return np.array(sorted(values), np_dtype(name))


def real_edges(name: str) -> np.ndarray:
    """NaN, infinities, zeros of both signs, extremes of the normal range, integers and halves."""
    info = np.finfo(np_dtype(name))
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.0, -3.0, 7.0, -7.0]
    values += [
        0.1,
        -0.1,
        1e-3,
        100.25,
        -100.25,
        1000.0,
        float(info.max),
        float(info.min),
        float(info.tiny),
        float(-info.tiny),
    ]
    return np.array(values, np_dtype(name))


def pairs(x: np.ndarray, y: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Two flat arrays that hold every combination of an element of `x` with one of `y` (default `x`)."""
    left, right = np.meshgrid(x, x if y is None else y, indexing="ij")
    return np.ascontiguousarray(left.ravel()), np.ascontiguousarray(right.ravel())


def binary_kernel(table: list[tuple], dtype: str, out: str, right: str | None = None):
    """A kernel (x, y, out): out[k, i] is operation k of x[i] and y[i]."""
    ops = [row[1] for row in table]
    left_type, right_type, out_type = getattr(qd, dtype), getattr(qd, right or dtype), getattr(qd, out)

    @qd.kernel
    def run_binary(
        x: qd.types.ndarray(dtype=left_type, ndim=1),
        y: qd.types.ndarray(dtype=right_type, ndim=1),
        out: qd.types.ndarray(dtype=out_type, ndim=2),
    ):
        for i in range(x.shape[0]):
            for k, op in qd.static(enumerate(ops)):
                out[k, i] = op(x[i], y[i])

    return run_binary


def unary_kernel(table: list[tuple], dtype: str, out: str):
    """A kernel (x, out): out[k, i] is operation k of x[i]."""
    ops = [row[1] for row in table]
    in_type, out_type = getattr(qd, dtype), getattr(qd, out)

    @qd.kernel
    def run_unary(x: qd.types.ndarray(dtype=in_type, ndim=1), out: qd.types.ndarray(dtype=out_type, ndim=2)):
        for i in range(x.shape[0]):
            for k, op in qd.static(enumerate(ops)):
                out[k, i] = op(x[i])

    return run_unary


def run_table(kernel, table: list[tuple], out: str, *operands: np.ndarray) -> np.ndarray:
    """Launch a table kernel and give its (operation, item) results."""
    result = np.zeros((len(table), len(operands[0])), np_dtype(out))
    kernel(*operands, result)
    return result


def reference(row: tuple, *operands: np.ndarray) -> np.ndarray:
    """What NumPy gives for a row of a table, in the dtype of the first operand for integers."""
    with np.errstate(all="ignore"):
        return row[2](*operands)


def assert_exact(name: str, got: np.ndarray, want: np.ndarray, *operands: np.ndarray) -> None:
    """Equal element by element; the message shows the first wrong ones with their operands."""
    wrong = np.flatnonzero(got != want)
    if len(wrong):
        shown = [(*(x[i].item() for x in operands), "gives", got[i].item(), "not", want[i].item()) for i in wrong[:5]]
        raise AssertionError(f"{name}: {len(wrong)} of {len(got)} wrong, first: {shown}")


def assert_close(name: str, got: np.ndarray, want: np.ndarray, rtol: float, atol: float, *operands: np.ndarray) -> None:
    """Same NaNs and infinities, the rest within the tolerance; subnormal results may be flushed to zero."""
    got64, want64 = got.astype(np.float64), want.astype(np.float64)
    tiny = float(np.finfo(got.dtype).tiny)
    with np.errstate(invalid="ignore"):
        near = np.abs(got64 - want64) <= atol + rtol * np.abs(want64) + 2 * tiny
    special = ~np.isfinite(want64) | ~np.isfinite(got64)
    same = (np.isnan(got64) & np.isnan(want64)) | (got64 == want64)
    wrong = np.flatnonzero(np.where(special, ~same, ~near))
    if len(wrong):
        shown = [(*(x[i].item() for x in operands), "gives", got[i].item(), "not", want[i].item()) for i in wrong[:5]]
        raise AssertionError(f"{name}: {len(wrong)} of {len(got)} wrong, first: {shown}")
