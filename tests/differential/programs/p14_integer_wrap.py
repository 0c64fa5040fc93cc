"""language.md 10.2, 11.1: integers of every width wrap in + - *, negation, abs, and in typed parameters."""

import numpy as np

NAMES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")

CORRECTED = {
    "absolute": (
        [np.array([-(2**31), -(2**63)]), np.array([5, 2**40])],
        "language.md 12: abs of the smallest integer wraps in its own type; the reference widens i32 on the way to i64",
    )
}


def _edges(name):
    info = np.iinfo({"i": "int", "u": "uint"}[name[0]] + name[1:])
    return np.array([info.min, info.min + 1, 0, 1, 2, 3, 100, info.max // 2 + 1, info.max - 1, info.max], info.dtype)


def run(qd):
    results = {}

    def make(name):
        dt = getattr(qd, name)

        @qd.kernel
        def table(
            x: qd.types.ndarray(dtype=dt, ndim=1),
            add: qd.types.ndarray(dtype=dt, ndim=2),
            sub: qd.types.ndarray(dtype=dt, ndim=2),
            mul: qd.types.ndarray(dtype=dt, ndim=2),
            neg: qd.types.ndarray(dtype=dt, ndim=1),
            inv: qd.types.ndarray(dtype=dt, ndim=1),
        ):
            for i, j in add:
                add[i, j] = x[i] + x[j]
                sub[i, j] = x[i] - x[j]
                mul[i, j] = x[i] * x[j]
            for i in x:
                neg[i] = -x[i]
                inv[i] = ~x[i]

        return table

    for name in NAMES:
        x = _edges(name)
        n = len(x)
        square = [np.zeros((n, n), x.dtype) for _ in range(3)]
        lines = [np.zeros(n, x.dtype) for _ in range(2)]
        make(name)(x, *square, *lines)
        results[name] = [*square, *lines]

    @qd.kernel
    def parameters(a: qd.i8, b: qd.u16, c: qd.i32, d: qd.u1) -> qd.types.vector(4, qd.i64):
        return qd.Vector([qd.cast(a, qd.i64), b, c, d])

    @qd.kernel
    def hash32(n: qd.u32) -> qd.u32:
        h = n
        qd.loop_config(serialize=True)
        for _ in range(4):
            h ^= h >> 16
            h *= qd.u32(0x85EBCA6B)
            h ^= h >> 13
            h += n * qd.u32(0xC2B2AE35)
        return h

    @qd.kernel
    def absolute(a: qd.i32, b: qd.i64) -> qd.types.vector(2, qd.i64):
        return qd.Vector([qd.cast(abs(a), qd.i64), abs(b)])

    return results | {
        "parameters": parameters(200, 65536 + 7, 2**32 + 5, 9).to_numpy(),
        "hash32": [hash32(k) for k in (0, 1, 0xDEADBEEF, 2**32 - 1)],
        "absolute": [absolute(-(2**31), -(2**63)).to_numpy(), absolute(-5, -(2**40)).to_numpy()],
    }
