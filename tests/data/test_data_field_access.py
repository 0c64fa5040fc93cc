"""Elements of fields from Python scope: indices, values, errors, live vectors and matrices."""

import threading
import timeit
from importlib.util import find_spec

import numpy as np
import pytest
from data_kit import DTYPES, INTEGERS, read_by_address
from hypothesis import given
from hypothesis import strategies as st

from quadrants.data import factories, snode
from quadrants.data.axes import NAMED, axes
from quadrants.errors import QuadrantsAssertionError, QuadrantsRuntimeError
from quadrants.ir.types import f16, f32, f64, i8, i32, i64, u1, u8, u64
from quadrants.lang.matrix import Matrix, Vector

pytestmark = pytest.mark.usefixtures("runtime")


def test_index_forms():
    f = factories.field(i32, (2, 3))
    f[1, 2] = 7
    assert f[1, 2] == f[[1, 2]] == f[np.int64(1), np.int32(2)] == f[Vector([1, 2])] == 7
    g = factories.field(i32, 4)
    g[np.int64(3)] = 5
    assert g[3] == g[(3,)] == g[[3]] == 5
    for key in (None, (), []):
        h = factories.field(f64, ())
        h[key] = 2.5
        assert h[None] == h[()] == 2.5


@pytest.mark.parametrize("key", [0, (0, 1, 2), None, ()])
def test_wrong_count(key):
    f = factories.field(f32, (2, 3))
    for attempt in (lambda: f[key], lambda: f.__setitem__(key, 1)):
        with pytest.raises(AssertionError, match="Slicing is not supported on qd.field"):
            attempt()


@pytest.mark.parametrize("key", [slice(0, 1), 1.5, "a", (slice(0, 1), 0), np.float32(1)])
def test_illegal_keys(key):
    f = factories.field(f32, (2, 3)) if isinstance(key, tuple) else factories.field(f32, 3)
    with pytest.raises(TypeError, match="slicing a qd.field is not supported"):
        f[key]


@pytest.mark.parametrize("index", [(4, 0), (-1, 0), (0, 5), (0, -1), (2**40, 0)])
def test_out_of_range_raises_without_debug(index):
    f = factories.field(i32, (4, 5))
    with pytest.raises(IndexError, match="Accessing field"):
        f[index]
    with pytest.raises(IndexError):
        f[index] = 1
    assert not f.to_numpy().any()


def test_out_of_range_in_debug_mode(init):
    init(debug=True)
    f = factories.field(i32, (4, 5), name="nm", offset=(3, -1))
    with pytest.raises(QuadrantsAssertionError) as caught:
        f[7, 2]
    assert "Accessing field (nm) of size (4, 5) offset (3, -1) with indices (7, 2)" in str(caught.value)
    assert isinstance(caught.value, AssertionError)
    g = factories.field(i32, 4)
    with pytest.raises(AssertionError, match=r"of size \(4\) with indices \(-1\)"):
        g[-1]


@pytest.mark.parametrize(
    "dtype, value, stored",
    [
        (i8, 300, 44), (u8, -1, 255), (i32, 2**31, -(2**31)), (u64, 2**64 - 1, 2**64 - 1), (i64, 2**63, -(2**63)),
        (u1, 5, 1), (u1, -1, 1), (u1, True, 1), (u1, 0, 0), (i32, np.bool_(True), 1), (i32, np.array(3), 3),
        (f32, np.float64(3.5), 3.5), (f32, 7, 7.0), (f32, 1e300, np.inf), (f16, -1e5, -np.inf),
        (f64, np.array(2.5), 2.5), (u8, np.array(300), 44), (i32, np.uint64(2**63 + 5), 5), (u1, np.int8(-2), 1),
    ],
)  # fmt: skip
def test_writes_convert(dtype, value, stored, recwarn):
    f = factories.field(dtype, 2)
    f[1] = value
    assert f[1] == stored and f[0] == 0
    a = factories.ndarray(dtype, 2)
    a[1] = value
    assert a[1] == stored and a[0] == 0
    assert not recwarn.list


@pytest.mark.parametrize(
    "dtype, value",
    [(i32, 1.0), (u1, 1.5), (i32, np.float64(2)), (i32, np.float32(np.nan)), (i32, np.float32(1e20)),
     (i64, np.array(np.inf)), (i32, np.array([2.5], np.float32)), (i32, np.float32(2.5)), (i32, np.float16(2)),
     (i32, np.float32(3e9)), (i64, np.array(-3.5)), (i64, np.array(3, np.float32)), (u8, np.float16(-2.5)),
     (u1, np.float32(0.5)), (u1, np.float64(1)), (u1, np.array(0.0)), (i32, np.array([2])), (i64, np.longdouble(1)),
     (u64, 2**64), (i32, 2**64 + 1), (i64, -(2**63) - 1), (f32, "1.5"),
     (f32, None), (i32, None), (f32, 1j), (i32, "3"), (f32, [1.0])],
)  # fmt: skip
def test_writes_refuse(dtype, value):
    f, a = factories.field(dtype, 2), factories.ndarray(dtype, 2)
    for container in (f, a):
        with pytest.raises(TypeError):
            container[0] = value
        assert container[0] == 0


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_extremes_of_integers(dtype):
    f, a = factories.field(dtype, 2), factories.ndarray(dtype, 2)
    for container in (f, a):
        container[0], container[1] = dtype.min, dtype.max
        assert (container[0], container[1]) == (dtype.min, dtype.max)


