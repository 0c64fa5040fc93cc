"""`qd.algorithms.sort`: order, stability, the low bits, bit-exact keys, what it refuses."""

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.sampled

DTYPES = {"u32": np.uint32, "i32": np.int32, "f32": np.float32, "u64": np.uint64, "i64": np.int64, "f64": np.float64}


def run(keys, dtype, end_bit=None, has_values=True, levels=2):
    n = len(keys)
    room = max(n, 1) + 3
    bits = 32 if dtype in (qd.u32, qd.i32, qd.f32) else 64
    end_bit = bits if end_bit is None else end_bit

    @qd.kernel
    def order(
        k: qd.types.ndarray(), tk: qd.types.ndarray(), v: qd.types.ndarray(), tv: qd.types.ndarray(),
        s: qd.types.ndarray(), n: qd.types.ndarray(),
    ):  # fmt: skip
        qd.algorithms.sort(
            k, tk, v, tv, s, n, key_dtype=dtype, has_values=has_values, end_bit=end_bit, log256_max_n=levels
        )  # fmt: skip

    k, tk = qd.ndarray(dtype, room), qd.ndarray(dtype, room)
    v, tv = qd.ndarray(qd.i32, room), qd.ndarray(qd.i32, room)
    slots = qd.algorithms.sort_scratch_slots(n, levels)
    s, count = qd.ndarray(qd.u32, slots + 4), qd.ndarray(qd.i32, ())
    padded = np.zeros(room, keys.dtype)
    padded[:n] = keys
    k.from_numpy(padded)
    v.from_numpy(np.arange(room, dtype=np.int32))
    s.from_numpy(np.full(slots + 4, 77, np.uint32))
    count[()] = n
    order(k, tk, v, tv, s, count)
    assert (s.to_numpy()[slots:] == 77).all()
    assert (k.to_numpy()[n:] == 0).all()
    return k.to_numpy()[:n], v.to_numpy()[:n]


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_sort_is_stable_for_every_type_of_keys(arch, name):
    rng = np.random.default_rng(3)
    dtype = DTYPES[name]
    low = 0 if name.startswith("u") else -40
    keys = rng.integers(low, 40, 700).astype(dtype)
    got, values = run(keys, getattr(qd, name))
    expected = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(got, keys[expected])


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257])
def test_sort_of_sizes_around_a_tile(arch, n):
    keys = np.random.default_rng(n).integers(0, 2**32, n, dtype=np.uint32)
    got, values = run(keys, qd.u32)
    np.testing.assert_array_equal(got, np.sort(keys))
    np.testing.assert_array_equal(values, np.argsort(keys, kind="stable"))


def test_sort_looks_at_the_low_bits_only_and_leaves_values_alone(arch):
    keys = np.random.default_rng(1).integers(0, 2**63, 600, dtype=np.uint64) & np.uint64(0xFFFF_0000_FFFF_FFFF)
    keys |= np.uint64(5) << np.uint64(40)
    got, values = run(keys, qd.u64, end_bit=48, has_values=False, levels=3)
    np.testing.assert_array_equal(got, keys[np.argsort(keys & np.uint64(2**48 - 1), kind="stable")])
    np.testing.assert_array_equal(values, np.arange(600))


def test_sort_keeps_the_bits_of_special_reals(arch):
    bits = np.array([0x7FC00001, 0x80000000, 0, 0x7F800000, 0xFFC12345, 0xFF800000, 1, 0x80000001], np.uint32)
    got, _ = run(bits.view(np.float32), qd.f32)
    expected = [0xFFC12345, 0xFF800000, 0x80000001, 0x80000000, 0, 1, 0x7F800000, 0x7FC00001]
    assert got.view(np.uint32).tolist() == expected


@pytest.mark.cpu_only
@pytest.mark.parametrize(
    ("options", "text"),
    [({"end_bit": 24}, "end_bit=24"), ({"end_bit": 64}, "end_bit=64"), ({"levels": 2, "end_bit": 0}, "end_bit=0")],
)
def test_sort_refuses_what_would_leave_keys_in_the_workspace(arch, options, text):
    with pytest.raises(qd.QuadrantsCompilationError, match=text):
        run(np.zeros(4, np.uint32), qd.u32, **options)


@pytest.mark.cpu_only
def test_sort_is_for_the_top_level(arch):
    k = qd.field(qd.u32, 4)
    n = qd.field(qd.i32, ())

    @qd.kernel
    def nested():
        for _ in range(2):
            qd.algorithms.sort(k, k, k, k, k, n, qd.u32, False, 16, 1)

    with pytest.raises(qd.QuadrantsSyntaxError, match="requires_top_level=True"):
        nested()


@pytest.mark.cpu_only
def test_sort_scratch_slots():
    slots = qd.algorithms.sort_scratch_slots
    assert [slots(n) for n in (-3, 0, 1, 256, 257, 65536, 65537, 1000000)] == [
        1, 1, 256, 256, 514, 65792, 66051, 1004115,
    ]  # fmt: skip
    assert (slots(1, 3), slots(257, 4), slots(1, 4), slots(1000, 4), slots(65536, 4)) == (258, 516, 259, 1030, 65794)
    with pytest.raises(ValueError, match="exceeds the maximum of 4"):
        slots(1, 5)
    with pytest.raises(ValueError, match="below 1"):
        slots(1, 0)


