"""Rules of atomic operations, volatile loads, the clock, bit counts (simt.md 2, 3, 4, 10)."""

import re

import numpy as np
import pytest
import simt_lang_kit as kit

import quadrants as qd

REFUSED = [
    ("qd.atomic_add(f, 1.0)", "cannot use a Field directly", qd.QuadrantsSyntaxError),
    ("qd.atomic_cas(k, 1, 2)", "cannot use a Field directly", qd.QuadrantsSyntaxError),
    ("qd.atomic_add(n, 1)", "non-writable target as the first operand of 'atomic_add'", qd.QuadrantsSyntaxError),
    ("qd.atomic_max(i, 1)", "non-writable target as the first operand of 'atomic_max'", qd.QuadrantsSyntaxError),
    ("qd.atomic_or(k[0] + 1, 1)", "non-writable target as the first operand of 'atomic_or'", qd.QuadrantsSyntaxError),
    ("qd.atomic_min(3, 1)", "non-writable target as the first operand of 'atomic_min'", qd.QuadrantsSyntaxError),
    ("qd.atomic_add(s[0], 1)", "non-writable target as the first operand of 'atomic_add'", qd.QuadrantsSyntaxError),
    ("qd.atomic_add(k[0], y=1)", "by position", qd.QuadrantsTypeError),
    ("qd.atomic_add(b[0], 1)", "u1", qd.QuadrantsTypeError),
    ("qd.atomic_add(v[0], qd.Vector([1.0, 2.0]))", "'atomic_add'", qd.QuadrantsTypeError),
    ("qd.atomic_add(f[0], qd.Vector([1.0, 2.0]))", "'atomic_add'", qd.QuadrantsTypeError),
    ("qd.atomic_and(f[0], 1)", "'atomic_bit_and' requires integer operands, got", qd.QuadrantsTypeError),
    ("qd.atomic_xor(k[0], 1.0)", "'atomic_bit_xor' requires integer operands, got", qd.QuadrantsTypeError),
    ("qd.atomic_cas(f[0], 1, 2)", "'atomic_cas' requires integer operands, got", qd.QuadrantsTypeError),
    ("qd.atomic_cas(k[0], 1, 2.0)", "'atomic_cas' requires integer operands, got", qd.QuadrantsTypeError),
    ("qd.atomic_cas(v[0], 1, 2)", r"tensor \(vector / matrix\) destinations is not supported", qd.QuadrantsTypeError),
    ("z = qd.volatile_load(f)", "cannot pass a Field directly to 'qd.volatile_load'", qd.QuadrantsSyntaxError),
    ("z = qd.volatile_load(n)", "requires an lvalue", qd.QuadrantsSyntaxError),
    ("z = qd.volatile_load(f[0] * 2)", "requires an lvalue", qd.QuadrantsSyntaxError),
    ("z = 3\n        z = qd.volatile_load(z)", "not visible to other threads", qd.QuadrantsTypeError),
    ("k[0] = qd.math.popcnt(f[0])", "'popcnt' takes integral inputs only", qd.QuadrantsTypeError),
    ("k[0] = qd.math.clz(1.0)", "'clz' takes integral inputs only", qd.QuadrantsTypeError),
]


@pytest.mark.parametrize(("line", "message", "kind"), REFUSED)
def test_refused(arch, line, message, kind, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        "import quadrants as qd\n\nf = qd.field(qd.f32, 4)\nk = qd.field(qd.i32, 4)\nb = qd.field(qd.u1, 4)\n"
        "v = qd.Vector.field(3, qd.f32, 4)\ns = qd.Struct.field({'a': qd.f32, 'b': qd.f32}, shape=4)\n\n\n"
        f"@qd.kernel\ndef run(n: qd.i32):\n    for i in range(1):\n        {line}\n"
    )
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with pytest.raises(kind, match=message):
        names["run"](3)


@pytest.mark.parametrize(
    ("op", "new"),
    [("add", 9), ("sub", 3), ("mul", 18), ("min", 3), ("max", 6), ("and", 2), ("or", 7), ("xor", 5), ("exchange", 3)],
)
def test_local_variables(arch, op, new):
    """2.2: an ordinary update that returns the old value, in serial code too."""
    call = getattr(qd, f"atomic_{op}")
    out = qd.field(qd.i32, 4)

    @qd.kernel
    def update():
        x = 6
        out[0] = call(x, 3)
        out[1] = x
        for _ in range(1):
            y = 6
            out[2] = call(y, 3)
            out[3] = y

    update()
    assert list(out.to_numpy()) == [6, new, 6, new]


@pytest.mark.parametrize("dtype", ["i32", "f32", "i64", "f64"])
def test_many_threads_add_to_one_cell(arch, dtype):
    """Behind a condition, so that no reduction takes the place of the atomics. All sums on the way are exact."""
    if dtype in ("i64", "f64") and not qd.is_extension_enabled(qd.extension.data64):
        pytest.skip("this arch has no 64-bit numbers")
    n = 65536
    total, least = qd.field(getattr(qd, dtype), ()), qd.field(qd.f32, ())
    x = kit.array(np.ones(n, np.int32))

    @qd.kernel
    def count(x: qd.types.ndarray()):
        for i in x:
            if x[i] > 0:
                qd.atomic_add(total[None], 1)
                qd.atomic_max(least[None], i)

    count(x)
    assert total[None] == n and least[None] == n - 1


