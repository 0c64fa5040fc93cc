"""Content of another type is converted as a cast in a kernel does, however much of it there is."""

import numpy as np
import pytest

import quadrants as qd

VALUES = (5.7, -5.7, 300.7, 3e9, -3e9, 5e9, 4296015872.0, 1e19, 1e20, -1e19, np.nan, np.inf, -np.inf)
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("real", ["f32", "f64"])
def test_reals_into_integers(arch, name, real):
    dtype, source = getattr(qd, name), getattr(qd, real)

    @qd.kernel
    def cast(x: qd.types.ndarray(source, 1), out: qd.types.ndarray(dtype, 1)):
        for i in x:
            out[i] = qd.cast(x[i], dtype)

    values = np.array(VALUES, f"f{source.size}")
    wanted = np.zeros(len(values), f"{name[0]}{dtype.size}")
    cast(values, wanted)
    reals = qd.field(source, len(values))
    reals.from_numpy(values)
    for made in (qd.field(dtype, len(values)), qd.ndarray(dtype, len(values))):
        made.from_numpy(values)
        assert made.to_numpy().tolist() == wanted.tolist()
    copied = qd.field(dtype, len(values))
    copied.copy_from(reals)
    assert copied.to_numpy().tolist() == wanted.tolist()
    vectors = qd.Vector.field(2, dtype, len(values))
    vectors.from_numpy(np.stack([values, values], 1))
    assert vectors.to_numpy()[:, 1].tolist() == wanted.tolist()
    for x, want in zip(values, wanted, strict=True):
        for count in (1, 8):
            made = qd.field(dtype, count)
            made.fill(x)
            assert made.to_numpy().tolist() == [want] * count, x
            made.from_numpy(np.full(count, x))
            assert made.to_numpy().tolist() == [want] * count, x