# Tiles of 1,024 to 8,192 keys, and more of them than one, on every arch.
SIZES = (2, 511, 1025, 4096, 8191, 8192, 8193, 33000)


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_sort_of_several_tiles(arch, name):
    dtype = DTYPES[name]
    for n in SIZES:
        rng = np.random.default_rng(n)
        bits = rng.integers(0, 2 ** (8 * dtype().itemsize), n, dtype=f"u{dtype().itemsize}")
        keys = bits.view(dtype)
        if name.startswith("f"):
            keys = np.where(np.isnan(keys), dtype(-0.0), keys)
        keys[: n // 2] = keys[n - n // 2 :]  # every key twice
        got, values = run(keys, getattr(qd, name), levels=2 if n % 2 else 3)
        expected = np.argsort(keys, kind="stable")
        # -0.0 goes before 0.0, where NumPy takes them for equal; there is no 0.0 among these.
        np.testing.assert_array_equal(values, expected, f"{n} keys")
        assert got.tobytes() == keys[expected].tobytes()


def test_sort_of_keys_that_are_alike(arch):
    for keys in (
        np.zeros(9000, np.uint32),
        np.full(9000, 2**32 - 1, np.uint32),
        np.arange(9000, dtype=np.uint32)[::-1],
    ):
        got, values = run(np.ascontiguousarray(keys), qd.u32)
        expected = np.argsort(keys, kind="stable")
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(got, keys[expected])


@pytest.mark.parametrize("value", ["u8", "f16", "f32", "u64", "f64"])
@pytest.mark.parametrize("key", ["u32", "u64"])
def test_sort_moves_values_of_every_width(arch, key, value):
    n = 9000
    k, tk = (qd.field(getattr(qd, key), n) for _ in range(2))
    v, tv = (qd.field(getattr(qd, value), n) for _ in range(2))
    s, count = qd.field(qd.u32, qd.algorithms.sort_scratch_slots(n, 2)), qd.field(qd.i32, ())

    @qd.kernel
    def order():
        qd.algorithms.sort(k, tk, v, tv, s, count, getattr(qd, key), True, 16, 2)

    keys = np.random.default_rng(4).integers(0, 5000, n).astype(DTYPES[key])
    values = (np.arange(n) % 251).astype(v.to_numpy().dtype)
    k.from_numpy(keys)
    v.from_numpy(values)
    count[None] = n
    order()
    expected = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(k.to_numpy(), keys[expected])
    np.testing.assert_array_equal(v.to_numpy(), values[expected])


def test_sort_takes_a_number_as_its_count_and_serves_all_counts(arch):
    k, tk = qd.field(qd.i32, 20000), qd.field(qd.i32, 20000)
    s = qd.field(qd.u32, qd.algorithms.sort_scratch_slots(20000, 2))

    @qd.kernel
    def order(n: qd.i32):
        for i in range(20000):
            k[i] = (i * 7919) % 20011 - 9000
        qd.algorithms.sort(k, tk, k, tk, s, n, qd.i32, False, 32, 2)
        for i in range(20000):
            k[i] += 1

    start = (np.arange(20000) * 7919) % 20011 - 9000
    for n in (20000, 0, 1, 8192, 8193, 300):
        order(n)
        np.testing.assert_array_equal(k.to_numpy(), np.concatenate([np.sort(start[:n]), start[n:]]) + 1)


@pytest.mark.parametrize("key", ["u32", "i32", "f32"])
@pytest.mark.parametrize("value", ["i64", "f64"])
def test_values_may_be_wider_than_keys(arch, key, value):
    n = 300
    k, tk = (qd.field(getattr(qd, key), n) for _ in range(2))
    v, tv = (qd.field(getattr(qd, value), n) for _ in range(2))
    s = qd.field(qd.u32, qd.algorithms.sort_scratch_slots(n, 2))

    @qd.kernel
    def order():
        qd.algorithms.sort(k, tk, v, tv, s, n, getattr(qd, key), True, 32, 2)

    keys = np.random.default_rng(4).integers(0, 50, n).astype(DTYPES[key])
    k.from_numpy(keys)
    v.from_numpy(np.arange(n).astype(v.to_numpy().dtype))
    order()
    np.testing.assert_array_equal(v.to_numpy(), np.argsort(keys, kind="stable"))


@pytest.mark.cpu_only
@pytest.mark.parametrize(
    ("taken", "text"),
    [
        ("k, t, v, t, s", "tmp_values is the array tmp_keys"), ("k, t, v, k, s", "tmp_values is the array keys"),
        ("k, t, k, w, s", "values is the array keys"), ("k, t, v, w, k", "scratch is the array keys"),
        ("k, t, v, w, v", "values is the array scratch"),
    ],
)  # fmt: skip
def test_sort_refuses_an_array_in_two_places(arch, tmp_path, taken, text):
    path = tmp_path / "twice.py"
    path.write_text(
        "import quadrants as qd\n"
        "k, t, v, w, s = (qd.field(qd.u32, 4000) for _ in range(5))\n"
        "@qd.kernel\n"
        "def twice():\n"
        f"    qd.algorithms.sort({taken}, 5, qd.u32, True, 32, 1)\n"
    )
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with pytest.raises(qd.QuadrantsCompilationError, match=text):
        names["twice"]()


@pytest.mark.cpu_only
def test_sort_refuses_its_own_arrays_as_workspace(arch):
    k, n = qd.field(qd.f16, 4), qd.field(qd.i32, ())

    @qd.kernel
    def same():
        qd.algorithms.sort(k, k, k, k, k, n, qd.u32, False, 16, 1)

    @qd.kernel
    def halves():
        qd.algorithms.sort(k, k, k, k, k, n, qd.f16, False, 16, 1)

    with pytest.raises(qd.QuadrantsCompilationError, match="workspaces of their own"):
        same()
    with pytest.raises(qd.QuadrantsCompilationError, match="sort key dtype f16 not supported"):
        halves()
