"""language.md 10.2, matrix-math.md 1.1: the 12x12 table of result types of `+`, `*`, `select` and the conditional.

A type is read off by storing a probe into a variable of that type: an integer whose low bits differ at every width, and
which every real type rounds differently.
"""

import numpy as np
from kit import fails

NAMES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "u1", "f16", "f32", "f64")
PROBE = 0x01F1F2F3F4F5F6F7
_NOTE = "language.md 10.2: u1 yields to i8 and u8 too"
_FIXED = {
    "i8": "i8 i16 i32 i64 u8 u16 u32 u64 i8 f16 f32 f64",
    "u8": "u8 i16 i32 i64 u8 u16 u32 u64 u8 f16 f32 f64",
    "u1": "i8 i16 i32 i64 u8 u16 u32 u64 u1 f16 f32 f64",
}
CORRECTED = {f"{op}_{t}": (row, _NOTE) for t, row in _FIXED.items() for op in ("add", "mul", "select", "if")}
CORRECTED["booleans"] = (
    np.array([0, 1, 0, 2, 2.5, 2, 2, 1], np.float32),
    "language.md 10.2: u1 + u1 is 0; the reference says so for variables, and folds the constant sum to 1",
)


def run(qd):
    dtypes = [getattr(qd, name) for name in NAMES]
    out_int = qd.field(qd.i64, shape=(4, 12))
    out_sign = qd.field(qd.i32, shape=(4, 12))
    out_real = qd.field(qd.f64, shape=(4, 12))

    @qd.func
    def classify(x, k: qd.template(), b: qd.template(), probe):
        y = x
        y = probe
        out_int[k, b] = qd.cast(y + y, qd.i64)
        out_real[k, b] = qd.cast(y, qd.f64)
        y = -1
        out_sign[k, b] = y < 0

    def table(a):
        @qd.kernel
        def row(probe: qd.i64, c: qd.i32):
            for b, dtype in qd.static(enumerate(dtypes)):
                u = qd.cast(c, a)
                v = qd.cast(c, dtype)
                classify(u + v, 0, b, probe)
                classify(u * v, 1, b, probe)
                classify(qd.select(c, u, v), 2, b, probe)
                classify(u if c else v, 3, b, probe)

        return row

    def name_of(k, b):
        real, integer, negative = out_real[k, b], out_int[k, b], out_sign[k, b]
        if np.isinf(real):
            return "f16"
        if real == float(PROBE) and integer == int(2 * float(PROBE)):
            return "f64"
        if real == float(np.float32(PROBE)):
            return "f32"
        if integer == 0:
            return "u1"
        width = max(w for w in (8, 16, 32, 64) if integer & ((1 << w) - 1) == 2 * PROBE & ((1 << w) - 1))
        return ("i" if negative else "u") + str(width)

    results = {}
    for a, left in enumerate(NAMES):
        table(dtypes[a])(PROBE, 1)
        for k, op in enumerate(("add", "mul", "select", "if")):
            results[f"{op}_{left}"] = " ".join(name_of(k, b) for b in range(12))

    @qd.kernel
    def booleans() -> qd.types.vector(8, qd.f32):
        t = qd.u1(True)
        f = 3 > 4
        s = 0
        s += 4 > 3
        s += 4 > 3
        return qd.Vector([t + t, -t, ~t, t * 2, (t + f) * 2.5, s, t + 1, t - f])

    @qd.kernel
    def mixed_signs(a: qd.i32, b: qd.u32) -> qd.types.vector(3, qd.i64):
        return qd.Vector([qd.cast(a < b, qd.i64), qd.cast(max(a, b), qd.i64), qd.cast(a + b, qd.i64)])

    @qd.kernel
    def wraps(a: qd.u8, b: qd.i8) -> qd.types.vector(4, qd.i32):
        return qd.Vector([a + a, a + 100, b * 100, b + b])

    @qd.kernel
    def too_large() -> qd.i64:
        return 3000000000

    @qd.kernel
    def literals() -> qd.types.vector(4, qd.f64):
        return [1 / 2, 2**-1, 7 // -2, 7 % -3]

    @qd.kernel
    def literal_f64(x: qd.f64) -> qd.f64:
        return x * 0.1

    results |= {
        "booleans": booleans().to_numpy(),
        "mixed_signs": mixed_signs(-1, 1).to_numpy(),
        "wraps": wraps(200, 100).to_numpy(),
        "literals": literals().to_numpy(),
        "literal_f64": literal_f64(1.0),
        "too_large": fails(too_large, "exceeded the range of default_ip"),
    }
    return results
