"""Kernels as Metal text, on the emulator: what is Metal's own."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd
from quadrants.errors import QuadrantsTypeError

pytestmark = pytest.mark.cpu_only


@pytest.fixture
def metal():
    """`metal(**options)` starts the emulated arch; reset after the test."""
    yield lambda **options: qd.init(arch=qd.metal, emulate=True, enable_fallback=False, **options)
    qd.reset()


@qd.kernel
def doubles(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in x:
        x[i] = qd.cast(qd.cast(x[i], qd.f64) * 2, qd.f32)


@qd.kernel
def wide_result() -> qd.f64:
    return 1.5


@qd.kernel
def wide_array(x: qd.types.ndarray(dtype=qd.f64, ndim=1)):
    for i in x:
        x[i] += 1


@pytest.mark.parametrize(
    "call, what, line",
    [
        (lambda: doubles(np.zeros(3, np.float32)), "f64", "x[i] = qd.cast(qd.cast(x[i], qd.f64) * 2, qd.f32)"),
        (lambda: wide_array(np.zeros(3)), "is of type f64", "x[i] += 1"),
        (wide_result, "f64", "return 1.5"),
    ],
    ids=["cast", "element", "result"],
)
def test_values_of_f64_are_refused(metal, call, what, line):
    metal()
    with pytest.raises(QuadrantsTypeError) as caught:
        call()
    message = str(caught.value)
    assert "arch metal has no f64. Use f32 instead" in message and what in message
    assert f'File "{__file__}", line ' in message and line in message


def test_a_builder_of_f64_is_refused_by_the_users_name(metal):
    pytest.importorskip("scipy", reason="scipy is not installed: pip install scipy")
    metal()
    builder = qd.linalg.SparseMatrixBuilder(3, 3, 9, qd.f64)

    @qd.kernel
    def fill(K: qd.types.sparse_matrix_builder()):
        for i in range(3):
            K[i, i] += 1.0

    with pytest.raises(QuadrantsTypeError, match=r"'K\.values' is of type f64, and arch metal has no f64"):
        fill(builder)


def test_a_text_without_a_device_is_refused_too(metal):
    qd.init(arch=qd.cpu)
    with pytest.raises(QuadrantsTypeError, match="arch metal has no f64"):
        wide_array.source(np.zeros(3), arch="metal")


def test_f64_is_no_default(metal):
    with pytest.raises(QuadrantsTypeError, match=r"default_fp=qd.f64: arch metal has no f64"):
        metal(default_fp=qd.f64)
    metal(default_fp=qd.f32)
    assert not qd.is_extension_enabled(qd.extension.data64)


@qd.kernel
def scattered(x: qd.types.ndarray(dtype=qd.i64, ndim=1)):
    for i in range(100):
        x[i % 3] += i


@qd.kernel
def summed(x: qd.types.ndarray(dtype=qd.u64, ndim=1)) -> qd.u64:
    total = qd.u64(0)
    for i in x:
        total += x[i]
    return total


@pytest.mark.parametrize(
    "call, dtype, line",
    [
        (lambda: scattered(np.zeros(3, np.int64)), "i64", "x[i % 3] += i"),
        (lambda: summed(np.zeros(3, np.uint64)), "u64", "total += x[i]"),
    ],
    ids=["element", "sum"],
)
def test_wide_atomics_are_refused(metal, call, dtype, line):
    metal()
    with pytest.raises(QuadrantsTypeError) as caught:
        call()
    message = str(caught.value)
    assert f"arch metal has no atomic_add on {dtype}" in message
    assert f'File "{__file__}", line ' in message and line in message


@qd.kernel
def own_cells(x: qd.types.ndarray(dtype=qd.i64, ndim=1), bits: qd.types.ndarray(dtype=qd.i32, ndim=2)):
    for i in x:
        x[i] = x[i] + 3
        x[i] = x[i] * x[i] // 7 - (x[i] << 40)
        bits[i, 0] = qd.math.popcnt(x[i])
        bits[i, 1] = qd.math.clz(x[i])
    qd.loop_config(serialize=True)
    for i in range(5):
        x[0] -= i


def test_wide_numbers_are_computed(metal):
    metal()
    x, bits = np.arange(-300, 300, dtype=np.int64) * 10_000_019, np.zeros((600, 2), np.int32)
    y, expected = x.copy(), bits.copy()
    own_cells(x, bits)
    qd.init(arch=qd.cpu)
    own_cells(y, expected)
    assert (x == y).all() and (bits == expected).all()


@qd.func
def mix(a, b):
    """Named like a function of Metal."""
    return a + 2 * b


@qd.func
def all(a):
    return mix(a, a)


@qd.kernel
def with_words_of_the_language(
    device: qd.i32, thread: qd.types.ndarray(dtype=qd.i32, ndim=1), half: qd.types.ndarray(dtype=qd.i32, ndim=1)
) -> qd.i32:
    vertex, fragment, metal, fast, uint, float4 = 1, 2, 3, 4, 5, 6
    simd_shuffle, clamp, any, ballot = 7, 8, 9, 10
    total = 0
    for constant in range(device):
        kernel = mix(thread[constant], vertex)
        threadgroup = all(kernel) + any + ballot + simd_shuffle + clamp
        half[constant] = threadgroup + fragment + metal + fast + uint + float4
        total += 3
    return total


def test_words_of_the_language_are_names_too(metal):
    metal()
    x, out = np.arange(300, dtype=np.int32), np.zeros(300, np.int32)
    assert with_words_of_the_language(300, x, out) == 900
    assert (out == 3 * (x + 2) + 54).all()


@pytest.mark.parametrize("dtype", [qd.i32, qd.u32, qd.f32, qd.f16, qd.i8, qd.u8, qd.i16, qd.u16])
def test_atomics_of_every_width(metal, dtype):
    real = dtype in (qd.f32, qd.f16)

    @qd.kernel
    def update(x: qd.template(), old: qd.template()):
        for i in range(500):
            value = qd.cast(i % 100, dtype)
            qd.atomic_add(x[0], qd.cast(1, dtype))
            qd.atomic_sub(x[1], qd.cast(1, dtype))
            qd.atomic_max(x[2], value)
            qd.atomic_min(x[3], value)
            old[i] = qd.atomic_add(x[7], qd.cast(1, dtype))
            if i % 50 == 0:
                qd.atomic_mul(x[4], qd.cast(2, dtype))
            if qd.static(not real):
                qd.atomic_or(x[5], value)
                qd.atomic_xor(x[6], value)

    def result():
        x, old = qd.field(dtype, shape=8), qd.field(dtype, shape=500)
        x[3] = x[4] = 1
        update(x, old)
        return x.to_numpy(), np.sort(old.to_numpy())

    metal()
    found = result()
    qd.init(arch=qd.cpu)
    expected = result()
    assert (found[0] == expected[0]).all() and (found[1] == expected[1]).all()


@qd.kernel
def large_shared(out: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    qd.loop_config(block_dim=64)
    for i in range(128):
        shared = qd.simt.block.SharedArray((qd.static(SIZES["shared"]),), qd.i32)
        shared[i % 64] = i
        qd.simt.block.sync()
        out[i] = shared[63 - i % 64]


SIZES = {"shared": 8192}


def test_shared_memory_of_a_block_has_an_end(metal, monkeypatch):
    metal()
    out = np.zeros(128, np.int32)
    large_shared(out)
    assert out.tolist() == [*range(63, -1, -1), *range(127, 63, -1)]
    metal()
    monkeypatch.setitem(SIZES, "shared", 8193)
    with pytest.raises(RuntimeError, match="32784 bytes.*32768"):
        large_shared(out)


@qd.real_func
def place() -> qd.i32:
    return qd.simt.block.thread_idx() + 1000 * qd.simt.subgroup.invocation_id()


@qd.real_func
def through_another(x: qd.i32) -> qd.i32:
    return place() + qd.simt.subgroup.shuffle_xor(x, qd.u32(1))


@qd.kernel
def placed(out: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    qd.loop_config(block_dim=64)
    for i in out:
        out[i] = through_another(i * 1_000_000)


def test_functions_know_where_the_thread_is(metal):
    metal()
    out = np.zeros(128, np.int32)
    placed(out)
    i = np.arange(128)
    assert (out == i % 64 + 1000 * (i % 32) + (i ^ 1) * 1_000_000).all()


@qd.kernel
def asserted(x: qd.types.ndarray(dtype=qd.f32, ndim=1), n: qd.i32):
    for i in range(n):
        assert x[i] < -4, f"it is {x[i]}, {x[i] * 3} and {i - 7}"


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, -3.25, 1e-3, 3.4028235e38, 1.1754944e-38, float("inf"), 1e-40])
def test_reals_in_messages_are_those_of_the_cpu(metal, value):
    x = np.full(1, value, np.float32)
    metal(debug=True)
    with pytest.raises(AssertionError) as found:
        asserted(x, 1)
    qd.init(arch=qd.cpu, debug=True)
    with pytest.raises(AssertionError) as expected:
        asserted(x, 1)
    assert str(found.value) == str(expected.value)


def test_many_arguments(metal):
    """More than are passed by value."""
    metal()
    fields = [qd.field(qd.f32, shape=4) for _ in range(600)]

    @qd.kernel
    def total(out: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in out:
            for f in qd.static(fields):
                out[i] += f[i]

    for k, f in enumerate(fields):
        f.fill(k % 7)
    out = np.zeros(4, np.float32)
    assert "constant qd_args_total *qd_args [[buffer(0)]]" in total.source(out)
    total(out)
    assert out.tolist() == [sum(k % 7 for k in range(600))] * 4
