"""language.md 11.1, matrix-math.md 7.2: / // % raw_div raw_mod for every sign, in ints, reals and vectors."""

import numpy as np

ATOL = 1e-6
SIGNED = ([7, -7, 6, -6, 0, 1, -1, 100, -101], [3, -3, 1, -1, 7, -9])
UNSIGNED = ([7, 6, 0, 200, -1], [3, 1, 7, 250])


def _operands(name):
    """The dividends and divisors of an integer type; -1 stands for the largest value of an unsigned one."""
    dtype = np.dtype({"i": "int", "u": "uint"}[name[0]] + name[1:])
    x, y = (np.array(values, np.int64).astype(dtype) for values in (SIGNED if name[0] == "i" else UNSIGNED))
    return x, y


def _numpy(name):
    """What an integer type must give: floor, modulus with the sign of the divisor, truncation, true division."""
    x, y = _operands(name)
    a, b = x[:, None].astype(np.int64), y[None, :].astype(np.int64)
    out = np.stack([a // b, a % b, np.trunc(a / b).astype(np.int64)]).astype(x.dtype)
    return [out, (a.astype(np.float32) / b.astype(np.float32)).astype(np.float32)]


_NOTE = "language.md 11.1: // and % floor at every width; the reference's 8-bit forms do not"
CORRECTED = {"i8": (_numpy("i8"), _NOTE), "u8": (_numpy("u8"), _NOTE)}


def run(qd):
    results = {}

    def make(dt):
        @qd.kernel
        def table(
            x: qd.types.ndarray(dtype=dt, ndim=1), y: qd.types.ndarray(dtype=dt, ndim=1),
            out: qd.types.ndarray(dtype=dt, ndim=3), true: qd.types.ndarray(dtype=qd.f64, ndim=2),
        ):  # fmt: skip
            for i, j in true:
                out[0, i, j] = x[i] // y[j]
                out[1, i, j] = x[i] % y[j]
                out[2, i, j] = qd.raw_div(x[i], y[j])
                true[i, j] = x[i] / y[j]

        return table

    for name in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"):
        x, y = _operands(name)
        out, true = np.zeros((3, len(x), len(y)), x.dtype), np.zeros((len(x), len(y)))
        make(getattr(qd, name))(x, y, out, true)
        results[name] = [out, true.astype(np.float32)]
    for name in ("f32", "f64"):
        x = np.array([7, -7, 7.5, -7.5, 0.25, -100.125], "float" + name[1:])
        y = np.array([3, -3, 2, -2, 0.5], x.dtype)
        out, true = np.zeros((3, len(x), len(y)), x.dtype), np.zeros((len(x), len(y)))
        make(getattr(qd, name))(x, y, out, true)
        results[name] = [out, true.astype(np.float32)]

    @qd.kernel
    def remainder(a: qd.i32, b: qd.i32) -> qd.i32:
        return qd.raw_mod(a, b)

    @qd.kernel
    def vectors(x: qd.i32) -> qd.types.matrix(2, 2, qd.i32):
        v = qd.Vector([x, -x])
        a = v // 3
        b = v % 3
        return qd.Matrix([[a[0], a[1]], [b[0], b[1]]])

    @qd.kernel
    def mixed(a: qd.i32, b: qd.f32) -> qd.types.vector(4, qd.f32):
        return qd.Vector([a / 2, a // b, a % b, 2 / a])

    @qd.kernel
    def by_zero(x: qd.f32, zero: qd.f32, nil: qd.f32) -> qd.types.vector(3, qd.f32):
        return qd.Vector([x / zero, -x / zero, nil / zero])

    return results | {
        "remainder": [remainder(a, b) for a in (7, -7) for b in (3, -3)],
        "vectors": vectors(-7).to_numpy(),
        "mixed": mixed(-7, 2.0).to_numpy(),
        "by_zero": by_zero(1.0, 0.0, 0.0).to_numpy(),
    }
