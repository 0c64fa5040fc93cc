"""language.md 1: init, reset, sync."""

import os
import subprocess
import sys

import pytest
from language_kit import raises

import quadrants as qd


def third():
    @qd.kernel
    def divide() -> float:
        return 1 / 3

    @qd.kernel
    def big() -> int:
        x = 2**20
        return x * 4096

    return divide(), big()


def test_default_types(init):
    init()
    assert third() == (pytest.approx(1 / 3, abs=1e-7), 0)
    assert third()[0] != 1 / 3
    init(default_fp=qd.f64, default_ip=qd.i64)
    assert third() == (1 / 3, 2**32)

    @qd.kernel
    def derived() -> qd.f64:
        n = 2
        return qd.sqrt(n) + 1 / 3

    assert derived() == pytest.approx(2**0.5 + 1 / 3, abs=1e-15)


@pytest.mark.parametrize("options", [{"default_fp": qd.i32}, {"default_ip": qd.f32}, {"default_ip": qd.i16}])
def test_default_types_refused(init, options):
    with raises(AssertionError):
        init(**options)


def test_unknown_options(init):
    with raises(KeyError, "Unrecognized keyword argument(s) for qd.init"):
        init(nonsense=1)
    with raises(KeyError):
        init(default_up=qd.u32)


def test_required_version(init):
    init(require_version="1.0.0")
    for version in ("1.999.0", "0.1.0", "2.0.0"):
        with raises(Exception):
            init(require_version=version)


@pytest.mark.cpu_only
def test_archs():
    assert qd.cpu in (qd.x64, qd.arm64)
    assert qd.x86_64 is qd.x64
    assert qd.gpu[:4] == [qd.cuda, qd.metal, qd.vulkan, qd.amdgpu]
    assert len({qd.cpu, qd.cuda, qd.amdgpu, qd.metal, qd.vulkan, qd.python}) == 6
    qd.init(arch=[qd.metal, qd.cpu])
    assert qd.cfg.arch == qd.cpu
    qd.init(arch="cpu")
    assert qd.cfg.arch == qd.cpu
    with raises(qd.QuadrantsRuntimeError, "is not supported"):
        qd.init(arch=qd.metal, enable_fallback=False)
    qd.reset()


def test_configuration_and_version(init):
    init(random_seed=7)
    assert qd.cfg.random_seed == 7
    assert len(qd.__version__) == 3 and all(type(part) is int for part in qd.__version__)


def test_lines_on_standard_error(arch_name, arch_environment):
    code = "import quadrants as qd; assert qd.cfg is None; qd.init(enable_fallback=False); assert qd.cfg is not None"
    env = {**os.environ, **arch_environment}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert done.stdout == ""
    assert sum(line.startswith("[Quadrants] version ") for line in lines) == 1
    assert lines[-1] == f"[Quadrants] Starting on arch={getattr(qd, arch_name).name}"


def test_reset_keeps_kernels(init):
    @qd.kernel
    def fill(x: qd.types.ndarray(), v: qd.i32) -> qd.i32:
        for i in x:
            x[i] = v
        return x[0]

    init()
    assert fill(qd.ndarray(qd.i32, shape=(2,)), 3) == 3
    qd.reset()
    hint = "Maybe you forgot to call `qd.init()` first?"

    @qd.kernel
    def plain(v: qd.i32) -> qd.i32:
        return v

    for action in (lambda: plain(1), lambda: qd.field(qd.i32, shape=2), lambda: qd.ndarray(qd.i32, shape=(2,))):
        with raises(qd.QuadrantsRuntimeError, hint):
            action()
    init()
    assert fill(qd.ndarray(qd.i32, shape=(2,)), 4) == 4
    assert plain(5) == 5


def test_objects_of_an_earlier_init(init):
    @qd.kernel
    def read(f: qd.template()) -> qd.i32:
        return f[0]

    @qd.kernel
    def read_array(a: qd.types.ndarray()) -> qd.i32:
        return a[0]

    init()
    field, array = qd.field(qd.i32, shape=2), qd.ndarray(qd.i32, shape=(2,))
    field[0] = 1
    assert read(field) == 1
    init()
    for action in (lambda: read(field), lambda: field[0], lambda: read_array(array)):
        with raises(qd.QuadrantsRuntimeError):
            action()


@pytest.mark.cpu_only
def test_root_and_sync_before_the_first_init():
    code = """
import quadrants as qd
for action in (lambda: qd.root.dense(qd.i, 4), qd.sync):
    try:
        action()
    except qd.QuadrantsRuntimeError as error:
        assert "Please call init() first" in str(error), error
    else:
        raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.runtime(debug=True)
def test_sync_raises_pending_assertions(arch):
    @qd.kernel
    def check(x: qd.i32):
        assert x > 0, "must be positive"

    with raises(qd.QuadrantsAssertionError, "must be positive"):
        check(-1)
        qd.sync()
    check(1)
    qd.sync()


def test_captured_fields_of_an_earlier_init(init):
    init()
    scalar, vector = qd.field(qd.f32, 4), qd.Vector.field(2, qd.f32, 4)
    scalar[0] = vector[0][0] = 1
    init()

    @qd.kernel
    def of_scalar():
        for i in scalar:
            scalar[i] = 1

    @qd.kernel
    def of_vector():
        vector[0] = 1

    for kernel in (of_scalar, of_vector):
        with raises(qd.QuadrantsRuntimeError, "is dead"):
            kernel()


def test_gradients_without_memory_in_kernels(arch):
    scalar = qd.field(qd.f32, 4)

    @qd.kernel
    def write():
        scalar.grad[0] = 1

    with raises(qd.QuadrantsCompilationError, "Gradient scalar.grad has not been placed, check whether"):
        write()


def test_captured_fields_of_a_destroyed_tree(arch):
    builder, x = qd.FieldsBuilder(), qd.field(qd.i32)
    builder.dense(qd.i, 4).place(x)
    tree = builder.finalize()
    y = qd.field(qd.i32, 4)

    @qd.kernel
    def bump(a: qd.template()) -> qd.i32:
        x[0] += 1
        return x[0]

    @qd.kernel
    def other() -> qd.i32:
        y[0] += 1
        return y[0]

    assert (bump(y), other()) == (1, 1)
    tree.destroy()
    with raises(qd.QuadrantsRuntimeError, "is dead"):
        bump(y)
    assert other() == 2
