"""Shuffles, votes, reductions, scans and sorting of lanes against NumPy, tile by tile (simt.md 6)."""

import numpy as np
import pytest
import simt_lang_kit as kit

import quadrants as qd
from quadrants.lang.simt import subgroup

pytestmark = kit.lanes
N = 128


@pytest.fixture
def widths(arch):
    """(log2_size, name part) of the tiles to test."""
    whole = subgroup.log2_group_size()
    return (1, min(3, whole), whole)


def test_where_lanes_are(arch):
    """6.2: the lane is i % group_size() in a block of any size; group_size() is a Python int in both scopes."""
    width = subgroup.group_size()
    assert width == {"cuda": 32, "amdgpu": 64, "metal": 32}.get(arch.name, width) >= 4
    assert subgroup.log2_group_size() == width.bit_length() - 1
    out = qd.field(qd.i32, (3, N))

    @qd.func
    def halved(x, size: qd.template()):
        return x % (size // 2)

    @qd.kernel
    def where():
        qd.loop_config(block_dim=64)
        for i in range(N):
            out[0, i] = subgroup.invocation_id()
            out[1, i] = subgroup.elect()
            if qd.static(subgroup.group_size() in (4, 8, 16, 32, 64)):
                out[2, i] = halved(i, subgroup.group_size())

    where()
    i = np.arange(N)
    np.testing.assert_array_equal(out.to_numpy(), [i % width, i % width == 0, i % (width // 2)])


@pytest.mark.parametrize("name", kit.LANE_TYPES)
def test_shuffles(arch, name):
    """6.3: each result is bit-exact, NaN payloads too; all lanes are reachable."""
    width = subgroup.group_size()
    x = kit.values(name, N)
    if name == "f32":
        x.view(np.uint32)[3] = 0x7FC01234
    out = kit.array(np.zeros((6, N), x.dtype))

    @qd.kernel
    def move(x: qd.types.ndarray(), out: qd.types.ndarray()):
        qd.loop_config(block_dim=64)
        for i in range(N):
            lane = subgroup.invocation_id()
            v = x[i]
            out[0, i] = subgroup.shuffle(v, qd.u32(lane ^ 1))
            out[1, i] = subgroup.shuffle_up(v, qd.u32(2))
            out[2, i] = subgroup.shuffle_down(v, qd.u32(3))
            out[3, i] = subgroup.shuffle_xor(v, qd.u32(subgroup.group_size() // 2))
            out[4, i] = subgroup.broadcast(v, qd.u32(subgroup.group_size() - 1))
            out[5, i] = subgroup.broadcast_first(v)

    move(kit.array(x), out)
    got, lane = out.to_numpy(), np.arange(N) % width
    base = np.arange(N) - lane

    def same(row, source):
        assert got[row].tobytes() == x[source].tobytes()

    same(0, base + (lane ^ 1))
    same(3, base + (lane ^ width // 2))
    same(4, base + width - 1)
    same(5, base)
    inside = lane >= 2
    np.testing.assert_array_equal(got[1][inside], x[(base + lane - 2)[inside]])
    inside = lane < width - 3
    np.testing.assert_array_equal(got[2][inside], x[(base + lane + 3)[inside]])


@pytest.mark.lanes(8)
def test_votes(arch, widths):
    """6.4"""
    width = subgroup.group_size()
    rng = np.random.default_rng(1)
    p = (rng.integers(0, 12, N) > 0).astype(np.int32) * 7
    same = np.repeat(rng.integers(0, 2, N // 8), 8).astype(np.float32)
    same[5] = np.nan
    out = kit.array(np.zeros((12, N), np.int64))

    @qd.kernel
    def vote(p: qd.types.ndarray(), same: qd.types.ndarray(), out: qd.types.ndarray()):
        qd.loop_config(block_dim=64)
        for i in range(N):
            out[0, i] = qd.cast(subgroup.ballot(p[i]), qd.i64)
            out[1, i] = subgroup.ballot_first_n(p[i], 5)
            out[2, i] = subgroup.all_true(p[i] == 7)
            out[3, i] = subgroup.any_true(p[i] == 0)
            for k, log2 in qd.static(enumerate(widths)):
                out[4 + k, i] = subgroup.all_true_tiled(p[i], log2)
                out[7 + k, i] = subgroup.any_true_tiled(p[i] == 0, log2)
            out[10, i] = subgroup.all_equal_tiled(same[i], 3)
            out[11, i] = subgroup.all_equal(qd.i64(7))

    vote(kit.array(p), kit.array(same), out)
    got = out.to_numpy()
    set_lanes = [sum(1 << k for k in range(width) if p[g + k]) for g in range(0, N, width)]
    assert [int(v) % 2**64 for v in got[0][::width]] == set_lanes
    assert [int(v) for v in got[1][::width]] == [bits & 31 for bits in set_lanes]
    full = widths[-1]
    assert (got[2] == kit.total("and", (p == 7).astype(np.int32), full)).all()
    assert (got[3] == kit.total("or", (p == 0).astype(np.int32), full)).all()
    for k, log2 in enumerate(widths):
        assert (got[4 + k] == kit.total("and", (p != 0).astype(np.int32), log2)).all()
        assert (got[7 + k] == kit.total("or", (p == 0).astype(np.int32), log2)).all()
    equal = (kit.tiles(same, 3) == kit.tiles(same, 3)[:, :1]).all(axis=1)
    assert (got[10] == np.repeat(equal, 8)).all() and (got[11] == 1).all()


@pytest.mark.runtime(exclude=("cpu", "opencl"), unrolling_limit=0)
@pytest.mark.parametrize("name", kit.LANE_TYPES)
def test_folds(arch, widths, name):
    """6.5: every reduction and scan, for tiles of several widths and the whole subgroup."""
    whole = widths[-1]
    x = kit.values(name, N)
    heads = (np.random.default_rng(2).integers(0, 4, N) == 0).astype(np.int32)
    bitwise = name[0] != "f"
    scans = ["add", "min", "max"] + (["mul", "and", "or", "xor"] if bitwise else [])
    cases = [(kind, how, log2) for log2 in widths for kind in ("reduce", "reduce_all", "segmented_reduce")
             for how in ("add", "min", "max")]  # fmt: skip
    cases += [(kind, how, log2) for log2 in widths for kind in ("inclusive", "exclusive") for how in scans]
    calls = [
        (k, getattr(subgroup, f"{kind}_{how}_tiled"), kind == "segmented_reduce", log2)
        for k, (kind, how, log2) in enumerate(cases)
    ]
    out = kit.array(np.zeros((len(cases) + 2, N), x.dtype))

    @qd.kernel
    def fold(x: qd.types.ndarray(), heads: qd.types.ndarray(), out: qd.types.ndarray()):
        qd.loop_config(block_dim=64)
        for i in range(N):
            for k, call, with_head, log2 in qd.static(calls):
                if qd.static(with_head):
                    out[k, i] = call(x[i], heads[i], log2)
                else:
                    out[k, i] = call(x[i], log2)
            out[len(calls), i] = subgroup.inclusive_add(x[i])
            out[len(calls) + 1, i] = subgroup.segmented_reduce_max(x[i], heads[i])

    fold(kit.array(x), kit.array(heads), out)
    got = out.to_numpy()
    for (kind, how, log2), row in zip(cases, got):
        where = slice(None)
        if kind == "segmented_reduce":
            expected = kit.segmented(how, x, heads, log2)
        elif kind in ("inclusive", "exclusive"):
            expected = getattr(kit, kind)(how, x, log2)
        else:
            expected = kit.total(how, x, log2)
            where = np.arange(N) % (1 << log2) == 0 if kind == "reduce" else where
        np.testing.assert_array_equal(row[where], expected[where], err_msg=f"{kind}_{how} of {1 << log2} lanes")
    np.testing.assert_array_equal(got[-2], kit.inclusive("add", x, whole))
    np.testing.assert_array_equal(got[-1], kit.segmented("max", x, heads, whole))


def test_products_of_reals_and_infinities(arch):
    """6.5: exclusive sums of infinities have no NaN in the first lane; products of reals."""
    x = np.tile([np.inf, 1, 2, 0.5], N // 4).astype(np.float32)
    out = kit.array(np.zeros((4, N), np.float32))

    @qd.kernel
    def fold(x: qd.types.ndarray(), out: qd.types.ndarray()):
        qd.loop_config(block_dim=64)
        for i in range(N):
            out[0, i] = subgroup.exclusive_add_tiled(x[i], 2)
            out[1, i] = subgroup.exclusive_mul_tiled(x[i], 2)
            out[2, i] = subgroup.inclusive_mul_tiled(x[i], 2)
            out[3, i] = subgroup.reduce_all_max(x[i])

    fold(kit.array(x), out)
    got = out.to_numpy()
    np.testing.assert_array_equal(got[0], kit.exclusive("add", x, 2))
    np.testing.assert_array_equal(got[1], kit.exclusive("mul", x, 2))
    np.testing.assert_array_equal(got[2], kit.inclusive("mul", x, 2))
    assert (got[3] == np.inf).all()


def test_tiles_of_one_lane(arch):
    """6.1: the value itself; the identity for exclusive scans."""
    out = qd.field(qd.i32, 8)

    @qd.kernel
    def fold():
        qd.loop_config(block_dim=32)
        for i in range(32):
            out[0] = subgroup.reduce_add_tiled(5, 0)
            out[1] = subgroup.reduce_all_max_tiled(5, 0)
            out[2] = subgroup.inclusive_mul_tiled(5, 0)
            out[3] = subgroup.exclusive_add_tiled(5, 0)
            out[4] = subgroup.exclusive_and_tiled(5, 0)
            out[5] = subgroup.segmented_reduce_min_tiled(5, 1, 0)
            out[6] = subgroup.all_true_tiled(5, 0)
            out[7] = subgroup.all_equal_tiled(5, 0)

    fold()
    assert list(out.to_numpy()) == [5, 5, 5, 0, -1, 5, 1, 1]


@pytest.mark.lanes(8)
def test_tiles_in_different_branches(arch):
    """6.1: only the lanes of a tile have to come to an operation on tiles."""
    x = kit.values("i32", N)
    out = kit.array(np.zeros(N, np.int32))

    @qd.kernel
    def fold(x: qd.types.ndarray(), out: qd.types.ndarray()):
        qd.loop_config(block_dim=64)
        for i in range(N):
            if i // 8 % 2 == 0:
                out[i] = subgroup.reduce_all_add_tiled(x[i], 3)
            else:
                out[i] = subgroup.inclusive_max_tiled(x[i], 3) + subgroup.any_true_tiled(x[i] > 0, 2)

    fold(kit.array(x), out)
    some = kit.total("or", (x > 0).astype(np.int32), 2)
    with np.errstate(over="ignore"):
        odd = kit.inclusive("max", x, 3) + some
    expected = np.where(np.arange(N) // 8 % 2 == 0, kit.total("add", x, 3), odd)
    np.testing.assert_array_equal(out.to_numpy(), expected)


@pytest.mark.parametrize(("key_type", "value_type", "log2"), [("u32", "f64", 2), ("f32", "i32", None)])
def test_sorting(arch, key_type, value_type, log2):
    """6.6: by key, then by value."""
    whole = log2 is None
    log2 = subgroup.log2_group_size() if whole else log2
    keys = kit.values(key_type, N)
    keys[::3] = keys[0]
    payload = kit.values(value_type, N, seed=4)
    out_keys, out_values = kit.array(np.zeros_like(keys)), kit.array(np.zeros_like(payload))

    @qd.kernel
    def sort(k: qd.types.ndarray(), v: qd.types.ndarray(), a: qd.types.ndarray(), b: qd.types.ndarray()):
        qd.loop_config(block_dim=64)
        for i in range(N):
            if qd.static(whole):
                key, value = subgroup.bitonic_sort_kv(k[i], v[i])
                a[i] = key
                b[i] = value
            else:
                key, value = subgroup.bitonic_sort_kv_tiled(k[i], v[i], log2)
                a[i] = key
                b[i] = value

    sort(kit.array(keys), kit.array(payload), out_keys, out_values)
    for tile in range(0, N, 1 << log2):
        here = slice(tile, tile + (1 << log2))
        pairs = sorted(zip(keys[here].tolist(), payload[here].tolist()))
        assert list(zip(out_keys.to_numpy()[here].tolist(), out_values.to_numpy()[here].tolist())) == pairs


def test_lanes_exchange_through_memory(arch):
    """6.2: sync() makes what lanes wrote to shared and to device memory visible to the others."""
    x = kit.values("i32", N)
    kept = kit.array(np.zeros(N, np.int32))
    out = kit.array(np.zeros((2, N), np.int32))

    @qd.kernel
    def exchange(x: qd.types.ndarray(), kept: qd.types.ndarray(), out: qd.types.ndarray()):
        qd.loop_config(block_dim=64)
        for i in range(N):
            near = qd.simt.block.SharedArray((64,), qd.i32)
            near[i % 64] = x[i]
            kept[i] = x[i] ^ 5
            subgroup.sync()
            other = i ^ 3
            out[0, i] = near[other % 64]
            out[1, i] = kept[other]
            subgroup.mem_fence()

    exchange(kit.array(x), kept, out)
    other = x[np.arange(N) ^ 3]
    np.testing.assert_array_equal(out.to_numpy(), [other, other ^ 5])