@given(st.integers(-(2**63), 2**64 - 1), st.sampled_from(INTEGERS))
def test_integers_wrap_like_two_complement(value, dtype):
    f = factories.field(dtype, 1)
    f[0] = value
    assert (f[0] - value) % 2**dtype.bits == 0 and dtype.min <= f[0] <= dtype.max


def test_vector_elements_are_live():
    v = factories.matrix_field(3, 1, f32, 4, ndim=1)
    element = v[1]
    assert isinstance(element, Vector)
    element[0] = 5
    v[1].y = 6
    v[1][2] = 7
    assert v[1].to_list() == [5, 6, 7] and element.to_list() == [5, 6, 7]
    assert v.to_numpy()[1].tolist() == [5, 6, 7]
    snapshot = v[1].to_list()
    v[1] = [0, 0, 0]
    assert snapshot == [5, 6, 7] and element.to_list() == [0, 0, 0]


def test_matrix_elements_are_live():
    m = factories.matrix_field(2, 3, i32, (2, 2))
    m[1, 0][1, 2] = 9
    assert isinstance(m[1, 0], Matrix) and m[1, 0][1, 2] == 9
    m[0, 1] = [[1, 2, 3], [4, 5, 6]]
    assert m.to_numpy()[0, 1].tolist() == [[1, 2, 3], [4, 5, 6]]
    m[0, 0] = m[0, 1]
    assert m[0, 0].to_list() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("make", ["field", "soa", "ndarray"])
def test_whole_element_writes(make):
    v = {
        "field": lambda: factories.matrix_field(3, 1, i32, 3, ndim=1),
        "soa": lambda: factories.matrix_field(3, 1, i32, 3, ndim=1, layout=1),
        "ndarray": lambda: factories.matrix_ndarray(3, 1, i32, 3, ndim=1),
    }[make]()
    v[0] = [1, 2, 3, 4]
    v[1] = (2**31, -1, 0)
    v[2] = np.array([7, 8, 9])
    assert v.to_numpy().tolist() == [[1, 2, 3], [-(2**31), -1, 0], [7, 8, 9]]
    with pytest.raises(IndexError):
        v[0] = [1, 2]
    with pytest.raises(TypeError):
        v[0] = 1
    with pytest.raises(TypeError):
        v[0] = [1.5, 2, 3]
    with pytest.raises((AssertionError, IndexError)):
        v[0, 0]
    assert v[0].to_list() == [1, 2, 3]


@pytest.mark.parametrize("make", [factories.matrix_field, factories.matrix_ndarray], ids=["field", "ndarray"])
def test_reals_are_refused_in_elements_of_integers(make):
    """As in scalar containers, alone, in sequences and in arrays of any width; nothing is written."""
    m = make(2, 2, i32, 2)
    m[0] = [[4, 1], [np.int8(2), np.uint64(3)]]
    bad = [[[x, 1], [2, 3]] for x in (0.5, 2.0, np.float64(2), np.float32(2.5), np.float16(2), np.float32(np.inf))]
    bad += [np.zeros((2, 2), dtype) for dtype in (np.float16, np.float32, np.float64)]
    for value in bad:
        with pytest.raises(TypeError, match=r"cannot be stored as i32"):
            m[0] = value
    for number in (2.5, np.float64(2), np.float32(9.75), np.float16(1)):
        with pytest.raises(TypeError, match=r"cannot be stored as i32; write int\(..\) to truncate it first"):
            m[0][0, 0] = number
    assert m.to_numpy()[0].tolist() == [[4, 1], [2, 3]]


REALS = [5.7, 5.0, np.float64(5.7), np.float32(5.7), np.float16(5.7), np.float32(3e9), np.array(5.7, np.float32)]


@pytest.mark.parametrize("value", REALS, ids=repr)
@pytest.mark.parametrize("dtype", [i32, u8, u1], ids=str)
def test_all_reals_meet_one_answer_at_every_store(value, dtype):
    scalar, lone = factories.field(dtype, ()), factories.ndarray(dtype, ())
    cells = factories.struct_field({"a": dtype}, {}, 2)
    stores = (
        lambda: scalar.__setitem__(None, value), lambda: lone.__setitem__(None, value),
        lambda: cells.a.__setitem__(0, value), lambda: cells.__setitem__(0, {"a": value}),
    )  # fmt: skip
    for store in stores:
        with pytest.raises(TypeError, match=f"cannot be stored as {dtype}; write int"):
            store()
    assert scalar[None] == lone[None] == cells.a[0] == 0


