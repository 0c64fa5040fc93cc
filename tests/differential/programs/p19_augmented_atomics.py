"""language.md 11.6, matrix-math.md 6: augmented assignment on every kind of target; atomics and what they return."""

import numpy as np
from kit import fails

CORRECTED = {
    "i4": (
        np.array([8, 2, 4, -3, 3, 2, 36, 48, -16, 4, 14, 10, 3, 0, 5, 0], np.int32),
        "language.md 11.1: -7 % 3 is 2 also for `%=`; the reference folds the stored constant and truncates",
    )
}


def run(qd):
    i4 = qd.field(qd.i32, shape=16)
    f4 = qd.field(qd.f32, shape=8)
    vf = qd.Vector.field(3, qd.f32, shape=2)
    old = qd.field(qd.i32, shape=10)
    bins = qd.field(qd.i32, shape=4)
    wide = qd.field(qd.i64, shape=2)
    ext = qd.field(qd.i32, shape=4)
    real = qd.field(qd.f64, shape=3)

    @qd.kernel
    def assign():
        a = 7
        a += 1.7
        i4[0] = a
        i4[1] += 2.9
        i4[2] = 3
        i4[2] *= 1.5
        i4[3] = 7
        i4[3] -= 10
        i4[4] = 7
        i4[4] //= 2
        i4[5] = -7
        i4[5] %= 3
        i4[6] = 6
        i4[6] **= 2
        i4[7] = 3
        i4[7] <<= 4
        i4[8] = -64
        i4[8] >>= 2
        i4[9] = 0b1100
        i4[9] &= 0b0110
        i4[10] = 0b1100
        i4[10] |= 0b0110
        i4[11] = 0b1100
        i4[11] ^= 0b0110
        i4[12] = 7
        i4[12] /= 2
        f4[0] += 1
        f4[1] = 5.0
        f4[1] /= 2
        f4[2] = 7.5
        f4[2] %= 2
        vf[0] += 1.5
        vf[0] += qd.Vector([1, 2, 3])
        vf[0] *= 2
        vf[1].y -= 4.0
        vf[1][2] += 9

    @qd.kernel
    def parallel(n: qd.i32) -> qd.i32:
        s = 0
        v = qd.Vector([0, 0])
        for i in range(n):
            s += i
            bins[i % 4] += 1
            wide[0] += qd.cast(i, qd.i64) * 1000000
            qd.atomic_max(ext[0], (i * 7919) % 1009)
            qd.atomic_min(ext[1], -((i * 7919) % 1009))
            qd.atomic_or(ext[2], 1 << (i % 20))
            qd.atomic_xor(ext[3], i)
            qd.atomic_sub(wide[1], qd.cast(1, qd.i64))
            qd.atomic_add(real[0], 0.5)
            qd.atomic_max(real[1], qd.cast(i, qd.f64) * 0.25)
            v += qd.Vector([1, i])
        return s + v[0] * 3 + v[1] % 1000

    @qd.kernel
    def returned():
        for _ in range(1):
            x = 5
            old[0] = qd.atomic_add(i4[13], 4)
            old[1] = qd.atomic_add(i4[13], 4)
            old[2] = qd.atomic_max(i4[13], 100)
            old[3] = qd.atomic_sub(i4[13], 1)
            old[4] = qd.atomic_and(i4[13], 0x41)
            old[5] = i4[13]
            old[6] = qd.atomic_add(x, 2)
            old[7] = x
            w = qd.atomic_add(vf[1], qd.Vector([1.0, 1.0, 1.0]))
            old[8] = qd.cast(w[2], qd.i32)
            old[9] = qd.atomic_mul(i4[14], 3) * 100 + i4[14]

    @qd.kernel
    def index_once() -> qd.i32:
        k = 0
        for _ in range(1):
            i4[qd.atomic_add(k, 1)] += 1000
        return k

    @qd.kernel
    def not_a_place():
        qd.atomic_add(3 + 4, 1)

    @qd.kernel
    def vector_on_scalar():
        qd.atomic_add(i4[0], qd.Vector([1, 2]))

    assign()
    i4[14] = 5
    values = i4.to_numpy()
    total = parallel(10000)
    returned()
    return {
        "i4": values,
        "f4": f4.to_numpy(),
        "vf": vf.to_numpy(),
        "total": total,
        "bins": bins.to_numpy(),
        "wide": wide.to_numpy(),
        "ext": ext.to_numpy(),
        "real": real.to_numpy(),
        "old": old.to_numpy(),
        "index_once": [index_once(), np.array(i4[0])],
        "not_a_place": fails(not_a_place, "cannot use a non-writable target as the first operand of"),
        "vector_on_scalar": fails(vector_on_scalar, "unsupported operand type(s) for 'atomic_add'"),
    }


BEYOND = {"local_mul": (521, "language.md 11.6: atomics work on local variables; the reference aborts for atomic_mul")}


def beyond(qd):
    @qd.kernel
    def local_mul() -> qd.i32:
        r = 0
        for _ in range(1):
            x = 7
            old = qd.atomic_mul(x, 3)
            r = 500 + x * old // 7
        return r

    return {"local_mul": local_mul()}
