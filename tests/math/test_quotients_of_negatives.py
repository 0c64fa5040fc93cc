"""Quotients of a number and of its negative side by side, where the number is the least one, its own negative.

gcc 12 takes `(-a) / b` for `-(a / b)` where it has `a / b` already.
"""

import numpy as np
import pytest

import quadrants as qd


def wrapped(value, bits):
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def rounded(a, b):
    """Toward zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@pytest.mark.parametrize("bits", [32, 64])
def test_quotients_beside_those_of_negatives(arch, bits):
    dtype, numpy_type = (qd.i32, np.int32) if bits == 32 else (qd.i64, np.int64)

    @qd.kernel
    def k(xs: qd.types.ndarray(dtype, 1), n: dtype, out: qd.types.ndarray(dtype, 2)):
        for i in range(xs.shape[0]):
            x = xs[i]
            out[i, 0] = x // n
            out[i, 1] = -x // n
            out[i, 2] = x // 10
            out[i, 3] = (0 - x) // 10
            out[i, 4] = qd.raw_div(x, 10)
            out[i, 5] = qd.raw_div(x * -1, 10)
            out[i, 6] = x // -1 // n
            out[i, 7] = (~x + 1) // -10
            out[i, 8] = -(x // -10)
            out[i, 9] = (-qd.Vector([x, n]) // n)[0] + (qd.Vector([x, n]) // n)[1]
            y = x // n
            if x < 5:
                z = -x
                z //= n
                out[i, 10] = z - y
            out[i, 11] = x // -n

    least = -(2 ** (bits - 1))
    numbers = [least, least + 1, -1, 0, 7, -least - 1]
    x = np.array(numbers, numpy_type)
    for n in (3, -3, 1, -1, least):
        out = np.zeros((len(numbers), 12), numpy_type)
        k(x, n, out)
        for row, x_ in zip(out.tolist(), numbers, strict=True):
            less, less_n = wrapped(-x_, bits), wrapped(-n, bits)
            want = [
                x_ // n, less // n, x_ // 10, less // 10, rounded(x_, 10), rounded(less, 10), less // n, less // -10,
                -(x_ // -10), less // n + 1, less // n - x_ // n if x_ < 5 else 0, x_ // less_n,
            ]  # fmt: skip
            assert row == [wrapped(w, bits) for w in want], (n, x_)
