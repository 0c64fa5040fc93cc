"""What `qd.simt` refuses, on devices and on the CPU (simt.md 5, 6, 7, 11)."""

import warnings

import numpy as np
import pytest
import simt_lang_kit as kit

import quadrants as qd
from quadrants.errors import QuadrantsIndexError
from quadrants.lang.simt import block, subgroup, warp

HEAD = """
import quadrants as qd
from quadrants.lang.simt import block, grid, subgroup, warp

x = qd.field(qd.f32, 64)
k = qd.field(qd.i32, 64)

@qd.func
def add(a, b):
    return a + b

@qd.kernel
def run(n: qd.i32):
    qd.loop_config(block_dim=32)
    for i in range(64):
        {line}
"""


def kernel(line: str, tmp_path):
    """A kernel with `line` in a loop of blocks of 32 threads."""
    path = tmp_path / "program.py"
    path.write_text(HEAD.format(line=line))
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["run"]


def refused(line: str, message: str, tmp_path, kind=qd.QuadrantsCompilationError):
    run = kernel(line, tmp_path)
    with pytest.raises(kind, match=message):
        run(3)


DEVICE = [
    # Operands of subgroup operations.
    ("x[i] = subgroup.shuffle(x[i], x[i])", "expected u32 for argument #2, but got f32", qd.QuadrantsTypeError),
    ("subgroup.shuffle(qd.Vector([1.0, 2.0]), qd.u32(1))", "takes a scalar", qd.QuadrantsTypeError),
    ("subgroup.shuffle(qd.cast(i, qd.i8), qd.u32(1))", "'i8' is provided", qd.QuadrantsTypeError),
    ("subgroup.broadcast(qd.cast(i, qd.i8), qd.u32(1))", "subgroup.broadcast takes", qd.QuadrantsTypeError),
    ("subgroup.ballot(x[i])", "integer predicate", qd.QuadrantsTypeError),
    ("subgroup.inclusive_and(x[i])", "takes integers only", qd.QuadrantsTypeError),
    ("subgroup.reduce_add_tiled(x[i], n)", "known at compile time", qd.QuadrantsTypeError),
    ("subgroup.reduce_add_tiled(x[i], 7)", "larger than a subgroup", qd.QuadrantsCompilationError),
    ("subgroup.reduce_add_tiled(x[i], -1)", "must not be negative", qd.QuadrantsCompilationError),
    ("subgroup.segmented_reduce_add_tiled(x[i], 1, 7)", "AssertionError", qd.QuadrantsCompilationError),
    ("subgroup.ballot_first_n(i, 33)", "1 .. 32", qd.QuadrantsCompilationError),
    # Shared arrays.
    ("s = block.SharedArray((4.0,), qd.f32)", "ValueError: .*must be an integer or a tuple of integers", None),
    ("s = block.SharedArray(n, qd.f32)", r"integers, .* not a value known only at run time; .*qd\.template", None),
    ("s = block.SharedArray((4, n), qd.f32)", "must be an integer .* not a value known only at run time", None),
    ("s = block.SharedArray((0,), qd.f32)", "ValueError: .*positive", None),
    ("s = block.SharedArray((-3, 4), qd.f32)", "ValueError: .*positive", None),
    ("s = block.SharedArray(4, float)", "dtype must be a scalar dtype", qd.QuadrantsTypeError),
    ("s = block.SharedArray(4, qd.types.struct(a=qd.f32))", "dtype must be", qd.QuadrantsTypeError),
    ("block.SharedArray((4, 4), qd.f32)[1] = 2", "Expected 2 indices, got 1.", QuadrantsIndexError),
    ("block.SharedArray((4,), qd.f32)[-1] = 2", "Negative indices are not supported", qd.QuadrantsSyntaxError),
    ("block.SharedArray((4,), qd.f32)[1.5] = 2", "indices must be integers", qd.QuadrantsTypeError),
    # Folds of blocks.
    ("block.reduce_add(x[i], 50, qd.f32)", "block.reduce_add: block_dim must be a positive multiple", None),
    ("block.reduce(x[i], 0, add, qd.f32)", "block.reduce: block_dim must be a positive multiple of", None),
    ("block.inclusive_min(x[i], n, qd.f32)", "known at compile time", qd.QuadrantsTypeError),
    ("block.exclusive_max(x[i], 64, qd.f16)", "dtype must be one of", qd.QuadrantsTypeError),
    # Volatile loads.
    ("x[i] = qd.volatile_load(x)", "cannot pass a Field directly to 'qd.volatile_load'", qd.QuadrantsSyntaxError),
    ("x[i] = qd.volatile_load(n)", "requires an lvalue", qd.QuadrantsSyntaxError),
    ("x[i] = qd.volatile_load(x[i] + 1)", "requires an lvalue", qd.QuadrantsSyntaxError),
    # Names.
    ("block.nothing()", "AttributeError", None),
]


