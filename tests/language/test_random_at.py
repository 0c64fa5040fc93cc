"""`qd.random_at`: numbers that depend on the arguments alone, and look random in every one of them."""

from __future__ import annotations

import numpy as np
import pytest
from language_kit import raises

import quadrants as qd

# Counter, key and result of the paper's reference implementation, words of 32 bits (kat_vectors, philox4x32 10).
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E)),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0), (0xD16CFE09, 0x94FDCCEB)),
]


def reference(key: int, counter: np.ndarray) -> np.ndarray:
    """Two words (n, 2) of Philox4x32-10 of n counters (n, 4), as the paper tells it."""
    a, b, c, d = (counter[:, k].astype(np.uint64) for k in range(4))
    keys, mask = [np.uint64(key & 0xFFFFFFFF), np.uint64(key >> 32 & 0xFFFFFFFF)], np.uint64(0xFFFFFFFF)
    for _ in range(10):
        low, high = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        b, d = (high >> np.uint64(32)) ^ b ^ keys[0], (low >> np.uint64(32)) ^ d ^ keys[1]
        a, b, c, d = b, high & mask, d, low & mask
        keys = [keys[0] + np.uint64(0x9E3779B9) & mask, keys[1] + np.uint64(0xBB67AE85) & mask]
    return np.stack([a, b], axis=1).astype(np.uint32)


@qd.kernel
def words_at(
    counter: qd.types.ndarray(dtype=qd.u32, ndim=2),
    key: qd.types.ndarray(dtype=qd.u64, ndim=1),
    out: qd.types.ndarray(dtype=qd.u64, ndim=1),
):
    for n in out:
        i, j, k, draw = counter[n, 0], counter[n, 1], counter[n, 2], counter[n, 3]
        out[n] = qd.random_at(key[n], i, j, k, draw, qd.u64)


def test_the_numbers_are_those_of_philox(arch):
    rng = np.random.default_rng(5)
    counter = rng.integers(0, 1 << 32, (500, 4), dtype=np.uint32)
    keys = rng.integers(0, 1 << 64, 500, dtype=np.uint64)
    for n, (at, (low, high), _) in enumerate(KNOWN):
        counter[n], keys[n] = at, high << 32 | low
    out = np.zeros(500, np.uint64)
    words_at(counter, keys, out)
    first, second = out >> np.uint64(32), out & np.uint64(0xFFFFFFFF)
    for n, (_, _, known) in enumerate(KNOWN):
        assert (first[n], second[n]) == known
    for n in range(500):
        assert np.array_equal(reference(int(keys[n]), counter[n : n + 1])[0], [first[n], second[n]])


def test_dtypes_are_parts_of_the_same_bits(arch):
    n = 1000
    shapes = {name: qd.field(getattr(qd, name), n) for name in ("f16", "f32", "i32", "u32", "i64", "u64")}
    half, single, i32, u32, i64, u64 = shapes.values()

    @qd.kernel
    def fill():
        for i in range(n):
            half[i] = qd.random_at(3, i, dtype=qd.f16)
            single[i] = qd.random_at(3, i)
            i32[i] = qd.random_at(3, i, dtype=int)
            u32[i] = qd.random_at(3, i, dtype=qd.u32)
            i64[i] = qd.random_at(3, i, dtype=qd.i64)
            u64[i] = qd.random_at(3, i, dtype=qd.u64)

    fill()
    at = np.zeros((n, 4), np.uint32)
    at[:, 0] = np.arange(n)
    expected = reference(3, at).astype(np.uint64)
    both = expected[:, 0] << np.uint64(32) | expected[:, 1]
    assert np.array_equal(u64.to_numpy(), both) and np.array_equal(i64.to_numpy(), both.view(np.int64))
    assert np.array_equal(u32.to_numpy(), expected[:, 0])
    assert np.array_equal(i32.to_numpy(), expected[:, 0].astype(np.uint32).view(np.int32))
    assert np.array_equal(single.to_numpy(), (expected[:, 0] >> np.uint64(8)) * 2.0**-24)
    assert np.array_equal(half.to_numpy(), (expected[:, 0] >> np.uint64(21)) * 2.0**-11)


@pytest.mark.runtime(require=("data64",))
def test_doubles_have_53_digits(arch):
    out = qd.field(qd.f64, 1000)

    @qd.kernel
    def fill(key: qd.i64):
        for i in out:
            out[i] = qd.random_at(key, i, dtype=qd.f64)

    fill(-2)
    at = np.zeros((1000, 4), np.uint32)
    at[:, 0] = np.arange(1000)
    words = reference(-2, at).astype(np.uint64)
    assert np.array_equal(out.to_numpy(), ((words[:, 0] << np.uint64(32) | words[:, 1]) >> np.uint64(11)) * 2.0**-53)


N = 100_000


