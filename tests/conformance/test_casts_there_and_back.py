"""Real numbers that become integers and real again: one rule for variables, literals, vectors and stores."""

import numpy as np
import pytest

import quadrants as qd

TARGETS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
VALUES = (
    300.0, -300.5, 3e9, -3e9, 5e9, -0.5, 0.5, -2.0, 127.9, -128.9, 65535.5, 2.0**31, -(2.0**31) - 1, 2.0**32 + 3,
    1.5e19, -1e19, 1e30, float("inf"), float("-inf"), float("nan"), 0.0, -0.0,
)  # fmt: skip


def by_way_of_a_signed_type(x: float, target: str) -> int:
    """What is behind the point is dropped, in an i32 if that holds all values of the target, else in an i64; the least
    of it stands for what does not fit; the low bits stay."""
    bits, signed = int(target[1:]), target[0] == "i"
    way = 32 if bits < 32 or target == "i32" else 64
    top = 2.0**64 if target == "u64" else 2.0 ** (way - 1)
    whole = int(x) if abs(x) < 1e300 and -(2 ** (way - 1)) <= int(x) and x < top else -(2 ** (way - 1))
    low = whole & ((1 << bits) - 1)
    return low - (1 << bits) if signed and low >> (bits - 1) else low


def seen_by(source: str) -> list:
    """The values as the type has them; NumPy's overflow to infinity is meant."""
    with np.errstate(over="ignore"):
        return [float(np.dtype(source.replace("f", "float")).type(x)) for x in VALUES]


@pytest.mark.parametrize("fast_math", [False, True])
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_of_variables_and_vectors(init, source, fast_math):
    init(fast_math=fast_math)
    real = getattr(qd, source)
    x = qd.field(real, shape=len(VALUES))
    x.from_numpy(np.array(seen_by(source), source.replace("f", "float")))
    for target in TARGETS:
        whole = getattr(qd, target)
        stored = qd.field(whole, shape=(3, len(VALUES)))
        back = qd.field(real, shape=(2, len(VALUES)))
        inverse = qd.field(real, shape=len(VALUES))

        @qd.kernel
        def convert():
            for i in x:
                a = qd.cast(x[i], whole)
                v = qd.cast(qd.Vector([x[i], x[i]]), whole)
                stored[0, i] = a
                stored[1, i] = v[1]
                stored[2, i] = x[i]
                back[0, i] = qd.cast(qd.cast(x[i], whole), real)
                back[1, i] = qd.cast(qd.cast(qd.Vector([x[i], x[i]]), whole), real)[0]
                inverse[i] = 1.0 / qd.cast(qd.cast(x[i], whole), real)

        convert()
        expected = [by_way_of_a_signed_type(value, target) for value in seen_by(source)]
        dtype = source.replace("f", "float")
        for row in stored.to_numpy():
            assert [int(n) for n in row] == expected, target
        for row in back.to_numpy():
            assert row.tolist() == np.array(expected, dtype).tolist(), target
        for got, number in zip(inverse.to_numpy(), expected):
            assert got == np.inf or number != 0, (target, got)  # no -0.0


def test_of_literals(init):
    init(fast_math=False, default_fp=qd.f64)
    out = qd.field(qd.i64, shape=(2, len(VALUES)))
    for target in TARGETS:
        whole = getattr(qd, target)

        @qd.kernel
        def convert():
            for i in qd.static(range(len(VALUES))):
                value = qd.f64(VALUES[i])
                out[0, i] = qd.cast(qd.cast(value, whole), qd.i64)
                out[1, i] = qd.cast(qd.cast(qd.cast(VALUES[i], qd.f64), whole), qd.i64)

        convert()
        wrapped = np.array([by_way_of_a_signed_type(x, target) for x in VALUES], object)
        expected = [int(np.uint64(int(n) % 2**64).astype(np.int64)) for n in wrapped]
        assert out.to_numpy().tolist() == [expected, expected], target


@pytest.mark.parametrize("fast_math", [False, True])
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_of_values_that_a_compiler_finds(init, source, fast_math):
    """Unrolled loops make constants, conditions make ranges, and peeled rounds of a vector loop are scalar."""
    init(fast_math=fast_math)
    real = getattr(qd, source)
    x = qd.field(real, shape=4)
    long = np.linspace(-4e10, 4e10, 1003).astype(source.replace("f", "float"))

    @qd.func
    def there_and_back(number, whole: qd.template()):
        return qd.cast(qd.cast(number, whole), real)

    @qd.kernel
    def convert(out: qd.types.ndarray(real, 1), many: qd.types.ndarray(real, 1), n: qd.i32):
        for _ in range(n):
            for k in range(4):
                out[k] = there_and_back(qd.cast(k, real) * 2.5e9 - 3e9, qd.i32)
            for k in range(4):
                out[4 + k] = there_and_back(qd.cast(k, real) * 2.0**63 - 1.5 * 2.0**63, qd.i64)
            for k in range(4):
                out[8 + k] = there_and_back(qd.cast(k, real) * 1000.5 - 1500.0, qd.u8)
        for i in x:
            if x[i] > 3e9:
                out[12 + i] = there_and_back(x[i], qd.i32)
            elif x[i] < -3e9:
                out[12 + i] = there_and_back(qd.min(x[i], -3e9), qd.i32)
            elif not x[i] == x[i]:
                out[12 + i] = there_and_back(x[i], qd.i32)
        for i in many:
            many[i] = there_and_back(many[i], qd.i32)

    x.from_numpy(np.array([1e10, -1e10, np.nan, np.inf], source.replace("f", "float")))
    out = np.zeros(16, source.replace("f", "float"))
    moved = long.copy()
    convert(out, moved, 1)
    numbers = (
        [(k * 2.5e9 - 3e9, "i32") for k in range(4)]
        + [(k * 2.0**63 - 1.5 * 2.0**63, "i64") for k in range(4)]
        + [(k * 1000.5 - 1500.0, "u8") for k in range(4)]
        + [(value, "i32") for value in (1e10, -1e10, np.nan, np.inf)]
    )
    assert out.tolist() == np.array([by_way_of_a_signed_type(x, t) for x, t in numbers], out.dtype).tolist()
    assert moved.tolist() == np.array([by_way_of_a_signed_type(float(v), "i32") for v in long], out.dtype).tolist()


def test_half_precision(arch):
    values = np.array([300.0, -300.5, 65504.0, -0.5, np.inf, np.nan], np.float16)

    @qd.kernel
    def convert(x: qd.types.ndarray(qd.f16, 1), out: qd.types.ndarray(qd.u8, 1)):
        for i in x:
            out[i] = qd.cast(x[i], qd.u8)

    out = np.zeros(len(values), np.uint8)
    convert(values, out)
    assert out.tolist() == [by_way_of_a_signed_type(float(x), "u8") for x in values]
