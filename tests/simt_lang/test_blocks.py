"""Barriers, shared arrays, atomics on them, reductions and scans of blocks (simt.md 5, 2.5)."""

import numpy as np
import pytest
import simt_lang_kit as kit

import quadrants as qd
from quadrants.lang.simt import block, subgroup

pytestmark = kit.gpu
N = 512


def test_where_threads_are(arch):
    """1.3, 5: thread t of a block does iteration begin + k * block_dim + t."""
    out = qd.field(qd.i32, (3, 32))

    @qd.kernel
    def where():
        qd.loop_config(block_dim=8)
        for i in range(32):
            out[0, i] = block.thread_idx()
            out[1, i] = block.global_thread_idx()
        qd.loop_config(block_dim=16)
        for i, j in qd.ndrange(2, 16):
            out[2, i * 16 + j] = block.thread_idx()

    where()
    np.testing.assert_array_equal(out.to_numpy(), [(i := np.arange(32)) % 8, i, i % 16])


def test_rotation_through_shared_memory(arch):
    """5.1: values go round in many blocks, again and again."""
    x = kit.values("i32", N)
    data = kit.array(x)

    @qd.kernel
    def rotate(data: qd.types.ndarray(), times: qd.i32):
        qd.loop_config(block_dim=64)
        for i in range(N):
            shared = block.SharedArray((64,), qd.i32)
            v = data[i]
            for k in range(times):
                shared[i % 64] = v
                block.sync()
                v = shared[(i + 1) % 64]
                block.sync()
            data[i] = v

    rotate(data, 5)
    np.testing.assert_array_equal(data.to_numpy(), np.roll(x.reshape(-1, 64), -5, axis=1).ravel())


def test_barriers_with_a_predicate(arch):
    """5.1"""
    p = (np.random.default_rng(3).integers(0, 40, N) > 0).astype(np.int32) * 3
    p[:128] = 3
    p[128:256] = 0
    out = kit.array(np.zeros((3, N), np.int32))

    @qd.kernel
    def vote(p: qd.types.ndarray(), out: qd.types.ndarray()):
        qd.loop_config(block_dim=128)
        for i in range(N):
            out[0, i] = block.sync_all_nonzero(p[i])
            out[1, i] = block.sync_any_nonzero(p[i])
            out[2, i] = block.sync_count_nonzero(p[i] != 0)
            block.mem_fence()

    vote(kit.array(p), out)
    b = (p != 0).reshape(-1, 128)
    expected = [np.repeat(f(b, axis=1), 128) for f in (np.all, np.any, np.sum)]
    np.testing.assert_array_equal(out.to_numpy() != 0, np.array(expected) != 0)
    np.testing.assert_array_equal(out.to_numpy()[2], expected[2])