def test_scalar_component_shares_memory():
    m = factories.matrix_field(2, 2, f32, 3, offset=5)
    part = m.get_scalar_field(1, 0)
    assert part is m.get_scalar_field(1, 0) and part.shape == (3,)
    part[6] = 4
    assert m[6][1, 0] == 4
    m[7] = [[1, 2], [3, 4]]
    assert part[7] == 3 and part.to_numpy().tolist() == [0, 4, 3]
    with pytest.raises(IndexError):
        m.get_scalar_field(2, 0)
    assert part.grad is m.grad.get_scalar_field(1, 0)


def test_components_placed_apart():
    v = factories.matrix_field(3, 1, f32, ndim=1)
    a, b = factories.field(f64), factories.field(i8)
    node = snode.root.dense(NAMED["i"], 4)
    node.place(v.get_scalar_field(2), a)
    snode.root.dense(NAMED["i"], 4).place(b, v.get_scalar_field(0))
    snode.root.dense(NAMED["i"], 4).place(v.get_scalar_field(1))
    v[1] = [1, 2, 3]
    v[2].y = 8
    v[3][2] = 9
    assert not v.interleaved
    assert v.to_numpy().tolist() == [[0, 0, 0], [1, 2, 3], [0, 8, 0], [0, 0, 9]]
    v.from_numpy(np.arange(12).reshape(4, 3))
    assert v[3].to_list() == [9, 10, 11] and v.get_scalar_field(1).to_numpy().tolist() == [1, 4, 7, 10]
    v.fill([5, 6, 7])
    assert v[0].to_list() == [5, 6, 7] and not a.to_numpy().any() and not b.to_numpy().any()
    for view in (v.to_numpy, v.to_torch) if find_spec("torch") else (v.to_numpy,):
        with pytest.raises(ValueError, match="Zero-copy"):
            view(copy=False)
    with pytest.raises(RuntimeError):
        v.to_dlpack()


@given(st.data())
def test_offsets_orders_and_blocks_against_the_address_formula(data):
    rank = data.draw(st.integers(1, 3))
    dtype = data.draw(st.sampled_from(DTYPES))
    if data.draw(st.booleans()):
        shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))
        order = "".join(data.draw(st.permutations("ijk"[:rank])))
        offset = tuple(data.draw(st.lists(st.integers(-5, 5), min_size=rank, max_size=rank)))
        f = factories.field(dtype, shape, order=order, offset=offset)
    else:
        used = st.sets(st.integers(0, rank - 1), min_size=1).map(sorted)
        level = used.flatmap(lambda k: st.tuples(st.just(k), st.tuples(*[st.integers(1, 3)] * len(k))))
        plan = [*data.draw(st.lists(level, min_size=1, max_size=3)), (range(rank), (1,) * rank)]
        node, shape, offset = snode.root, [1] * rank, (0,) * rank
        for numbers, dims in plan:
            node = node.dense(axes(*numbers), dims)
            for axis, extent in zip(numbers, dims, strict=True):
                shape[axis] *= extent
        f, shape = factories.field(dtype), tuple(shape)
        node.place(f)
    assert f.shape == shape
    values = (np.arange(np.prod(shape)) % 100).astype(dtype.numpy_name).reshape(shape)
    f.from_numpy(values)
    assert np.array_equal(f.to_numpy(), values)
    for index in np.ndindex(*shape):
        at = tuple(i + o for i, o in zip(index, offset, strict=True))
        assert f[at] == values[index] == read_by_address(f.cell, at)
    last = tuple(n - 1 + o for n, o in zip(shape, offset, strict=True))
    f[last] = 1
    assert read_by_address(f.cell, last) == 1


def test_use_after_reset_raises(init):
    f, v = factories.field(i32, 3), factories.matrix_field(3, 1, f32, 2, ndim=1)
    s, pending = factories.struct_field({"a": i32}, shape=2), factories.field(i32)
    snode.root.place(pending)
    for container in (f, v, s):
        container.fill(1)
    late = factories.field(i32, 3)
    assert f.token > 0
    init()
    for container in (f, v, s, late, pending):
        assert container.token == -1
        for use in (lambda c=container: c.fill(0), lambda c=container: c.to_numpy(), lambda c=container: c[0]):
            with pytest.raises(QuadrantsRuntimeError, match="dead"):
                use()
    with pytest.raises(QuadrantsRuntimeError, match="dead"):
        f[0] = 1
    with pytest.raises(QuadrantsRuntimeError, match="dead"):
        v.grad.fill(0)
    with pytest.raises(RuntimeError):
        snode.root.place(pending)


def test_threads_materialize_once():
    fields = [factories.field(i32, 8) for _ in range(64)]
    failures = []

    def work(k):
        try:
            for f in fields[k::4]:
                f[k] = k + 1
                assert f[k] == k + 1
        except BaseException as error:  # reported below, a thread cannot fail a test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures and len(snode.trees()) == 1


@pytest.mark.cpu_only
def test_element_access_is_fast():
    f = factories.field(f32, (8, 8))
    f[1, 1] = 1
    best = min(timeit.repeat(lambda: f[1, 1], number=2000, repeat=20)) / 2000
    assert best < 2e-6
