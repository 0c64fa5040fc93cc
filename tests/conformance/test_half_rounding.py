"""Every operation of f16 is rounded by itself, in texts of kernels and in what they call; bits of constants."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

N = 500
F16 = qd.types.ndarray(qd.f16, 1)
F64 = qd.types.ndarray(qd.f64, 1)
V16 = qd.types.ndarray(qd.types.vector(3, qd.f16), 1)


@pytest.fixture
def vectors():
    """Two arrays of vectors of three halves."""
    random = np.random.default_rng(0)
    return [random.uniform(0.1, 3, (N, 3)).astype(np.float16) for _ in range(2)]


def vector_arrays(*values):
    arrays = [qd.Vector.ndarray(3, qd.f16, N) for _ in values]
    for a, value in zip(arrays, values, strict=True):
        a.from_numpy(value)
    return arrays


def exact(found, wanted) -> bool:
    return np.array_equal(found.to_numpy(), wanted)


@pytest.mark.parametrize("fast_math", [False, True])
def test_numbers(init, vectors, fast_math):
    init(fast_math=fast_math)
    x, y = vectors[0][:, 0].copy(), vectors[1][:, 0].copy()
    square, cube, inverse, power, fma = (qd.ndarray(qd.f16, N) for _ in range(5))

    @qd.kernel
    def run(x: F16, y: F16, n: qd.i32, square: F16, cube: F16, inverse: F16, power: F16, fma: F16):
        for i in range(N):
            square[i] = x[i] ** 2
            cube[i] = x[i] ** 3
            inverse[i] = x[i] ** (-2)
            power[i] = x[i] ** n
            fma[i] = x[i] * y[i] + x[i]

    run(x, y, -3, square, cube, inverse, power, fma)
    one = np.float16(1)
    assert exact(square, x * x) and exact(cube, x * x * x) and exact(fma, x * y + x) or fast_math
    if not fast_math:
        assert exact(inverse, one / (x * x)) and exact(power, one / (x * x * x))
    np.testing.assert_allclose(fma.to_numpy(), x * y + x, rtol=2e-3)


def test_vectors_and_matrices(init, vectors):
    init(fast_math=False)
    x, y = vectors
    a, b, crossed, product = vector_arrays(x, y, x, x)
    dot, total = (qd.ndarray(qd.f16, N) for _ in range(2))

    @qd.kernel
    def run(a: V16, b: V16, dot: F16, total: F16, crossed: V16, product: V16):
        for i in range(N):
            dot[i] = a[i].dot(b[i])
            total[i] = a[i].sum()
            crossed[i] = a[i].cross(b[i])
            product[i] = a[i].outer_product(b[i]) @ b[i]

    run(a, b, dot, total, crossed, product)
    assert exact(dot, x[:, 0] * y[:, 0] + x[:, 1] * y[:, 1] + x[:, 2] * y[:, 2])
    assert exact(total, x[:, 0] + x[:, 1] + x[:, 2])
    following, last = [1, 2, 0], [2, 0, 1]
    assert exact(crossed, x[:, following] * y[:, last] - x[:, last] * y[:, following])
    outer = x[:, :, None] * y[:, None, :] * y[:, None, :]
    assert exact(product, outer[:, :, 0] + outer[:, :, 1] + outer[:, :, 2])


def test_bits_of_constants(arch):
    narrow = qd.field(qd.u8, 4)
    wide = qd.field(qd.i16, 4)

    @qd.kernel
    def run():
        narrow[0] = qd.bit_cast(qd.f16(1.5), qd.i16)
        narrow[1] = qd.bit_cast(qd.f16(2.7), qd.u16) >> 1
        narrow[2] = qd.bit_cast(qd.f16(1.5), qd.u16) >> 8
        narrow[3] = qd.bit_cast(qd.f16(1.5), qd.u16) == 0x3E00
        wide[0] = qd.bit_cast(qd.f16(1.5), qd.i16)

    run()
    assert narrow.to_numpy().tolist() == [0, (0x4166 >> 1) & 255, 0x3E, 1] and wide[0] == 0x3E00


def around_the_middle() -> np.ndarray:
    """Numbers of f64 that f32 would round to the middle between two halves, from above and below, and special ones."""
    bits = np.random.default_rng(1).integers(0, 0x7BFF, N).astype(np.uint16)
    low, high = (b.view(np.float16).astype(np.float64) for b in (bits, bits + np.uint16(1)))
    middle = (low + high) / 2
    special = [2049.0000001, 0.0, np.inf, 1e300, 1e-300, 65519.99999999999, 65520.0, 2.0**-25, 2.0**-25 * (1 + 1e-15)]
    x = np.concatenate([middle, middle * (1 + 1e-15), middle * (1 - 1e-15), special])
    return np.concatenate([x, -x])


def test_doubles_are_rounded_once(arch):
    """In casts, stores, atomics, vectors, arguments of funcs and results."""
    x = around_the_middle()
    n = len(x)
    with np.errstate(over="ignore"):
        wanted = x.astype(np.float16)
    cast, stored, added, largest, passed, vectors = np.zeros((6, n), np.float16)
    largest[:], vectors = -np.inf, np.zeros((n, 3), np.float16)

    @qd.real_func
    def same(a: qd.f16) -> qd.f16:
        return a

    @qd.kernel
    def run(x: F64, cast: F16, stored: F16, added: F16, largest: F16, passed: F16, vectors: V16):
        for i in range(x.shape[0]):
            cast[i] = qd.cast(x[i], qd.f16)
            stored[i] = x[i]
            added[i] += x[i]
            qd.atomic_max(largest[i], x[i])
            passed[i] = same(x[i])
            vectors[i] = qd.Vector([x[i], x[i], x[i]])

    @qd.kernel
    def result(x: qd.f64) -> qd.f16:
        return x

    run(x, cast, stored, added, largest, passed, vectors)
    for found in (cast, stored, added, largest, passed, *vectors.T):
        assert np.array_equal(found, wanted)
    assert result(2049.0000001) == 2050
