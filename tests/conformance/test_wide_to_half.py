"""Integers that are infinite as f16: compilers may not take them for finite."""

import numpy as np
import pytest

import quadrants as qd


@pytest.mark.parametrize("fast_math", [False, True])
@pytest.mark.parametrize("name", ["i32", "u32", "i64", "u64", "u16"])
def test_integers_beyond_f16_are_infinite(init, name, fast_math):
    init(fast_math=fast_math)
    dtype = getattr(qd, name)
    kind = np.dtype({"i": "int", "u": "uint"}[name[0]] + name[1:])
    limits = np.iinfo(kind)
    numbers = [65504, 65519, 65520, limits.max, 1, 0, *([limits.min, -65520, -65519] if limits.min else [])]
    x, y, z = (
        qd.ndarray(dtype, (len(numbers),)),
        qd.ndarray(qd.f32, (len(numbers),)),
        qd.ndarray(qd.i32, (len(numbers),)),
    )
    x.from_numpy(np.array(numbers, kind))

    @qd.kernel
    def halves(x: qd.types.ndarray(), y: qd.types.ndarray(), z: qd.types.ndarray()):
        for i in x:
            y[i] = qd.cast(x[i], qd.f16) - qd.cast(x[i], qd.f16)
            z[i] = qd.math.isinf(qd.cast(qd.cast(x[i], qd.f16), qd.f32))

    halves(x, y, z)
    with np.errstate(over="ignore", invalid="ignore"):
        want = np.array(numbers, kind).astype(np.float64).astype(np.float16)
        if not fast_math:
            assert np.array_equal(y.to_numpy(), (want - want).astype(np.float32), equal_nan=True)
    assert z.to_numpy().tolist() == np.isinf(want).astype(int).tolist()