@qd.kernel
def sequence(key: qd.i32, part: qd.template(), x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    """N numbers along one of the counters, or along the key; the others are 1."""
    for n in x:
        if qd.static(part == "key"):
            x[n] = qd.random_at(n, 1, 1, 1, 1)
        elif qd.static(part == "i"):
            x[n] = qd.random_at(key, n, 1, 1, 1)
        elif qd.static(part == "j"):
            x[n] = qd.random_at(key, 1, n, 1, 1)
        elif qd.static(part == "k"):
            x[n] = qd.random_at(key, 1, 1, n, 1)
        else:
            x[n] = qd.random_at(key, 1, 1, 1, n)


def drawn(key, part):
    x = np.zeros(N, np.float32)
    sequence(key, part, x)
    return x


PARTS = ("key", "i", "j", "k", "draw")


@pytest.mark.parametrize("part", PARTS)
def test_neighbours_in_every_place_are_uniform_and_independent(arch, part):
    """Bounds are five standard errors: with a fixed key, a test passes or fails each time."""
    x = drawn(7, part).astype(float)
    assert 0 <= x.min() and x.max() < 1
    assert abs(x.mean() - 0.5) < 5 * (1 / 12 / N) ** 0.5
    assert abs(x.var() - 1 / 12) < 5 * (1 / 180 / N) ** 0.5
    for lag in (1, 2, 7, 64):
        assert abs(np.corrcoef(x[:-lag], x[lag:])[0, 1]) < 5 / N**0.5
    bins = 256
    counts = np.bincount((x * bins).astype(int), minlength=bins)
    chi = ((counts - N / bins) ** 2).sum() / (N / bins)
    assert abs(chi - (bins - 1)) < 5 * (2 * (bins - 1)) ** 0.5
    pairs = np.histogram2d(x[::2], x[1::2], 16, [[0, 1], [0, 1]])[0]
    chi = ((pairs - N / 2 / 256) ** 2).sum() / (N / 2 / 256)
    assert abs(chi - 255) < 5 * (2 * 255) ** 0.5
    assert len(np.unique(x)) > N * 0.99  # of 2^24 values
    bits = (x * 2**24).astype(np.int64)[:, None] >> np.arange(24) & 1
    assert np.abs(bits.mean(0) - 0.5).max() < 5 * 0.5 / N**0.5


def test_keys_counters_and_draws_are_different_sequences(arch):
    found = [drawn(7, part) for part in PARTS] + [drawn(key, "i") for key in (8, -7, 7 + (1 << 20))]
    for a in range(len(found)):
        for b in range(a):
            assert abs(np.corrcoef(found[a], found[b])[0, 1]) < 5 / N**0.5
    assert np.array_equal(found[1], drawn(7, "i"))


def test_it_depends_on_nothing_else(init):
    """Not on threads, launches, seeds of the runtime, shapes of loops or what was drawn before."""
    found = []
    for threads, seed, cut in ((1, 1, 0), (4, 2, 17), (3, 3, 40)):
        init(cpu_max_num_threads=threads, random_seed=seed)
        x = qd.field(qd.f32, (60, 50))

        @qd.kernel
        def fill(begin: qd.i32, end: qd.i32):
            for i, j in qd.ndrange((begin, end), 50):
                x[i, j] = qd.random_at(11, i, j, draw=2) + 0 * qd.random()

        fill(0, cut)
        fill(cut, 60)
        found.append(x.to_numpy())
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


def test_counters_may_be_of_any_small_type(arch):
    @qd.kernel
    def same(a: qd.i8, b: qd.u16, c: qd.u32) -> qd.types.vector(4, qd.u32):
        one = qd.random_at(1, a, b, c, True, qd.u32)
        return qd.Vector([one, qd.random_at(qd.u8(1), 5, 6, 7, 1, qd.u32), qd.random_at(1, -a, dtype=qd.u32),
                          qd.random_at(1, -5, dtype=qd.u32)])  # fmt: skip

    one, two, three, four = same(5, 6, 7).to_list()
    assert one == two and three == four and one != three


def test_it_does_not_disturb_a_tape(arch):
    x, loss = qd.field(qd.f32, 4, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)
    x.fill(2)

    @qd.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2 * qd.random_at(1, i)

    with qd.ad.Tape(loss):
        total()
    weights = np.array([reference(1, np.array([[i, 0, 0, 0]]))[0, 0] >> 8 for i in range(4)]) * 2.0**-24
    assert np.allclose(x.grad.to_numpy(), 4 * weights)


def test_what_is_no_counter_is_refused(arch):
    @qd.kernel
    def real() -> qd.f32:
        return qd.random_at(1, 0.5)

    @qd.kernel
    def wide(i: qd.i64) -> qd.f32:
        return qd.random_at(1, 2, i)

    @qd.kernel
    def large() -> qd.f32:
        return qd.random_at(1, 2, draw=1 << 33)

    @qd.kernel
    def small() -> qd.i32:
        return qd.random_at(1, 2, dtype=qd.i8)

    @qd.kernel
    def vector() -> qd.f32:
        return qd.random_at(1, qd.Vector([1, 2]))

    at_most = "must be an integer of at most"
    for run, said in (
        (real, f"i {at_most} 32 bits, not f32"),
        (lambda: wide(1), f"j {at_most} 32 bits, not i64: qd.cast(j, qd.i32)"),
        (large, "Integer literal 8589934592 exceeded the range"),
        (small, "qd.random_at does not support i8; use one of f16"),
        (vector, f"i {at_most} 32 bits, not"),
    ):
        with raises(qd.QuadrantsTypeError, said) as caught:
            run()
        assert "test_random_at.py" in str(caught.value)


@pytest.mark.cpu_only
def test_kernels_that_run_as_python_draw_the_same():
    def numbers():
        @qd.kernel
        def draw(i: qd.i32) -> qd.f32:
            return qd.random_at(9, i, 2, draw=1)

        @qd.kernel
        def whole(i: qd.i32) -> qd.u32:
            return qd.random_at(9, i, 2, draw=1, dtype=qd.u32)

        return [(float(draw(i)), int(whole(i))) for i in range(20)]

    qd.init(arch=qd.cpu)
    compiled = numbers()
    qd.init(qd.python)
    interpreted = numbers()
    qd.reset()
    assert compiled == interpreted
