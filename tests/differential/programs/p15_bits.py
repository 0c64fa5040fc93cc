"""language.md 11.2, matrix-math.md 7.3, 13: bitwise operators, shifts, logical right shift, bit counting, fns."""

import numpy as np
from kit import fails


def run(qd):
    results = {}

    def make(dt):
        arr = qd.types.ndarray(dtype=dt, ndim=2)

        @qd.kernel
        def table(x: qd.types.ndarray(dtype=dt, ndim=1), out: arr, shifts: arr, log: arr):
            for i, j in out:
                out[i, j] = (x[i] & x[j]) ^ (x[i] | ~x[j])
            for i, s in shifts:
                shifts[i, s] = x[i] << s
                log[i, s] = (x[i] >> s) ^ (qd.bit_shr(x[i], s) * 3)

        return table

    for name in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"):
        np_dtype = np.dtype({"i": "int", "u": "uint"}[name[0]] + name[1:])
        info = np.iinfo(np_dtype)
        x = np.array([info.min, 1, 5, 0x35, info.max // 3, info.max - 4, info.max], np_dtype)
        n, width = len(x), info.bits
        out, shifts, log = np.zeros((n, n), np_dtype), np.zeros((n, width), np_dtype), np.zeros((n, width), np_dtype)
        make(getattr(qd, name))(x, out, shifts, log)
        results[name] = [out, shifts, log]

    def counter(dt):
        @qd.kernel
        def count(x: qd.types.ndarray(dtype=dt, ndim=1), out: qd.types.ndarray(dtype=qd.i32, ndim=2)):
            for i in x:
                out[0, i] = qd.math.popcnt(x[i])
                out[1, i] = qd.math.clz(x[i])
                out[2, i] = qd.math.ffs(x[i])
                out[3, i] = qd.math.popcnt(x[i]) - 100 < 0

        return count

    for name in ("i32", "u32", "i64", "u64"):
        np_dtype = np.dtype({"i": "int", "u": "uint"}[name[0]] + name[1:])
        info = np.iinfo(np_dtype)
        x = np.array([0, 1, 12, 255, info.max // 3, info.min, info.max], np_dtype)
        out = np.zeros((4, len(x)), np.int32)
        counter(getattr(qd, name))(x, out)
        results[f"count_{name}"] = out

    @qd.kernel
    def nth(mask: qd.u32, base: qd.u32, offset: qd.i32) -> qd.u32:
        return qd.math.fns(mask, base, offset)

    @qd.kernel
    def idioms(n: qd.i32, lane: qd.u32, mask: qd.u32) -> qd.types.vector(3, qd.i32):
        return qd.Vector(
            [
                32 - qd.math.clz(qd.cast(n - 1, qd.u32)),
                qd.math.ffs(mask) - 1,
                qd.math.popcnt(mask & ((qd.u32(1) << lane) - qd.u32(1))),
            ]
        )

    @qd.kernel
    def vectors(v: qd.types.vector(3, qd.i32)) -> qd.types.vector(3, qd.i32):
        return ((v << 2) | 1) ^ qd.math.popcnt(v)

    @qd.kernel
    def bools(a: qd.i32, b: qd.i32) -> qd.types.vector(4, qd.i32):
        p = a > b
        q = a < 100
        return qd.Vector([qd.cast(p ^ q, qd.i32), p & q, p | q, ~p])

    @qd.kernel
    def real_and(x: qd.f32) -> qd.f32:
        return x & 1

    @qd.kernel
    def real_popcnt(x: qd.f32) -> qd.i32:
        return qd.math.popcnt(x)

    probes = [(22, 0, 1), (22, 0, 3), (22, 4, -2), (22, 1, 0), (22, 0, 0), (22, 0, 4), (22, 40, 1), (2**31, 0, 1)]
    return results | {
        "fns": [nth(*p) for p in probes],
        "idioms": [idioms(17, 5, 0b1011000).to_numpy(), idioms(1, 0, 1).to_numpy()],
        "vectors": vectors([1, -7, 12]).to_numpy(),
        "bools": [bools(3, 2).to_numpy(), bools(200, 2).to_numpy(), bools(1, 2).to_numpy()],
        "real_and": fails(lambda: real_and(1.0), "unsupported operand type(s) for '&'"),
        "real_popcnt": fails(lambda: real_popcnt(1.0), "takes integral inputs only"),
    }
