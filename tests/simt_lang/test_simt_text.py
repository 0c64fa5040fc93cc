"""The text of kernels whose threads work together, and what tells the launch about them."""

import numpy as np
import pytest

import quadrants as qd
from quadrants import compile as pipeline
from quadrants.dumps import Observer
from quadrants.emit import dialects
from quadrants.emit.render import render
from quadrants.errors import QuadrantsRuntimeError
from quadrants.lang import kernel_hook
from quadrants.lang.simt import block, subgroup
from quadrants.toolchain import nvrtc
from quadrants.toolchain.errors import CompilerNotFound

pytestmark = pytest.mark.cpu_only
X = np.zeros(64, np.float32)
CUDA = dialects.get("cuda")


@pytest.fixture(autouse=True)
def runtime():
    qd.init(arch=qd.cpu)
    yield
    qd.reset()


def rendered(kernel, *args):
    """The module and what was rendered of it for CUDA."""
    options = pipeline.compile_options(pipeline.session.require_runtime()) | {"arch": "cuda"}
    traced = pipeline.trace(kernel, args, options, Observer(kernel.fn.__name__, options), CUDA)
    return traced.module, render(traced.module, CUDA, options)


@qd.func
def with_its_own(x, i):
    scratch = block.SharedArray((64,), qd.f32)
    scratch[i % 64] = x
    block.sync()
    return scratch[0]


@qd.func
def plain(x):
    return subgroup.reduce_all_add_tiled(x, 4)


@qd.kernel
def three_tasks(x: qd.types.ndarray()):
    qd.loop_config(block_dim=64)
    for i in range(64):
        small = block.SharedArray((64, 2), qd.f16)
        table = block.SharedArray((3,), qd.math.vec3)
        small[i, 0] = x[i]
        table[1].x = 2.0
        x[i] = with_its_own(x[i], i) + with_its_own(1.0, i) + plain(x[i])
    for i in range(64):
        x[i] += 1
    qd.loop_config(block_dim=64)
    for i in range(64):
        big = block.SharedArray((20000,), qd.f32)
        more = block.SharedArray((1,), qd.u8)
        big[i] = x[i]
        more[0] = 1
        qd.simt.grid.mem_fence()


def test_shared_arrays_are_declared_at_the_top_of_their_task():
    _, out = rendered(three_tasks, X)
    first, second, third = (out.text.split(f"\nthree_tasks_{k}_range_for(")[1].split("\n}")[0] for k in range(3))
    for line in ("qd_half small[128];", "qd_vec3_f32 table[3];", "float scratch[64];", "float scratch_1[64];"):
        assert f"    __shared__ {line}\n" in first
    assert "__shared__" not in second and "__syncthreads" not in second
    assert "extern __shared__ __align__(16) unsigned char qd_shared[];" in third
    assert "float *const big = (float *)(qd_shared + 0);" in third
    assert "uint8_t *const more = (uint8_t *)(qd_shared + 80000);" in third
    assert first.count("__syncthreads();") == 2
    # What touches no shared memory is a function of its own.
    assert "float plain(" in out.text and "with_its_own(" not in out.text


def test_the_launch_knows():
    module, out = rendered(three_tasks, X)
    assert [t.collective for t in module.tasks] == [True, False, False]
    assert [t.shared_bytes for t in module.tasks] == [256 + 48 + 256 + 256, 0, 80016]
    assert [launch.shared_bytes for launch in out.launches] == [0, 0, 80016]


def test_only_what_is_used_is_in_the_text():
    _, out = rendered(three_tasks, X)
    assert "qd_reduce_all_add_f32_16" in out.text and "qd_shuffle_xor_f32_16" in out.text
    for name in ("ballot", "inclusive", "qd_shuffle_f32", "segmented"):
        assert name not in out.text


@qd.kernel
def factor(A: qd.types.ndarray()):
    qd.loop_config(block_dim=32)
    for i in range(64):
        t = qd.simt.Tile32x32.eye(dtype=qd.f64)
        t[:] = A[i // 32, 0:32, 0:32]
        t.cholesky_(1e-10)
        A[i // 32, 0:32, 0:32] = t


def test_tiles_stay_in_registers():
    """Loops over registers are unrolled: the assembly has no memory of its own for a thread."""
    _, out = rendered(factor, np.zeros((2, 40, 40)))
    assert len(out.text.splitlines()) < 130
    try:
        assembly = nvrtc.compile(out.text, "factor", "compute_90").decode()
    except CompilerNotFound as error:
        pytest.skip(f"needs NVRTC: pip install nvidia-cuda-nvrtc ({error})")
    assert ".local" not in assembly and assembly.count("shfl.sync") > 32 * 31 / 2


def test_everything_compiles_for_a_device():
    _, out = rendered(three_tasks, X)
    try:
        assert b"three_tasks_2_range_for" in nvrtc.compile(out.text, "three_tasks", "sm_90")
    except CompilerNotFound as error:
        pytest.skip(f"needs NVRTC: pip install nvidia-cuda-nvrtc ({error})")


def test_volatile_text_on_the_cpu():
    f = qd.field(qd.i32, 4)

    @qd.kernel
    def wait():
        for _ in range(1):
            while qd.volatile_load(f[2]) == 0:
                pass

    assert "*(const volatile int32_t *)&f[2]" in wait.source().split("while (1)")[1]


def test_on_the_python_arch(monkeypatch):
    """11: nothing of qd.simt is there."""
    monkeypatch.setattr(kernel_hook, "python_arch", lambda: True)
    calls = (
        block.sync, subgroup.sync, subgroup.group_size, subgroup.elect, qd.simt.grid.mem_fence, qd.simt.Tile16x16.eye,
        lambda: subgroup.lanemask_lt(3), lambda: subgroup.reduce_add_tiled(1, 0), lambda: block.SharedArray(1, qd.i32),
        lambda: block.reduce_add(1, 32, qd.i32), lambda: qd.simt.warp.sync(1), lambda: subgroup.all_true_tiled(1, 0),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(QuadrantsRuntimeError, match="python arch"):
            call()
