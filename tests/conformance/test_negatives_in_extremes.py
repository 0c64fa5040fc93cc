"""The greatest and the least of three, with negatives among them: some machines have one instruction for that."""

import numpy as np
import pytest
from support import np_dtype

import quadrants as qd

N = 256
SIGNED = ["i8", "i16", "i32", "i64"]


def inputs(dtype: str) -> list:
    rng = np.random.default_rng(7)
    return [rng.integers(-50, 50, N).astype(np_dtype(dtype)) for _ in range(4)]


def negatives(b: np.ndarray) -> np.ndarray:
    return (0 - b.astype(np.int64)).astype(b.dtype)


@pytest.mark.parametrize("dtype", SIGNED)
def test_operators(arch, dtype):
    t = getattr(qd, dtype)
    a, b, c, d = inputs(dtype)
    arrays = [qd.ndarray(t, N) for _ in range(4)]
    for array, values in zip(arrays, (a, b, c, d)):
        array.from_numpy(values)
    out = qd.ndarray(t, (8, N))

    @qd.kernel
    def run(a: qd.types.NDArray, b: qd.types.NDArray, c: qd.types.NDArray, d: qd.types.NDArray, out: qd.types.NDArray):
        for i in range(N):
            x, y, z = a[i], b[i], c[i]
            out[0, i] = qd.max(x, -y, z)
            out[1, i] = qd.min(qd.min(-x, y), -z)
            out[2, i] = qd.max(-x, qd.max(-y, -z))
            out[3, i] = qd.max(x, 0 - y, qd.cast(d[i] > 3, t))
            out[4, i] = qd.min(x, y * -1, z)
            out[5, i] = qd.max(x, ~y + 1, z)
            out[6, i] = qd.min(qd.max(x, -y, z), d[i])
            out[7, i] = qd.max(x, -qd.abs(y), -z)

    run(*arrays, out)
    n, low, high = negatives, np.minimum, np.maximum
    want = [
        high(high(a, n(b)), c), low(low(n(a), b), n(c)), high(n(a), high(n(b), n(c))),
        high(high(a, n(b)), (d > 3).astype(a.dtype)), low(low(a, n(b)), c), high(high(a, n(b)), c),
        low(high(high(a, n(b)), c), d), high(high(a, n(np.abs(b))), n(c)),
    ]  # fmt: skip
    np.testing.assert_array_equal(out.to_numpy(), np.stack(want))


def test_unsigned_bits(arch):
    """Negatives of u32 that are looked at as i32, and the other way round."""
    a, b, c, _ = inputs("i32")
    arrays = [qd.ndarray(qd.i32, N) for _ in range(3)]
    for array, values in zip(arrays, (a, b, c)):
        array.from_numpy(values)
    out = qd.ndarray(qd.i32, (3, N))

    @qd.kernel
    def run(a: qd.types.NDArray, b: qd.types.NDArray, c: qd.types.NDArray, out: qd.types.NDArray):
        for i in range(N):
            y = qd.cast(b[i], qd.u32)
            out[0, i] = qd.max(a[i], qd.cast(-y, qd.i32), c[i])
            out[1, i] = qd.min(a[i], qd.cast(y * -1, qd.i32), c[i])
            out[2, i] = qd.cast(qd.max(qd.cast(a[i], qd.u32), -y, qd.cast(c[i], qd.u32)), qd.i32)

    run(*arrays, out)
    low, high, u = np.minimum, np.maximum, np.uint32
    want = [high(high(a, -b), c), low(low(a, -b), c), high(high(a.astype(u), (-b).astype(u)), c.astype(u)).astype("i4")]
    np.testing.assert_array_equal(out.to_numpy(), np.stack(want))


def test_vectors(arch):
    a, b, c, _ = inputs("i32")
    fields = [qd.Vector.field(2, qd.i32, N // 2) for _ in range(3)]
    for field, values in zip(fields, (a, b, c)):
        field.from_numpy(values.reshape(-1, 2))
    x, y, z = fields
    out = qd.Vector.field(2, qd.i32, (4, N // 2))

    @qd.kernel
    def run():
        for i in range(N // 2):
            out[0, i] = qd.max(x[i], -y[i], z[i])
            out[1, i] = qd.min(qd.min(x[i], 0 - y[i]), -z[i])
            out[2, i] = qd.max(qd.max(y[i] * -1, x[i]), z[i])
            out[3, i] = [qd.max(-x[i].max(), -y[i].min(), z[i][0]), qd.min(x[i][0], -y[i][1], -z[i].x)]

    run()
    a, b, c = (v.reshape(-1, 2) for v in (a, b, c))
    low, high = np.minimum, np.maximum
    last = [high(high(-a.max(1), -b.min(1)), c[:, 0]), low(low(a[:, 0], -b[:, 1]), -c[:, 0])]
    want = [high(high(a, -b), c), low(low(a, -b), -c), high(high(-b, a), c), np.stack(last, -1)]
    np.testing.assert_array_equal(out.to_numpy(), np.stack(want))


def test_loops_and_choices(arch):
    """What compilers make greatest and least numbers of."""
    values = inputs("i32")[0].reshape(-1, 8)
    x = qd.field(qd.i32, values.shape)
    x.from_numpy(values)
    rows = values.shape[0]
    out = qd.field(qd.i32, (4, rows))

    @qd.kernel
    def run():
        for i in range(rows):
            most = x[i, 0]
            least = x[i, 0]
            chosen = x[i, 0]
            zero = 0
            for k in range(8):
                most = qd.max(most, -x[i, k])
                if zero - x[i, k] < least:
                    least = zero - x[i, k]
            for s in qd.static((-1, 1)):
                chosen = qd.max(chosen, s * x[i, 3])
            out[0, i] = most
            out[1, i] = least
            out[2, i] = chosen
            out[3, i] = -x[i, 1] if -x[i, 1] > most else most

    run()
    first, n = values[:, 0], -values
    most = np.maximum(first, n.max(1))
    chosen = np.maximum(first, np.abs(values[:, 3]))
    want = [most, np.minimum(first, n.min(1)), chosen, np.maximum(most, n[:, 1])]
    np.testing.assert_array_equal(out.to_numpy(), np.stack(want))


@pytest.mark.parametrize("dtype", ["i32", "i8"])
def test_folds_of_a_loop(arch, dtype):
    a = inputs(dtype)[0]
    x = qd.field(getattr(qd, dtype), N)
    x.from_numpy(a)
    most, least = qd.field(qd.i32, ()), qd.field(qd.i32, ())
    most[None], least[None] = -1000, 1000

    @qd.kernel
    def run():
        for i in x:
            qd.atomic_max(most[None], -x[i])
            qd.atomic_min(least[None], -x[i])

    run()
    want = -a.astype(int)
    assert (most[None], least[None]) == (want.max(), want.min())