# Where a subgroup has 32 lanes or more.
RADIX = [
    ("block.radix_rank_match_atomic_or(qd.u32(1), 32, 5, 0, 6, k, k)", "AssertionError.*num_bits", None),
    ("block.radix_rank_match_atomic_or(qd.u32(1), 32, 5, 0, 5, k, k)", "SharedArray", qd.QuadrantsTypeError),
    ("block.radix_rank_match_atomic_or(qd.u32(1), 32, 8, 0, 8, k, k)", "AssertionError.*1 << radix_bits", None),
]


@kit.lanes
@pytest.mark.lanes(32)
@pytest.mark.parametrize(("line", "message", "kind"), RADIX)
def test_refused_ranks_on_devices(arch, line, message, kind, tmp_path):
    refused(line, message, tmp_path, kind or qd.QuadrantsCompilationError)


@kit.lanes
@pytest.mark.parametrize(("line", "message", "kind"), DEVICE)
def test_refused_on_devices(arch, line, message, kind, tmp_path):
    refused(line, message, tmp_path, kind or qd.QuadrantsCompilationError)


@kit.gpu
@pytest.mark.parametrize("block_dim", (2048, 4096))
def test_blocks_that_are_too_large(arch, block_dim):
    """1.3"""

    @qd.kernel
    def run():
        qd.loop_config(block_dim=block_dim)
        for _ in range(4):
            pass

    with pytest.raises(qd.QuadrantsCompilationError, match="1024"):
        run()


@kit.gpu
def test_names_of_shared_arrays(arch):
    """5.2: another name is an alias; the name stays what it is where the array is not made anew."""
    out = qd.field(qd.i32, 32)

    @qd.kernel
    def again():
        qd.loop_config(block_dim=32)
        for i in range(32):
            s = block.SharedArray(32, qd.i32)
            s = block.SharedArray(16, qd.i32)
            s[i % 16] = i % 16
            out[i] = s.shape[0]

    again()
    assert (out.to_numpy() == 16).all()

    @qd.kernel
    def inside():
        for i in range(32):
            s = block.SharedArray(32, qd.i32)
            if i < 3:
                s = block.SharedArray(16, qd.i32)

    with pytest.raises(qd.QuadrantsSyntaxError, match="cannot be assigned again"):
        inside()

    @qd.kernel
    def number():
        for i in range(32):
            s = block.SharedArray(32, qd.i32)
            s = i

    with pytest.raises(qd.QuadrantsSyntaxError, match="cannot be assigned again"):
        number()