def test_shapes_and_elements(arch):
    """5.2: up to three axes, vectors with components and arithmetic, matrices, every scalar dtype."""
    out = qd.field(qd.f32, (8, 32))
    mat = qd.types.matrix(2, 2, qd.i32)

    @qd.kernel
    def use():
        qd.loop_config(block_dim=32)
        for i in range(32):
            t = i % 32
            plane = block.SharedArray([4, 8], qd.f64)
            cube = block.SharedArray((2, 4, 4), qd.u8)
            points = block.SharedArray(32, qd.math.vec3)
            boxes = block.SharedArray((32,), mat)
            flags = block.SharedArray((32,), qd.u1)
            halves = block.SharedArray((32,), qd.f16)
            plane[t // 8, t % 8] = t + 0.5
            cube[t // 16, t // 4 % 4, t % 4] = t * 9
            points[t] = qd.math.vec3(t, 2.0, 3.0)
            points[t].y += t
            points[t][2] = points[t].x * 2
            boxes[t] = mat([[t, 1], [2, 3]])
            boxes[t][0, 1] = 7
            flags[t] = t > 3
            halves[t] = t * 0.5
            block.sync()
            o = (t + 1) % 32
            out[0, i] = plane[o // 8, o % 8] + plane.shape[1]
            out[1, i] = cube[o // 16, o // 4 % 4, o % 4]
            out[2, i] = points[o].dot(qd.math.vec3(1.0, 10.0, 100.0))
            m = boxes[o] @ boxes[t]
            out[3, i] = m[0, 0]
            out[4, i] = flags[o]
            out[5, i] = halves[o]
            axes = qd.static(cube.shape[0] * len(plane.shape))
            out[6, i] = axes
            if qd.static(plane.dtype == qd.f64):
                out[7, i] = 1

    use()
    t = np.arange(32)
    o = (t + 1) % 32
    np.testing.assert_array_equal(
        out.to_numpy(),
        [o + 8.5, o * 9 % 256, o + 10.0 * (2 + o) + 200.0 * o, o * t + 14, o > 3, o / 2, t * 0 + 4, t * 0 + 1],
    )


@pytest.mark.parametrize("name", (*kit.LANE_TYPES, "f16", "i16", "u8"))
def test_atomics_on_shared_arrays(arch, name):
    """2.5: every operation, by function and by augmented assignment; old values are slots."""
    t = getattr(qd, name)
    real = name[0] == "f"
    out = qd.field(t, 9)
    slots = qd.field(qd.i32, 64)

    @qd.kernel
    def gather():
        qd.loop_config(block_dim=64)
        for i in range(64):
            s = block.SharedArray((9,), t)
            count = block.SharedArray((1,), qd.i32)
            if i < 9:
                s[i] = 3
            if i == 0:
                count[0] = 0
            block.sync()
            slots[qd.atomic_add(count[0], 1)] += 1
            qd.atomic_add(s[0], 1)
            s[0] += 1
            qd.atomic_sub(s[1], 1)
            qd.atomic_max(s[2], i)
            qd.atomic_min(s[3], 2)
            if i < 3:
                qd.atomic_mul(s[4], 2)
            if qd.static(not real):
                qd.atomic_or(s[5], 1 << (i % 6))
                s[6] &= 2
                qd.atomic_xor(s[7], 1)
                qd.atomic_cas(s[8], 3, 5)
            else:
                qd.atomic_exchange(s[5], 9.0)
            block.sync()
            if i < 9:
                out[i] = s[i]

    gather()
    got = out.to_numpy()
    info = np.dtype(got.dtype)
    minus = np.array(3 - 64).astype(info) if info.kind != "u" else np.array(3 - 64, np.int64).astype(info)
    assert list(got[:5]) == [np.array(131).astype(info), minus, 63, 2, 24]
    assert list(got[5:]) == ([9, 3, 3, 3] if real else [63, 2, 3, 5])
    assert (slots.to_numpy() == 1).all()


def test_constant_places_are_updated_where_it_is_written(arch):
    """A sum in shared memory is not put off to the end of the loop: a barrier shows it."""
    out = qd.field(qd.i32, N)

    @qd.kernel
    def count():
        qd.loop_config(block_dim=64)
        for i in range(N):
            s = block.SharedArray((1,), qd.i32)
            if i % 64 == 0:
                s[0] = 0
            block.sync()
            s[0] += 2
            block.sync()
            out[i] = s[0]

    count()
    assert (out.to_numpy() == 128).all()


@qd.func
def of_neighbour(shared, value, t):
    shared[t] = value
    block.sync()
    return shared[t ^ 1]


@qd.func
def of_neighbour_template(shared: qd.template(), value, t):
    return of_neighbour(shared, value, t)


@qd.func
def with_its_own(value, t):
    if value < 1000:
        mine = block.SharedArray((32,), qd.i32)
        mine[t] = value
        subgroup.sync()
        value = mine[t ^ 2]
    return value


@qd.func
def one_level_up(value, t):
    return with_its_own(value, t) * 10


@kit.lanes
def test_shared_arrays_in_funcs(arch):
    """5.2: by reference with or without a template; made inside funcs, ifs and loops; each inlined call has its own."""
    out = qd.field(qd.i32, (5, 32))

    @qd.kernel
    def use():
        qd.loop_config(block_dim=32)
        for i in range(32):
            s = block.SharedArray((32,), qd.i32)
            alias = s
            out[0, i] = of_neighbour(s, i, i)
            block.sync()
            out[1, i] = of_neighbour_template(alias, i * 2, i)
            block.sync()
            alias[i] = -i
            block.sync()
            out[2, i] = s[31 - i]
            # No barrier between the two: each call has an array of its own.
            a = one_level_up(i, i)
            b = one_level_up(i + 100, i)
            out[3, i] = a + b
            if i < 32:
                for k in range(2):
                    deep = block.SharedArray((32,), qd.i32)
                    deep[i] = i + k
                    block.sync()
                    out[4, i] = deep[i ^ 1]
                    block.sync()

    use()
    i = np.arange(32)
    np.testing.assert_array_equal(out.to_numpy(), [i ^ 1, (i ^ 1) * 2, i - 31, ((i ^ 2) * 2 + 100) * 10, (i ^ 1) + 1])


def test_two_loops_of_three_quarters_of_the_limit(arch):
    """5.2: shared memory is free again between the tasks of a kernel; most devices have more than 48 KiB of it."""
    limit = qd.lang.impl.get_max_shared_memory_bytes(is_lowerbound_ok=True)
    assert limit >= (32768 if arch in (qd.opencl, qd.metal, qd.vulkan) else 65536)
    n = limit * 3 // 4 // 4
    out = qd.field(qd.i32, (2, 128))

    @qd.kernel
    def fill():
        qd.loop_config(block_dim=128)
        for i in range(128):
            big = block.SharedArray((n,), qd.i32)
            for k in range(n // 128):
                big[i + k * 128] = i + k
            block.sync()
            out[0, i] = big[n // 128 * 128 - 1 - i]
        qd.loop_config(block_dim=128)
        for i in range(128):
            big = block.SharedArray((n,), qd.i32)
            small = block.SharedArray((3, 128), qd.u8)
            big[n - 1 - i] = i
            small[2, i] = i
            block.sync()
            out[1, i] = big[n - 128 + i] * 1000 + small[2, 127 - i]

    fill()
    i = np.arange(128)
    rounds = n // 128 - 1
    np.testing.assert_array_equal(out.to_numpy(), [127 - i + rounds, (127 - i) * 1001])


def test_more_than_the_device_has(arch, arch_name):
    """5.2: all arrays of a task count."""
    limit = qd.lang.impl.get_max_shared_memory_bytes(is_lowerbound_ok=True)

    @qd.kernel
    def fill():
        qd.loop_config(block_dim=32)
        for i in range(32):
            a = block.SharedArray((limit // 8,), qd.i32)
            b = block.SharedArray((limit // 8 + 4,), qd.i32)
            a[i] = i
            b[i] = i

    text = f"Requested dynamic shared memory size of {limit + 16} bytes, but the device supports max capacity of "
    with pytest.raises(RuntimeError, match=f"{text}{limit} bytes.*'a', 'b' on arch {arch_name}") as told:
        fill()
    assert 'test_blocks.py", line' in str(told.value) and "for i in range(32):" in str(told.value)


@pytest.mark.parametrize("name", ("i32", "u64", "f32", "f64"))
@pytest.mark.parametrize("parts", (1, 4, 8))
def test_block_folds(arch, name, parts):
    """5.3: reductions and scans of blocks of several subgroups."""
    dim = parts * (subgroup.group_size() or 16)
    count = 2 * dim
    x = kit.values(name, count)
    t = getattr(qd, name)
    hows = ("add", "min", "max")
    calls = [
        (f * 3 + h, getattr(block, f"{kind}_{how}"))
        for f, kind in enumerate(("reduce", "reduce_all", "inclusive", "exclusive")) for h, how in enumerate(hows)
    ]  # fmt: skip
    out = kit.array(np.zeros((12, count), x.dtype))

    @qd.kernel
    def fold(x: qd.types.ndarray(), out: qd.types.ndarray()):
        qd.loop_config(block_dim=dim)
        for i in range(count):
            for k, call in qd.static(calls):
                out[k, i] = call(x[i], dim, t)

    fold(kit.array(x), out)
    log2 = dim.bit_length() - 1
    for h, how in enumerate(hows):
        got = out.to_numpy()[h::3]
        expected = kit.total(how, x, log2)
        np.testing.assert_array_equal(got[0][::dim], expected[::dim])
        np.testing.assert_array_equal(got[1], expected)
        np.testing.assert_array_equal(got[2], kit.inclusive(how, x, log2))
        np.testing.assert_array_equal(got[3], kit.exclusive(how, x, log2))


@qd.func
def affine(a, b):
    """Composition of x -> p x + q, packed as p + 1024 q: associative, not commutative."""
    p, q = a % 1024, a // 1024
    r, s = b % 1024, b // 1024
    return (p * r) % 997 + 1024 * ((q * r + s) % 997)


@pytest.mark.parametrize("parts", (1, 3))
def test_block_folds_by_a_func(arch, parts):
    """5.3: partners are combined in thread order."""
    width = subgroup.group_size() or 16
    dim = (4 if parts == 3 else parts) * width  # a power of two
    rng = np.random.default_rng(7)
    x = (rng.integers(0, 997, dim) + 1024 * rng.integers(0, 997, dim)).astype(np.int32)
    out = kit.array(np.zeros((4, dim), np.int32))

    @qd.kernel
    def fold(x: qd.types.ndarray(), out: qd.types.ndarray()):
        qd.loop_config(block_dim=dim)
        for i in range(dim):
            out[0, i] = block.reduce(x[i], dim, affine, qd.i32)
            out[1, i] = block.reduce_all(x[i], dim, affine, qd.i32)
            out[2, i] = block.inclusive_scan(x[i], dim, affine, qd.i32)
            out[3, i] = block.exclusive_scan(x[i], dim, affine, -5, qd.i32)

    def host(a, b):
        p, q, r, s = a % 1024, a // 1024, b % 1024, b // 1024
        return (p * r) % 997 + 1024 * ((q * r + s) % 997)

    fold(kit.array(x), out)
    scan = [int(x[0])]
    for v in x[1:]:
        scan.append(host(scan[-1], int(v)))
    got = out.to_numpy()
    assert got[0][0] == scan[-1] and (got[1] == scan[-1]).all()
    np.testing.assert_array_equal(got[2], scan)
    np.testing.assert_array_equal(got[3], [-5, *scan[:-1]])


def test_folds_in_a_loop(arch):
    """5.3: a call site may be reached again and again."""
    out = qd.field(qd.i32, (3, 256))

    @qd.kernel
    def fold():
        qd.loop_config(block_dim=256)
        for i in range(256):
            for k in range(3):
                out[k, i] = block.reduce_all_add(i * k, 256, qd.i32)

    fold()
    total = 255 * 128
    np.testing.assert_array_equal(out.to_numpy(), np.repeat([[0], [total], [2 * total]], 256, axis=1))


@kit.lanes
@pytest.mark.lanes(32)
@pytest.mark.parametrize(("bits", "start", "used"), [(8, 0, 8), (8, 5, 4), (6, 26, 6)])
def test_radix_ranks(arch, bits, start, used):
    """5.4: stable ranks, counts of digits and their prefix."""
    dim = 1 << bits
    count = 2 * dim
    keys = np.random.default_rng(9).integers(0, 2**32, count, dtype=np.uint32)
    keys[:dim] = keys[:16].repeat(dim // 16)
    out = kit.array(np.zeros((3, count), np.int32))

    @qd.kernel
    def rank(keys: qd.types.ndarray(), out: qd.types.ndarray()):
        qd.loop_config(block_dim=dim)
        for i in range(count):
            bins = block.SharedArray((dim,), qd.i32)
            before = block.SharedArray((dim,), qd.i32)
            out[0, i] = block.radix_rank_match_atomic_or(keys[i], dim, bits, start, used, bins, before)
            out[1, i] = bins[i % dim]
            out[2, i] = before[i % dim]

    rank(kit.array(keys), out)
    got = out.to_numpy()
    for first in range(0, count, dim):
        digits = (keys[first : first + dim] >> start) & ((1 << used) - 1)
        ranks = np.empty(dim, int)
        ranks[np.argsort(digits, kind="stable")] = np.arange(dim)
        counts = np.bincount(digits, minlength=dim)
        here = slice(first, first + dim)
        np.testing.assert_array_equal(got[0][here], ranks)
        np.testing.assert_array_equal(got[1][here], counts)
        np.testing.assert_array_equal(got[2][here], np.cumsum(counts) - counts)


def test_tree_refit(arch):
    """8: the second of two children that arrive sums both: data, fence, atomic, fence, data."""
    leaves = 256
    x = np.arange(leaves, dtype=np.int32) * 7 % 31
    total = kit.array(np.concatenate([np.zeros(leaves, np.int32), x]))
    arrived = kit.array(np.zeros(leaves, np.int32))

    @qd.kernel
    def refit(total: qd.types.ndarray(), arrived: qd.types.ndarray()):
        qd.loop_config(block_dim=64)
        for i in range(leaves):
            node = (leaves + i) // 2
            going = 1
            while going == 1:
                qd.simt.grid.mem_fence()
                if qd.atomic_add(arrived[node], 1) == 0:
                    going = 0
                else:
                    qd.simt.grid.mem_fence()
                    total[node] = total[2 * node] + total[2 * node + 1]
                    if node == 1:
                        going = 0
                    node //= 2

    refit(total, arrived)
    expected = np.concatenate([np.zeros(leaves, np.int32), x])
    for node in reversed(range(1, leaves)):
        expected[node] = expected[2 * node] + expected[2 * node + 1]
    np.testing.assert_array_equal(total.to_numpy()[1:], expected[1:])


@pytest.mark.parametrize("k", [1, 64, 1000000, -64])
def test_indices_of_shared_arrays_are_checked(init, k):
    init(debug=True)
    y = qd.field(qd.i32, 64)

    @qd.kernel
    def write(k: qd.i32):
        qd.loop_config(block_dim=64)
        for i in range(64):
            s = qd.simt.block.SharedArray((64, 2), qd.i32)
            s[i + k, 1] = i
            y[i] = s[i + k, 1]

    write(0)
    assert y.to_numpy().tolist() == list(range(64))
    with pytest.raises(AssertionError, match=r"Accessing a shared array of size \(64, 2\) with indices \(-?\d+, 1\)"):
        write(k)
        qd.sync()


BEYOND_I32 = [(qd.i64, 2**32 + 1), (qd.i64, -(2**32)), (qd.u32, 2**32 - 1), (qd.u64, 2**62), (qd.u64, 2**63 + 1)]


@pytest.mark.parametrize("t, k", BEYOND_I32, ids=str)
def test_indices_of_shared_arrays_are_checked_by_their_value(init, t, k):
    init(debug=True)

    @qd.kernel
    def read(i: t) -> qd.i32:
        r = 0
        qd.loop_config(block_dim=32)
        for b in range(32):
            s = qd.simt.block.SharedArray((2, 32), qd.i32)
            s[1, b] = b
            qd.simt.block.sync()
            if b == 0:
                r += s[1, i]
        return r

    assert read(3) == 3
    with pytest.raises(AssertionError, match=rf"Accessing a shared array of size \(2, 32\) with indices \(1, {k}\)"):
        read(k)
