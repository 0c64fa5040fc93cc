"""Kernels on a device with OpenCL."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from opencl_device import is_processor

import quadrants as qd
from quadrants import arch
from quadrants._ext.core import DeviceBuffer
from quadrants.backends import registry
from quadrants.toolchain import opencl as compiler
from quadrants.toolchain.errors import CompileError

pytestmark = pytest.mark.cpu_only


@qd.func
def mix(a, b):
    """Named like a function of OpenCL C."""
    return a + 2 * b


@qd.kernel
def saxpy(n: qd.i32, a: qd.f32, x: qd.types.ndarray(), y: qd.types.ndarray()) -> qd.f32:
    total = 0.0
    for i in range(n):
        y[i] = mix(y[i], a * x[i])
        total += y[i]
    return total


def test_a_sum_goes_through_the_frame(opencl):
    opencl()
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    total = saxpy(1000, 0.5, x, y)
    assert (y == 1 + x).all() and total == y.sum()
    assert saxpy(0, 0.5, x, y) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which libraries are loaded")
def test_launches_go_through_the_loader_of_pyopencl(opencl):
    opencl()
    saxpy(1, 0.5, np.ones(1, np.float32), np.ones(1, np.float32))
    with open("/proc/self/maps") as maps:
        loaders = {line.split()[-1] for line in maps if "libOpenCL" in line}
    assert len(loaders) == 1


@pytest.mark.parametrize("dtype", [qd.i32, qd.u32, qd.i64, qd.u64, qd.f32, qd.f64, qd.i8, qd.u16])
def test_atomics_of_every_width(opencl, dtype):
    opencl()
    real = dtype in (qd.f32, qd.f64)
    x = qd.field(dtype, shape=9)

    @qd.kernel
    def update():
        for i in range(1000):
            value = qd.cast(i % 100, dtype)
            qd.atomic_add(x[0], qd.cast(1, dtype))
            qd.atomic_sub(x[1], qd.cast(1, dtype))
            qd.atomic_max(x[2], value)
            qd.atomic_min(x[3], -value if qd.static(dtype not in (qd.u32, qd.u64, qd.u16)) else 7 + value)
            if qd.static(not real):
                qd.atomic_or(x[4], value)
                qd.atomic_xor(x[5], value)
                qd.atomic_and(x[6], value)

    x[3] = x[6] = 127
    update()
    info = np.zeros(1000, x.to_numpy().dtype)
    expected = [info.dtype.type(0)] * 9
    with np.errstate(over="ignore"):
        expected[0] = np.ones_like(info).sum(dtype=info.dtype)
        expected[1] = -expected[0] if real else (info - 1).sum(dtype=info.dtype)
    expected[2] = info.dtype.type(99)
    expected[3] = info.dtype.type(7 if info.dtype.kind == "u" else -99)
    expected[6] = info.dtype.type(127 if real else 0)
    if not real:
        expected[4], expected[5] = info.dtype.type(127), info.dtype.type(np.bitwise_xor.reduce(np.arange(1000) % 100))
    assert x.to_numpy().tolist() == [v.item() for v in expected]


@qd.kernel
def reversed_blocks(out: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    qd.loop_config(block_dim=64)
    for i in range(256):
        shared = qd.simt.block.SharedArray((64,), qd.i32)
        shared[i % 64] = i
        qd.simt.block.sync()
        out[i] = shared[63 - i % 64]


def test_threads_of_a_block_share_memory(opencl):
    opencl()
    out = np.zeros(256, np.int32)
    reversed_blocks(out)
    assert (out.reshape(4, 64) == np.arange(256).reshape(4, 64)[:, ::-1]).all()


def test_random_numbers_are_those_of_the_cpu(opencl):
    @qd.kernel
    def draw(x: qd.types.ndarray(dtype=qd.f64, ndim=1)):
        for i in x:
            x[i] = qd.random(qd.f64) + qd.random(qd.i32)

    found = []
    for start in (opencl, lambda **options: qd.init(arch=qd.cpu, **options)):
        start(random_seed=5)
        x = np.zeros(100)
        draw(x)
        found.append(x)
    assert (found[0] == found[1]).all() and len(set(found[0])) == 100


def test_a_failed_check_ends_the_thread_alone(opencl):
    opencl(debug=True)
    x = qd.field(qd.i32, shape=100)

    @qd.func
    def checked(i):
        assert i != 40, f"no {i}"
        return i

    @qd.kernel
    def fill(n: qd.i32):
        for i in range(n):
            x[i] = 1 + checked(i)

    with pytest.raises(qd.QuadrantsAssertionError, match="no 40"):
        fill(100)
    found, wanted = x.to_numpy(), np.arange(1, 101)
    assert found[40] == 0 and (found[:40] == wanted[:40]).all()
    # On a processor the thread has iterations behind that, too.
    assert ((found == wanted) | (found == 0)).all() and (is_processor() or (found[41:] == wanted[41:]).all())
    fill(30)


@qd.kernel
def sum_of_checked(n: qd.i32, x: qd.types.ndarray(dtype=qd.i32, ndim=1)) -> qd.i32:
    total = 0
    for i in range(n):
        for j, k in qd.ndrange(3, 3):
            while x[i] > 0:
                x[i] -= 1
                assert i != 700 or j + k < 3, f"at {i} {j} {k}"
                total += 1
            x[i] = 1
    return total


def test_a_thread_that_failed_meets_the_others_behind_its_loops(opencl):
    opencl(debug=True)
    assert sum_of_checked(600, qd.ndarray(qd.i32, (1000,))) == 600 * 8
    with pytest.raises(qd.QuadrantsAssertionError, match="at 700 1 2"):
        sum_of_checked(1000, qd.ndarray(qd.i32, (1000,)))
    assert sum_of_checked(10, qd.ndarray(qd.i32, (1000,))) == 80


@qd.func
def left_neighbour(shared: qd.template(), i):
    """What the thread before wrote, which all wait for."""
    qd.simt.block.sync()
    assert i != 70, f"at {i}"
    found = shared[(i + 63) % 64]
    qd.simt.block.sync()
    return found


@qd.kernel
def rotated(n: qd.i32, x: qd.types.ndarray(dtype=qd.i32, ndim=1), out: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    qd.loop_config(block_dim=64)
    for i in range(n):
        shared = qd.simt.block.SharedArray((64,), qd.i32)
        for round in range(3):
            shared[i % 64] = x[i] + round
            before = left_neighbour(shared, i)
            if i % 64 > 0:
                out[i] += before


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("n", [64, 65, 128, 150])
def test_threads_wait_for_one_another_whether_or_not_they_have_work(opencl, n, debug):
    opencl(debug=debug)
    x, out = np.arange(200, dtype=np.int32), np.zeros(200, np.int32)
    expected = np.where((x % 64 > 0) & (x < n), 3 * (x - 1) + 3, 0)
    if debug and n > 70:
        with pytest.raises(qd.QuadrantsAssertionError, match="at 70"):
            rotated(n, x, out)
        expected[70] = 0
        assert x[70] == 70 and (np.delete(out, 71) == np.delete(expected, 71)).all()
    else:
        rotated(n, x, out)
        assert (out == expected).all()


@qd.kernel
def large_shared(out: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    qd.loop_config(block_dim=64)
    for i in range(128):
        first = qd.simt.block.SharedArray((10_000,), qd.i32)
        second = qd.simt.block.SharedArray((64,), qd.i32)
        first[9_936 + i % 64] = i
        second[i % 64] = -i
        qd.simt.block.sync()
        out[i] = first[9_999 - i % 64] + second[63 - i % 64] + qd.simt.block.sync_count_nonzero(i % 4)


def test_shared_memory_that_the_launch_gives(opencl):
    opencl()
    if registry.device().attribute("max_shared_bytes") < 41_000:
        pytest.skip("the device has less shared memory")
    out = np.zeros(128, np.int32)
    large_shared(out)
    assert out.tolist() == [48] * 128


def test_subgroups_are_refused(opencl):
    @qd.kernel
    def lanes(x: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        for i in x:
            x[i] = qd.simt.subgroup.shuffle(i, qd.u32(1))

    opencl()
    with pytest.raises(qd.QuadrantsTypeError, match="arch opencl has no subgroups"):
        lanes(np.zeros(4, np.int32))

    @qd.kernel
    def tiles(x: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        for i in x:
            t = qd.simt.Tile16x16.zeros()
            x[i] = qd.i32(t.r[0])

    with pytest.raises(qd.QuadrantsSyntaxError, match=r"subgroups, .* Current arch is Arch.opencl, which has none"):
        tiles(np.zeros(4, np.int32))


def test_memory_is_used_again(opencl):
    opencl()
    places = [DeviceBuffer(registry.device(), 1 << 20).ptr for _ in range(100)]
    assert len(set(places)) == 1 and places[0] % 256 == 0
    large = [DeviceBuffer(registry.device(), nbytes) for nbytes in (40 << 20, 300, 40 << 20, 1)]
    for k, buffer in enumerate(large):
        buffer.store(buffer.nbytes - 1, bytes([k + 1]))
    assert [buffer.fetch(buffer.nbytes - 1, 1)[0] for buffer in large] == [1, 2, 3, 4]
    del buffer, large[0]
    saxpy(8, 0.5, np.zeros(8, np.float32), np.zeros(8, np.float32))  # the driver must not hear of that block any more


def test_a_text_with_an_error_is_told_with_the_words_of_the_driver(opencl):
    opencl()
    found = compiler.chosen()
    with pytest.raises(CompileError, match="nowhere") as caught:
        compiler.compile("kernel void f(global int *x) { x[0] = nowhere; }", "f", found.chip)
    assert caught.value.kernel == "f" and caught.value.dialect == "opencl"


def test_warnings_of_the_driver_are_no_business_of_the_user(opencl, capfd):
    opencl()
    chip = compiler.chosen().chip
    compiler.compile("#warning of this\nkernel void f(global int *x) { x[0] = 1; }", "f", chip, compiler.flags(chip))
    out = capfd.readouterr()
    assert "warning" not in out.err + out.out


def test_a_binary_that_the_driver_does_not_take_is_none(opencl):
    opencl()
    chip = compiler.chosen().chip
    assert compiler.load(b"not a binary", chip) is None
    binary = compiler.compile("kernel void f(global int *x) { x[0] = 1; }", "f", chip)
    assert compiler.load(binary, chip) is not None


def test_a_device_that_is_not_there_is_refused(monkeypatch, opencl):
    monkeypatch.setenv("QD_OPENCL_DEVICE", "9:9")
    with pytest.raises(ValueError, match="should be one of <platform>:<device>: 0:0"):
        compiler.chosen()
    with pytest.raises(ValueError, match="Invalid QD_OPENCL_DEVICE=9:9"):
        qd.init(arch=[qd.opencl, qd.cpu])


def test_a_number_of_no_device_is_refused(monkeypatch, opencl):
    for variable in ("QD_DEVICE", "QD_VISIBLE_DEVICE", "QD_OPENCL_DEVICE"):
        monkeypatch.delenv(variable, raising=False)
    count = len(compiler.devices())
    with pytest.raises(ValueError, match=rf"Invalid device=7, should be a number below {count}: 0 \("):
        opencl(device=7)
    monkeypatch.setenv("QD_VISIBLE_DEVICE", "7")
    with pytest.raises(ValueError, match=f"Invalid QD_VISIBLE_DEVICE=7, should be a number below {count}"):
        opencl()
    monkeypatch.setenv("QD_VISIBLE_DEVICE", "first")
    with pytest.raises(ValueError, match="Invalid QD_VISIBLE_DEVICE=first, should be the number of a device"):
        opencl()
    opencl(device=0)


def test_a_processor_is_no_gpu(opencl):
    if not compiler.chosen().is_cpu:
        pytest.skip("there is a GPU")
    assert arch.is_arch_supported(qd.opencl) and not arch.is_arch_supported(qd.opencl, among=True)


@qd.real_func
def factorial(n: qd.i32) -> qd.i32:
    if n < 2:
        return 1
    return n * factorial(n - 1)


def test_recursion_is_refused_with_the_calls(opencl):
    @qd.kernel
    def run(n: qd.i32) -> qd.i32:
        return factorial(n)

    opencl()
    with pytest.raises(
        qd.QuadrantsCompilationError, match=r"recursive call of 'factorial' \(factorial -> factorial\)"
    ) as told:
        run(3)
    assert 'test_opencl_runs.py", line' in str(told.value) and "return n * factorial(n - 1)" in str(told.value)
    assert "functions of arch opencl" in str(told.value) and "qd.func" not in str(told.value)


@qd.func
def halved(x: qd.f16) -> qd.f16:
    return x / 3


@qd.kernel
def with_halves(
    n: qd.i32, x: qd.types.ndarray(dtype=qd.f16, ndim=1), out: qd.types.ndarray(dtype=qd.f16, ndim=2)
) -> qd.f16:
    total, largest = qd.f16(0.0), qd.f16(-1.0)
    for i in range(n):
        v = qd.Vector([x[i], -x[i], qd.f16(0.1)])
        out[0, i] = halved(x[i]) * x[i] + 1 if x[i] > 0.5 else -x[i]
        out[1, i] = v.norm_sqr() + qd.sqrt(v[0])
        out[2, i] = qd.random(qd.f16)
        out[3, i] += qd.f16(i) if v.any() else qd.f16(0.0)
        out[4, 0] += x[i] * 0 + 0.25
        qd.atomic_max(largest, x[i])
        total += qd.f16(0.5)
    return total + largest


def test_halves_are_those_of_the_cpu(opencl):
    found = []
    for start in (opencl, lambda **options: qd.init(arch=qd.cpu, **options)):
        start(random_seed=5, fast_math=False)
        x, out = np.linspace(0, 1, 200, dtype=np.float16), np.ones((5, 200), np.float16)
        found.append((with_halves(200, x, out), out))
    assert found[0][0] == found[1][0] == 101
    assert (found[0][1] == found[1][1]).all() and len(set(found[0][1][2])) > 100


@qd.kernel
def with_words_of_the_language(
    M_PI: qd.i32, barrier: qd.types.ndarray(dtype=qd.i32, ndim=1), read_only: qd.types.ndarray(dtype=qd.i32, ndim=1)
) -> qd.i32:
    INT_MAX = 0
    for uchar in range(M_PI):
        float4 = barrier[uchar] + 1
        get_global_id = float4 * 2
        image2d_t = qd.Struct(CHAR_BIT=get_global_id, FLT_MAX=3)
        for FLT_DIG in range(2):
            read_only[uchar] += image2d_t.CHAR_BIT + FLT_DIG
        INT_MAX += image2d_t.FLT_MAX
    return INT_MAX


def test_words_of_the_language_are_names_too(opencl):
    opencl()
    x, out = np.arange(300, dtype=np.int32), np.zeros(300, np.int32)
    assert with_words_of_the_language(300, x, out) == 900
    assert (out == 4 * (x + 1) + 1).all()


@qd.func
def as_int(a, b):
    return a * b + 1


@qd.real_func
def kernel_exec(a: qd.i32) -> qd.i32:
    return a + 2


@qd.kernel
def with_macros_of_the_driver(cl_khr_fp64: qd.i32, CL_VERSION_1_2: qd.types.ndarray(dtype=qd.i32, ndim=1)) -> qd.i32:
    convert_int_sat, as_uint4 = 0, qd.Struct(CL_VERSION_1_1=1, CLK_FILTER_LINEAR=2)
    for POCL_DEVICE_ADDRESS_BITS in range(cl_khr_fp64):
        CL_VERSION_1_2[POCL_DEVICE_ADDRESS_BITS] += as_uint4.CL_VERSION_1_1
        convert_int_sat += as_int(POCL_DEVICE_ADDRESS_BITS, 2) + kernel_exec(as_uint4.CLK_FILTER_LINEAR)
    return convert_int_sat


def test_macros_of_the_driver_are_names_too(opencl):
    opencl()
    x = np.arange(5, dtype=np.int32)
    assert with_macros_of_the_driver(5, x) == sum(2 * k + 1 + 4 for k in range(5))
    assert (x == np.arange(5) + 1).all()


@qd.func
def advance(x: qd.template(), v: qd.template(), k):
    assert k < 100
    for j in range(k):
        x += j
        v[1] += x


@qd.kernel
def advanced(n: qd.i32, out: qd.types.ndarray(dtype=qd.i32, ndim=1)) -> qd.i32:
    total, v = 0, qd.Vector([0, 0])
    for i in range(n):
        total += i
        v[0] += 1
    k = 0
    while k < n:
        advance(total, v, k)
        k += 1
    for i in range(n):
        out[i] = total + v[1] - v[0]
    return total


@pytest.mark.parametrize("debug", [False, True])
def test_variables_that_all_threads_see_are_handed_over_by_reference(opencl, debug):
    found = []
    for start in (opencl, lambda **options: qd.init(arch=qd.cpu, **options)):
        start(debug=debug)
        out = np.zeros(20, np.int32)
        found.append((advanced(20, out), out.tolist()))
    assert found[0] == found[1] and found[0][0] == 190 + sum(sum(range(k)) for k in range(20))


@qd.kernel
def extremes(
    x: qd.types.ndarray(dtype=qd.f32, ndim=1),
    low: qd.types.ndarray(dtype=qd.f32, ndim=2),
    high: qd.types.ndarray(dtype=qd.f32, ndim=2),
):
    for i, j in low:
        qd.atomic_min(low[i, j], x[j])
        qd.atomic_max(high[i, j], x[j])


def test_least_and_largest_of_all_kinds_of_reals(opencl):
    opencl()
    x = np.array([0, -0.0, 1, -1, 2.5, -2.5, 1e-40, -1e-40, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)
    low, high = (np.repeat(x[:, None], len(x), axis=1) for _ in range(2))
    there, new = np.meshgrid(x, x, indexing="ij")
    extremes(x, low, high)
    assert np.array_equal(low, np.fmin(there, new), equal_nan=True)
    assert np.array_equal(high, np.fmax(there, new), equal_nan=True)


@pytest.mark.parametrize("block_dim", [1, 8, 16, 32, 128])
def test_blocks_of_any_size_fold_all_threads(opencl, block_dim):
    @qd.kernel
    def fold(n: qd.i32, x: qd.types.ndarray(dtype=qd.f32, ndim=1)) -> qd.types.vector(3, qd.f32):
        total, least, largest = 0.0, 1e9, -1e9
        qd.loop_config(block_dim=block_dim)
        for i in range(n):
            total += x[i]
            qd.atomic_min(least, x[i])
            qd.atomic_max(largest, x[i])
        return qd.Vector([total, least, largest])

    opencl()
    x = np.arange(-300, 700, dtype=np.float32)
    for n in (1, 7, 333, 1000):
        assert fold(n, x).to_list() == [x[:n].sum(), -300, x[n - 1]]


def test_a_processor_does_neighbouring_iterations(opencl):
    """It walks through memory in order best; other devices have the loads of several in flight together."""
    opencl()
    x, y = np.zeros(8, np.float32), np.zeros(8, np.float32)

    @qd.kernel
    def add(x: qd.types.ndarray(dtype=qd.f32, ndim=1), y: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in x:
            y[i] += x[i]

    add(x, y)
    text = add.source(x, y)
    assert ("chunk, blocks of 1" in text) is is_processor()
    assert ("iterations a thread" in text) is not is_processor()
    assert "4 iterations a thread" in add.source(x, y, arch="opencl")