@pytest.mark.runtime(exclude=("cpu", "amdgpu", "metal", "vulkan", "opencl"))
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("warp.sync(1)", "expected u32 for argument #1, but got i32"),
        ("warp.all_nonzero(qd.u32(1), qd.u32(1))", "expected i32 for argument #2, but got u32"),
        ("warp.shfl_up_f32(qd.u32(1), i, 1)", "expected f32 for argument #2, but got i32"),
        ("warp.shfl_sync_i32(qd.u32(1), i, qd.u32(1))", "expected i32 for argument #3, but got u32"),
        ("warp.match_any(qd.u32(1), qd.u32(1))", "expected i32 for argument #2, but got u32"),
    ],
)
def test_operands_of_warps_are_strict(arch, line, message, tmp_path):
    """7"""
    refused(line, message, tmp_path, qd.QuadrantsTypeError)


WARP = [
    ("sync", "qd.u32(1)"), ("all_nonzero", "qd.u32(1), 1"), ("ballot", "1"), ("active_mask", ""),
    ("match_any", "qd.u32(1), 1"), ("shfl_xor_i32", "qd.u32(1), 1, 1"),
]  # fmt: skip


@pytest.mark.runtime(exclude=("cuda",))
@pytest.mark.parametrize(("name", "args"), WARP)
def test_warps_are_of_cuda(arch, name, args, tmp_path):
    """7, 11: the error names the function and the arch."""
    refused(f"warp.{name}({args})", rf"qd.simt.warp.{name} is not supported for arch Arch.{arch.name}", tmp_path)


# ---------------------------------------------------------------- the CPU and Python scope

on_cpu = pytest.mark.runtime(exclude=("cuda", "amdgpu", "metal", "vulkan", "opencl"))
CPU = [
    *[(f"block.{op}", rf"ValueError: qd.block.{op.split('(')[0]} is not supported for arch Arch\.")
      for op in ("sync()", "mem_fence()", "thread_idx()", "global_thread_idx()", "sync_all_nonzero(1)",
                 "sync_any_nonzero(1)", "sync_count_nonzero(1)")],
    ("grid.mem_fence()", r"ValueError: qd.simt.grid.mem_fence is not supported for arch Arch\."),
    ("s = block.SharedArray(4, qd.f32)", "needs a GPU"),
    ("block.reduce_add(x[i], 32, qd.f32)", r"AssertionError: qd.simt.block.reduce_add .* has none: use a GPU arch"),
    ("block.exclusive_scan(x[i], 32, add, 0.0, qd.f32)", "AssertionError: qd.simt.block.exclusive_scan"),
    ("block.radix_rank_match_atomic_or(qd.u32(1), 32, 5, 0, 5, k, k)", "AssertionError"),
    ("subgroup.log2_group_size()", "AssertionError: subgroup size 0 is not a power of two"),
    ("subgroup.reduce_all_add(x[i])", "AssertionError: subgroup size 0 is not a power of two"),
    ("subgroup.all_true(i)", "AssertionError"),
    ("subgroup.bitonic_sort_kv(i, i)", "AssertionError"),
    *[(f"subgroup.{op}", r"qd.simt.subgroup.\w+ is not supported for arch Arch\.")
      for op in ("shuffle(x[i], qd.u32(1))", "shuffle_down(x[i], qd.u32(1))", "broadcast(x[i], qd.u32(0))", "ballot(1)",
                 "sync()", "mem_fence()", "elect()", "invocation_id()", "reduce_all_add_tiled(x[i], 3)",
                 "any_true_tiled(i, 1)", "bitonic_sort_kv_tiled(i, i, 2)")],
    ("t = qd.simt.Tile16x16.zeros()",
     r"Tile16x16 requires a GPU backend with subgroups, .* Current arch is .*, which has none"),
]  # fmt: skip


@on_cpu
@pytest.mark.parametrize(("line", "message"), CPU)
def test_refused_on_the_cpu(arch, line, message, tmp_path):
    refused(line, message, tmp_path)


