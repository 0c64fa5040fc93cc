"""language.md 10.3, matrix-math.md 9: casts between all types, by every spelling; bit casts; typed locals."""

import numpy as np
from kit import fails

SOURCES = {
    "i8": [-128, -1, 0, 1, 127],
    "i16": [-32768, -129, 0, 300, 32767],
    "i32": [-(2**31), -129, 0, 70000, 2**31 - 1],
    "i64": [-(2**63), -(2**40) - 5, 0, 2**33 + 7, 2**62],
    "u8": [0, 1, 127, 128, 255],
    "u16": [0, 255, 256, 40000, 65535],
    "u32": [0, 300, 2**31, 2**32 - 2, 2**32 - 1],
    "u64": [0, 2**31, 2**40 + 9, 2**63, 2**64 - 1],
    "u1": [0, 1, 0, 1, 1],
    "f16": [-2.75, -0.5, 0.0, 1.5, 100.25],
    "f32": [-100.75, -0.5, 0.0, 1.5, 126.99],
    "f64": [-100.75, -0.5, 0.0, 0.1, 126.99],
}


def run(qd):
    np_of = {
        "u1": np.bool_,
        **{n: getattr(np, {"i": "int", "u": "uint", "f": "float"}[n[0]] + n[1:]) for n in SOURCES if n != "u1"},
    }
    targets = ("i8", "i16", "i32", "i64", "f16", "f32", "f64")
    results = {}

    def caster(source):
        src = getattr(qd, source)

        @qd.kernel
        def cast_all(
            x: qd.types.ndarray(dtype=src, ndim=1),
            ints: qd.types.ndarray(dtype=qd.i64, ndim=2),
            uints: qd.types.ndarray(dtype=qd.u64, ndim=2),
            reals: qd.types.ndarray(dtype=qd.f64, ndim=2),
        ):
            for i in range(5):
                for k, name in qd.static(enumerate(targets)):
                    reals[k, i] = qd.cast(x[i], getattr(qd, name))
                for k, name in qd.static(enumerate(targets[:4])):
                    ints[k, i] = qd.cast(x[i], getattr(qd, name))
                ints[4, i] = int(x[i])
                if qd.static(source[0] != "f"):
                    ints[5, i] = bool(x[i])
                if qd.static(source[0] == "u"):
                    for k, name in qd.static(enumerate(("u8", "u16", "u32", "u64"))):
                        uints[k, i] = qd.cast(x[i], getattr(qd, name))
                elif qd.static(source[0] == "i"):
                    for k, name in qd.static(enumerate(("u8", "u16", "u32", "u64"))):
                        uints[k, i] = getattr(qd, name)(x[i])
                reals[7, i] = float(x[i])

        return cast_all

    for name, values in SOURCES.items():
        ints, uints, reals = np.zeros((6, 5), np.int64), np.zeros((4, 5), np.uint64), np.zeros((8, 5))
        caster(name)(np.array(values, np_of[name]), ints, uints, reals)
        keep = slice(None) if name[0] != "f" else slice(0, 5)
        results[f"{name}_ints"] = ints[keep]
        results[f"{name}_uints"] = uints
        results[f"{name}_reals"] = reals

    @qd.kernel
    def bits(x: qd.f32, y: qd.f64, a: qd.i8, u: qd.u32) -> qd.types.vector(5, qd.u64):
        return qd.Vector(
            [
                qd.cast(qd.bit_cast(x, qd.u32), qd.u64),
                qd.bit_cast(y, qd.u64),
                qd.cast(qd.bit_cast(a, qd.u8), qd.u64),
                qd.cast(qd.bit_cast(u, qd.f32) * 2.0, qd.u64),
                qd.cast(qd.bit_cast(qd.bit_cast(y, qd.i64), qd.f64) * -4.0, qd.u64),
            ]
        )

    @qd.kernel
    def typed_locals(x: qd.f32) -> qd.types.vector(5, qd.f64):
        a: qd.i32 = x
        b: qd.u8 = 300 + qd.cast(x, qd.i32)
        c = 0
        c = x
        d = 0.5
        d = qd.cast(x, qd.i64)
        e: qd.f64 = 0.1
        return qd.Vector([qd.cast(a, qd.f64), b, c, d, e])

    @qd.kernel
    def literal_i32() -> qd.i32:
        return qd.i32(1.5)

    @qd.kernel
    def literal_f32() -> qd.f32:
        return qd.f32(1)

    @qd.kernel
    def literal_range() -> qd.u8:
        return qd.u8(300)

    @qd.kernel
    def on_vector() -> qd.i32:
        v = qd.i32(qd.Vector([1.0, 2.0]))
        return v[0]

    @qd.kernel
    def wide_literal() -> qd.u64:
        return qd.u32(3000000000)

    results |= {
        "bits": bits(1.0, -2.5, -1, 0x40490FDB).to_numpy(),
        "typed_locals": typed_locals(-2.75).to_numpy(),
        "wide_literal": wide_literal(),
        "literal_i32": fails(literal_i32, "Floating-point literals must be annotated with a floating-point type"),
        "literal_f32": fails(literal_f32, "Integer literals must be annotated with a integer type"),
        "literal_range": fails(literal_range, "exceeded the range of specified dtype"),
        "on_vector": fails(on_vector, "A primitive type cannot decorate an expression with a compound type"),
    }
    return results