def test_slots(arch):
    """2.2: old values are all different; the result is of the type of the target."""
    slots = qd.field(qd.i32, 256)
    count = qd.field(qd.i32, ())

    @qd.kernel
    def take():
        for i in range(256):
            slots[i] = qd.atomic_add(count[None], 1.9)

    take()
    assert sorted(slots.to_numpy()) == list(range(256)) and count[None] == 256


@pytest.mark.parametrize(("op", "extreme"), [("min", np.inf), ("max", -np.inf)])
def test_extrema_of_infinities_and_nan(arch, op, extreme):
    """2.2, 2.4: reductions are seeded by infinities; a NaN loses against a number, on either side."""
    call = getattr(qd, f"atomic_{op}")
    out = qd.field(qd.f32, 4)
    x = kit.array(np.full(100, extreme, np.float32))

    @qd.kernel
    def reduce(x: qd.types.ndarray(), nan: qd.f32):
        acc = qd.f32(extreme)
        for i in range(x.shape[0]):
            call(acc, x[i])
            call(out[0], x[i])
        out[1] = acc
        for _ in range(1):
            call(out[2], 5.0)
            call(out[3], nan)

    out[0], out[2], out[3] = extreme, np.nan, 7.0
    reduce(x, np.nan)
    assert list(out.to_numpy()) == [extreme, extreme, 5.0, 7.0]


def test_volatile_loads(arch):
    """3: the value of a plain read, of scalars, vectors and members; the text has the access in the loop."""
    f = qd.field(qd.f16, 4)
    v = qd.Vector.field(3, qd.f64, 4)
    s = qd.Struct.field({"a": qd.i64, "b": qd.u8}, shape=4)
    out = kit.array(np.zeros(6))
    flag = kit.array(np.ones(4, np.int32))
    f[1], v[2], s[3].a, s[3].b = 1.5, [1, 2, 3], 2**40, 200

    @qd.kernel
    def read(flag: qd.types.ndarray(), out: qd.types.ndarray()):
        for i in range(1):
            rounds = 0
            while qd.volatile_load(flag[i]) == 0:
                rounds += 1
            out[0] = qd.volatile_load(f[i + 1])
            w = qd.volatile_load(v[i + 2])
            out[1] = w.sum()
            out[2] = qd.volatile_load(v[2].y)
            out[3] = qd.volatile_load(s[3].a)
            out[4] = qd.volatile_load(s[3].b)
            out[5] = rounds

    read(flag, out)
    assert list(out.to_numpy()) == [1.5, 6, 2, 2**40, 200, 0]
    loop = re.split(r"while \((?:1|true|qd_ended_1 == [^\n]*)\)", read.source(flag, out))[1].split("}")[0]
    assert "volatile" in loop


@pytest.mark.runtime(exclude=("opencl", "metal", "vulkan"))  # which have no clock
def test_the_clock_runs(arch):
    """10.2"""
    out = qd.field(qd.i64, 2)

    @qd.kernel
    def measure():
        for _ in range(1):
            begin = qd.clock_counter()
            x = 0.0
            for k in range(1000):
                x += qd.sin(k * 1.0)
            out[1] = qd.i64(x > 1e9)
            out[0] = qd.clock_counter() - begin

    measure()
    assert out[0] > 0


def test_what_the_device_says_of_itself(arch):
    """10: right after init, before any kernel."""
    limit = qd.lang.impl.get_max_shared_memory_bytes(is_lowerbound_ok=True)
    if arch is qd.cuda:
        assert qd.clock_freq_hz() > 1e6 and qd.lang.impl.get_cuda_compute_capability() >= 50 and limit >= 48 * 1024
        return
    if arch in (qd.opencl, qd.vulkan):
        assert limit >= 32768
    else:
        assert limit == {"amdgpu": 65536, "metal": 32768}.get(arch.name, 0)
    with pytest.raises(NotImplementedError):
        qd.clock_freq_hz()
    with pytest.raises(RuntimeError):
        qd.lang.impl.get_cuda_compute_capability()
    if arch is qd.cpu:
        with pytest.raises(RuntimeError, match=f"get_max_shared_memory_bytes not implemented for arch {arch.name}"):
            qd.lang.impl.get_max_shared_memory_bytes(is_lowerbound_ok=False)


def test_bit_counts_are_signed(arch):
    """4: results behave as i32 whatever the operand is."""
    out = qd.field(qd.i32, 5)

    @qd.kernel
    def count(zero: qd.u32, wide: qd.u64):
        out[0] = qd.math.ffs(zero) - 1
        out[1] = 31 - qd.math.clz(wide)
        out[2] = qd.math.popcnt(qd.i64(-1))
        out[3] = qd.math.ffs(qd.u32(0x80000000))
        out[4] = qd.math.clz(qd.i32(-5))

    count(0, 0)
    assert list(out.to_numpy()) == [-1, -33, 64, 32, 0]