@on_cpu
def test_what_the_cpu_can_do(arch):
    """11: group_size() is 0, tiles of one lane and lane masks work, untaken branches are never translated."""
    assert subgroup.group_size() == 0
    with pytest.raises(AssertionError, match="subgroup size 0"):
        subgroup.log2_group_size()
    out = qd.field(qd.i64, 16)

    @qd.kernel
    def use():
        for _ in range(1):
            out[0] = subgroup.reduce_add_tiled(5, 0)
            out[1] = subgroup.reduce_all_min_tiled(6, 0)
            out[2] = subgroup.inclusive_max_tiled(7, 0)
            out[3] = subgroup.exclusive_mul_tiled(8, 0)
            if qd.static(subgroup.group_size() > 0):
                block.sync()
                s = block.SharedArray(64, qd.f32)
                out[4] = subgroup.shuffle(s[0], qd.u32(1))

    use()
    assert list(out.to_numpy()[:5]) == [5, 6, 7, 1, 0]


def test_lane_masks(arch):
    """6.2: pure arithmetic, on every arch."""
    out = qd.field(qd.u32, (2, 5))

    @qd.kernel
    def masks():
        for i in range(2):
            lane = 5 + i * 26
            out[i, 0] = subgroup.lanemask_lt(lane)
            out[i, 1] = subgroup.lanemask_le(lane)
            out[i, 2] = subgroup.lanemask_eq(qd.u32(lane))
            out[i, 3] = subgroup.lanemask_gt(lane)
            out[i, 4] = subgroup.lanemask_ge(lane)

    masks()
    expected = [[0x1F, 0x3F, 0x20, 0xFFFFFFC0, 0xFFFFFFE0], [0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, 0, 0x80000000]]
    np.testing.assert_array_equal(out.to_numpy(), np.array(expected, np.uint32))


@pytest.mark.parametrize("block_dim", (48, 0, -32, 33))
def test_block_dim_is_a_power_of_two(arch, block_dim):
    """1.3"""

    @qd.kernel
    def run():
        qd.loop_config(block_dim=block_dim)
        for _ in range(4):
            pass

    with pytest.raises(qd.QuadrantsCompilationError, match="is_power_of_two"):
        run()


def test_block_dim_is_known(arch):
    """1.3: a run-time value or a float is a type error; a name that only ever held a number is that number."""
    out = qd.field(qd.i32, 64)

    @qd.kernel
    def argument(n: qd.i32):
        qd.loop_config(block_dim=n)
        for i in range(4):
            out[i] = i

    @qd.kernel
    def real():
        qd.loop_config(block_dim=16.0)
        for i in range(4):
            out[i] = i

    @qd.kernel
    def changed():
        n = 16
        n += 16
        qd.loop_config(block_dim=n)
        for i in range(4):
            out[i] = i

    @qd.kernel
    def constant():
        n = 16
        qd.loop_config(block_dim=n)
        for i in range(64):
            out[i] = i % n

    for run, args in ((argument, (32,)), (real, ()), (changed, ())):
        with pytest.raises(qd.QuadrantsTypeError, match="compile time"):
            run(*args)
    constant()
    np.testing.assert_array_equal(out.to_numpy(), np.arange(64) % 16)


def test_python_scope(arch):
    """Outside kernels there are no threads."""
    calls = (subgroup.invocation_id, block.sync, lambda: block.SharedArray(4, qd.f32), warp.active_mask)
    for call in calls:
        with pytest.raises(AssertionError, match="cannot be called in Python-scope"):
            call()
    for name in ("TileNxN", "nothing"):
        with pytest.raises(AttributeError):
            getattr(qd.simt, name)


@kit.lanes
def test_deprecated_names(arch):
    """0: aliases of subgroup warn once a process, those of block and grid each time."""
    subgroup._warned.clear()

    @qd.kernel
    def old(times: qd.template()):
        qd.loop_config(block_dim=32)
        for _ in range(32):
            for _ in qd.static(range(times)):
                subgroup.barrier()
                subgroup.memory_barrier()
                subgroup.ballot_full_subgroup(1)
                block.mem_sync()
                qd.simt.grid.memfence()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        old(2)
    texts = [str(w.message) for w in caught if w.category is DeprecationWarning]
    names = ("barrier is", "ballot_full", "mem_sync", "memfence")
    assert [sum(name in t for t in texts) for name in names] == [2, 1, 2, 2]


