"""Quotients and roots of f16 and f32 that are the nearest numbers, whatever a device divides like."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd
from quadrants.emit.environment import builtin_folder

pytestmark = pytest.mark.cpu_only
COUNT = 1 << 17
FLOAT = "glsl/prelude/float.j2"
ESTIMATES = (
    "dividend / divisor",
    "float(n) / float(d) * 16777216.0",
    "float(r) / float(d)",
    "sqrt(float(n) * 8388608.0)",
    "float(r) / float(2u * q)",
)
BITS = {qd.f16: np.uint16, qd.f32: np.uint32}


@qd.kernel
def divide(a: qd.types.ndarray(), b: qd.types.ndarray(), quotients: qd.types.ndarray(), roots: qd.types.ndarray()):
    for i in a:
        quotients[i] = a[i] / b[i]
        roots[i] = qd.sqrt(b[i])


@qd.kernel
def invert_powers(a: qd.types.ndarray(), squares: qd.types.ndarray(), others: qd.types.ndarray(), n: qd.i32):
    for i in a:
        squares[i] = a[i] ** (-2)
        others[i] = a[i] ** n


@qd.kernel
def divide_vectors(a: qd.types.ndarray(), b: qd.types.ndarray(), x: qd.f32):
    for i in a:
        a[i] /= b[i]
        b[i] = (b[i] / x) / 3.0


def numbers(rng, bits):
    """Any bits, and many numbers of a size that quotients of two are normal."""
    found = rng.integers(0, 2 ** (8 * bits.itemsize), COUNT, np.uint64).astype(bits)
    if bits.itemsize == 4:
        sizes = rng.integers(65, 189, COUNT // 2).astype(bits) << 23
        found[: COUNT // 2] = found[: COUNT // 2] & 0x807FFFFF | sizes
    found[:2000] = (found[:2000] >> 10) << 10  # of few digits, so that ties and whole quotients are among them
    return found.view(f"f{bits.itemsize}")


def nearest(of, *operands):
    with np.errstate(all="ignore"):
        return of(*(x.astype(np.float64) for x in operands)).astype(operands[0].dtype)


def assert_equal(found, wanted, *operands):
    tiny = np.finfo(wanted.dtype).tiny
    normal = np.all([~(np.abs(x) < tiny) | (x == 0) for x in (wanted, *operands)], axis=0)
    same = (found == wanted) | np.isnan(found) & np.isnan(wanted)
    assert normal.sum() > COUNT / 2 and same[normal].all(), [x[normal & ~same][:4] for x in (*operands, found, wanted)]


@pytest.fixture(params=[1.0, *(1 + off * 2.0**-24 for off in (-30, -5, 5, 30))])
def templates(request, tmp_path):
    """Of a device whose quotients and roots are off by that."""
    text = (builtin_folder() / FLOAT).read_text()
    for estimate in ESTIMATES:
        assert estimate in text
        text = text.replace(estimate, f"{estimate} * {request.param!r}")
    (tmp_path / FLOAT).parent.mkdir(parents=True)
    (tmp_path / FLOAT).write_text(text)
    return [str(tmp_path)]


@pytest.mark.parametrize("dtype", [qd.f16, qd.f32], ids=str)
def test_quotients_and_roots_are_the_nearest_numbers(vulkan, templates, dtype):
    vulkan(fast_math=False, template_path=templates)
    rng = np.random.default_rng(1)
    a, b = (numbers(rng, np.dtype(BITS[dtype])) for _ in range(2))
    quotients, roots = np.zeros_like(a), np.zeros_like(a)
    divide(a, b, quotients, roots)
    assert_equal(quotients, nearest(np.divide, a, b), a, b)
    assert_equal(roots, nearest(np.sqrt, b), b)


@pytest.mark.parametrize("dtype", [qd.f16, qd.f32], ids=str)
def test_negative_powers_are_the_nearest_reciprocals(vulkan, templates, dtype):
    vulkan(fast_math=False, template_path=templates)
    a = np.random.default_rng(3).uniform(0.5, 4, 1000).astype(f"f{np.dtype(BITS[dtype]).itemsize}")
    squares, others = np.zeros_like(a), np.zeros_like(a)
    invert_powers(a, squares, others, -3)
    one = a.dtype.type(1)
    assert (squares == one / (a * a)).all()
    assert (others == one / (a * (a * a))).all()


def test_halves_are_rounded_before_they_become_other_numbers(vulkan):
    """Drivers leave the rounding out where they see what a number was made of."""
    vulkan(fast_math=False)
    x, found = np.array([65535, 3.3], np.float32), np.zeros(4)

    @qd.kernel
    def convert(x: qd.types.ndarray(), found: qd.types.ndarray()):
        found[0] = qd.cast(qd.f16(qd.u16(x[0])), qd.u32)
        found[1] = qd.f16(x[1])
        found[2] = qd.cast(qd.f16(x[1]) * qd.f16(100.0), qd.i32)
        found[3] = qd.sqrt(qd.f16(x[1])) / qd.f16(3.25)
        print(qd.f16(2.25) / qd.f16(3.25))

    convert(x, found)
    half = np.float16
    root = np.sqrt(np.float32(half(3.3))).astype(half)
    assert found.tolist() == [0, half(3.3), int(half(3.3) * half(100)), root / half(3.25)]


def test_quotients_of_vectors_are(vulkan, templates):
    vulkan(fast_math=False, template_path=templates)
    rng = np.random.default_rng(2)
    start = [rng.normal(size=(1000, 3)).astype(np.float32) for _ in range(2)]
    a, b = (qd.Vector.ndarray(3, qd.f32, 1000) for _ in range(2))
    a.from_numpy(start[0])
    b.from_numpy(start[1])
    divide_vectors(a, b, 0.7)
    assert (a.to_numpy() == start[0] / start[1]).all()
    assert (b.to_numpy() == start[1] / np.float32(0.7) / np.float32(3)).all()
