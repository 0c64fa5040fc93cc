"""`qd.algorithms.select` against boolean indices of NumPy."""

import numpy as np
import pytest
from algorithms.algorithms_kit import GUARD, SIZES, content, counter, guarded, numbers

import quadrants as qd

al = qd.algorithms


def selector(levels):
    @qd.kernel
    def pick(
        x: qd.types.ndarray(), flags: qd.types.ndarray(), out: qd.types.ndarray(), count: qd.types.ndarray(),
        s: qd.types.ndarray(), n: qd.types.ndarray(),
    ):  # fmt: skip
        al.select(x, flags, out, count, scratch=s, n=n[()], log256_max_n=levels)

    return pick


def check(kernel, name, n, share):
    dtype, values = getattr(qd, name), numbers(name, n)
    wanted = np.random.default_rng(n).random(n) < share
    x, flags = guarded(dtype, n, values), guarded(qd.i32, n, wanted.astype(np.int32))
    out, count = guarded(dtype, n), guarded(qd.i32, 1)
    s = guarded(qd.u32, al.select_scratch_slots(n))
    kernel(x, flags, out, count, s, counter(n))
    content(s)
    expected = values[wanted]
    assert content(count)[0] == len(expected)
    np.testing.assert_array_equal(content(out)[: len(expected)], expected)
    assert (content(out)[len(expected) :] == GUARD).all()
    np.testing.assert_array_equal(content(x), values)


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
@pytest.mark.parametrize("share", [0, 0.3, 1])
def test_select_of_every_size_and_share(arch, levels, share):
    kernel = selector(levels)
    for n in SIZES if levels != 4 else (0, 1, 257):
        if 256**levels >= n:
            check(kernel, "i32", n, share)


@pytest.mark.parametrize("name", ["u32", "f32", "u64", "i64", "f64"])
def test_select_of_every_type(arch, name):
    check(selector(2), name, 9001, 0.3)


def test_select_of_vectors_and_structs(arch):
    n = 5000
    particle = qd.types.struct(place=qd.math.vec3, mass=qd.f32)
    x, out = particle.field(n), particle.field(n)
    a, b = qd.Vector.field(2, qd.i32, n), qd.Vector.field(2, qd.i32, n)
    flags, count, s = qd.field(qd.i32, n), qd.field(qd.i32, 2), qd.field(qd.u32, al.select_scratch_slots(n))

    @qd.kernel
    def pick(n: qd.i32):
        for i in range(n):
            x[i].place = qd.Vector([i, 2 * i, 3 * i])
            x[i].mass = i
            a[i] = qd.Vector([i, -i])
            flags[i] = i % 3 == 0
        al.select(x, flags, out, count, s, n, 2)
        al.select(a, flags, b, count, s, n, 2)

    pick(n)
    expected = np.arange(0, n, 3)
    assert count[0] == len(expected)
    np.testing.assert_array_equal(out.mass.to_numpy()[: len(expected)], expected)
    np.testing.assert_array_equal(out.place.to_numpy()[: len(expected), 2], 3 * expected)
    np.testing.assert_array_equal(b.to_numpy()[: len(expected)], np.stack([expected, -expected], 1))


def test_scanned_flags_are_the_places(arch):
    n = 6000
    x, flags, places, out = (qd.field(qd.i32, n) for _ in range(4))
    count, s = qd.field(qd.i32, 1), qd.field(qd.u32, al.select_scratch_slots(n))

    @qd.kernel
    def both():
        for i in range(n):
            x[i] = i
            flags[i] = (i * 7) % 5 < 2
        al.exclusive_scan_add(flags, places, s, n, qd.i32, 2)
        al.select(x, flags, out, count, s, n, 2)

    both()
    chosen = flags.to_numpy() == 1
    np.testing.assert_array_equal(out.to_numpy()[places.to_numpy()[chosen]], np.arange(n)[chosen])


@pytest.mark.cpu_only
def test_select_refuses_what_cannot_be(arch):
    x, s = qd.field(qd.i32, 4), qd.field(qd.u32, 8)

    def kernel(out, levels):
        @qd.kernel
        def pick():
            al.select(x, x, out, x, s, 4, levels)

        return pick

    with pytest.raises(qd.QuadrantsCompilationError, match="another array as out"):
        kernel(x, 1)()
    with pytest.raises(qd.QuadrantsCompilationError, match="log256_max_n=5 exceeds"):
        kernel(s, 5)()