def refusal(tmp_path, program: str) -> str:
    """What a program is told whose kernel `run` is refused for CUDA."""
    qd.init(arch=qd.cuda, emulate=True)
    path = tmp_path / "program.py"
    path.write_text(program)
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with pytest.raises(qd.QuadrantsCompilationError) as caught:
        names["run"](1)
    return str(caught.value)


@pytest.mark.cpu_only
@pytest.mark.parametrize("option", ["serialize=True", "parallelize=1"])
@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("block.SharedArray((32,), qd.f32)[i % 32] = x[i]", "the shared array"),
        ("x[i] = subgroup.shuffle_xor(x[i], qd.u32(1))", "qd.simt.subgroup.shuffle_xor"),
        ("k[i] = block.sync_count_nonzero(k[i])", "qd.simt.block.sync_count_nonzero"),
        ("block.sync()", "qd.simt.block.sync"),
    ],
)
def test_a_loop_of_one_thread_has_no_block(tmp_path, option, line, what):
    text = refusal(tmp_path, HEAD.format(line=line).replace("block_dim=32", f"block_dim=32, {option}"))
    assert what in text and f"leave {option} out" in text and "for i in range(64):" in text


@pytest.mark.cpu_only
def test_threads_of_a_block_meet_in_a_loop_of_each(arch):
    """A loop in a parallel one is in order anyway, for every thread."""
    qd.init(arch=qd.cuda, emulate=True)
    x = qd.field(qd.i32, 64)

    @qd.kernel
    def turned():
        qd.loop_config(block_dim=32)
        for i in range(64):
            s = block.SharedArray((32,), qd.i32)
            qd.loop_config(serialize=True)
            for _ in range(3):
                s[i % 32] = x[i] + i
                block.sync()
                x[i] = s[31 - i % 32]
                block.sync()

    turned()
    y = np.zeros(64, np.int32)
    for _ in range(3):
        y = (y + np.arange(64)).reshape(2, 32)[:, ::-1].reshape(64)
    assert (x.to_numpy() == y).all()


INNER = """
import quadrants as qd
from quadrants.lang.simt import block, subgroup

x = qd.field(qd.f32, 64)
k = qd.field(qd.i32, 64)

@qd.func
def folded(value):
    return block.reduce_all_add(value, 64, qd.i32)

@qd.kernel
def run(n: qd.i32):
    {around}:
        qd.loop_config(block_dim=64)
        for i in range(64):
            {line}
"""


@pytest.mark.cpu_only
@pytest.mark.parametrize("around", ["if n > 0", "while n > 7"])
@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("block.SharedArray((64,), qd.f32)[i] = x[i]", "the shared array"),
        ("x[i] = subgroup.shuffle_xor(x[i], qd.u32(1))", "qd.simt.subgroup.shuffle_xor"),
        ("x[i] = subgroup.reduce_all_add(x[i])", "qd.simt.subgroup.reduce_all"),
        ("k[i] = folded(k[i])", "qd.simt.subgroup"),
    ],
)
def test_a_loop_in_another_statement_has_no_block(tmp_path, around, line, what):
    text = refusal(tmp_path, INNER.format(around=around, line=line))
    assert what in text and "one thread alone does this" in text and "program.py" in text


@kit.lanes
def test_a_fold_has_all_its_lanes(arch):
    @qd.kernel
    def narrow(out: qd.types.ndarray(qd.i32, 1)):
        qd.loop_config(block_dim=2)
        for i in range(8):
            out[i] = subgroup.reduce_all_add_tiled(i, 2)

    with pytest.raises(qd.QuadrantsCompilationError, match=r"goes over 4 lanes, and the blocks of this loop have 2"):
        narrow(np.zeros(8, np.int32))
