"""Containers in memory that the host cannot touch: every way in and out, against NumPy, and what is moved for it."""

import copy
import pickle

import numpy as np
import pytest
from data_kit import DTYPES, samples
from fake_device import device_of

from quadrants.data import factories, memory, snode, tensor_factories
from quadrants.data.axes import NAMED
from quadrants.data.buffer_view import BufferView
from quadrants.data.device_array import DeviceArray
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.types import f32, f64, i8, i16, i32, u1, u8, u64

pytestmark = pytest.mark.usefixtures("runtime")


@pytest.fixture
def device(runtime, arch_name, monkeypatch):
    return device_of(arch_name, monkeypatch)


def _blocked(dtype):
    x = factories.field(dtype)
    snode.root.dense(NAMED["ij"], (2, 2)).dense(NAMED["ij"], (2, 3)).place(x)
    return x


def _interleaved(dtype):
    x, y = factories.field(dtype), factories.field(f64)
    snode.root.dense(NAMED["ij"], (4, 3)).place(x, y)
    return x


def _interleaved_vector(dtype):
    x, y = factories.matrix_field(3, 1, dtype, ndim=1), factories.field(i8)
    snode.root.dense(NAMED["i"], 5).place(y, x)
    return x


def _irregular(dtype):
    x = factories.matrix_field(2, 1, dtype, ndim=1)
    near, far = snode.root.dense(NAMED["i"], 4), snode.root.dense(NAMED["i"], 4)
    far.place(factories.field(f64), x.get_scalar_field(1))
    near.place(x.get_scalar_field(0))
    return x


CONTAINERS = {
    "field": lambda t: factories.field(t, (4, 3)),
    "field 0-d": lambda t: factories.field(t, ()),
    "field order offset": lambda t: factories.field(t, (4, 3), order="ji", offset=(-1, 5)),
    "blocked": _blocked,
    "interleaved": _interleaved,
    "vector AOS": lambda t: factories.matrix_field(3, 1, t, 5, ndim=1),
    "vector SOA": lambda t: factories.matrix_field(3, 1, t, 5, ndim=1, layout=1),
    "vector 0-d": lambda t: factories.matrix_field(3, 1, t, (), ndim=1),
    "matrix AOS": lambda t: factories.matrix_field(2, 3, t, (2, 2), order="ji"),
    "matrix SOA offset": lambda t: factories.matrix_field(2, 3, t, (2, 2), layout=1, offset=(3, -1)),
    "interleaved vector": _interleaved_vector,
    "irregular": _irregular,
    "ndarray": lambda t: factories.ndarray(t, (4, 3)),
    "ndarray 0-d": lambda t: factories.ndarray(t, ()),
    "laid out ndarray": lambda t: factories.laid_out_ndarray(t, (2, 3, 4), layout=(2, 0, 1)),
    "vector ndarray": lambda t: factories.matrix_ndarray(3, 1, t, 5, ndim=1),
    "matrix ndarray": lambda t: factories.matrix_ndarray(2, 3, t, (2, 2)),
    "tensor": lambda t: tensor_factories.tensor(t, (4, 3), layout=(1, 0)),
    "field tensor": lambda t: tensor_factories.tensor(t, (4, 3), backend=0, layout=(1, 0)),
}
every_container = pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def extents(container):
    return container.shape, tuple(getattr(container, "_impl", container)._element_shape)


def first_index(container):
    return getattr(getattr(container, "_impl", container), "_offset", None) or (0,) * len(container.shape)


def indices(container):
    start = first_index(container)
    for index in np.ndindex(*container.shape):
        yield tuple(i + o for i, o in zip(index, start)), index


def plain(x):
    return x.to_list() if hasattr(x, "to_list") else x


def assert_on_device(container):
    impl = getattr(container, "_impl", container)
    impl._check_usable()
    assert memory.is_device(impl._memory())


@every_container
@every_dtype
def test_content_goes_in_and_out(device, make, dtype):
    c = make(dtype)
    assert_bytes = c.to_numpy()
    assert_on_device(c)
    assert not assert_bytes.any()
    values = samples(dtype, assert_bytes.shape)
    for source in (values, np.array(values, order="F"), values[::-1].copy()[::-1] if values.ndim else values):
        c.fill(0)
        c.from_numpy(source)
        out = c.to_numpy()
        assert out.dtype == values.dtype and np.array_equal(out, values)
        assert out.flags.c_contiguous and out.flags.writeable
        out[...] = 0
        assert np.array_equal(c.to_numpy(copy=None), values)
    assert np.array_equal(c.to_numpy(dtype=np.float64), values.astype(np.float64))


@every_container
@every_dtype
def test_elements(device, make, dtype):
    c = make(dtype)
    values = samples(dtype, c.to_numpy().shape)
    c.from_numpy(values)
    rank = len(c.shape)
    for key, index in indices(c):
        expected = values[index].tolist() if rank else values.tolist()
        read = plain(c[key])
        assert read == expected or np.allclose(read, np.array(expected, float), rtol=1e-6)
        assert type(c[key]) is not bool
    for key, index in reversed(list(indices(c))):
        new = (np.ones(values[index].shape) if rank else np.ones(values.shape)).astype(values.dtype)
        c[key] = new.tolist()
        values[index if rank else ...] = new
        assert np.array_equal(c.to_numpy(), values)


@every_container
@pytest.mark.parametrize("dtype", [i16, f64, u1], ids=str)
@pytest.mark.parametrize("number", [0, 1, -1, 258])
def test_fill(device, make, dtype, number):
    c = make(dtype)
    shape = c.to_numpy().shape
    c.fill(number)
    assert np.array_equal(c.to_numpy(), np.full(shape, number, np.int64).astype(dtype.numpy_name))


@pytest.mark.parametrize("name", ["vector AOS", "vector SOA", "vector 0-d", "interleaved vector", "vector ndarray"])
def test_fill_with_an_element(device, name):
    c = CONTAINERS[name](i32)
    c.fill([7, -8, 9])
    assert c.to_numpy().reshape(-1, 3).tolist() == [[7, -8, 9]] * (c.to_numpy().size // 3)
    c.fill([5, 5, 5])
    assert (c.to_numpy() == 5).all()


@every_container
@pytest.mark.parametrize("kinds", [(f32, f32), (f64, i32), (i32, u1), (u8, f32)], ids=str)
def test_copy_from(device, make, kinds):
    source, target = make(kinds[0]), make(kinds[1])
    values = samples(kinds[0], source.to_numpy().shape)
    source.from_numpy(values)
    target.copy_from(source)
    with np.errstate(invalid="ignore"):
        assert np.array_equal(target.to_numpy(), values.astype(kinds[1].numpy_name))
    assert np.array_equal(source.to_numpy(), values)


def test_copy_between_layouts(device):
    a, b = factories.laid_out_ndarray(f32, (3, 5), layout=(1, 0)), factories.ndarray(f32, (3, 5))
    values = samples(f32, (3, 5))
    a.from_numpy(values)
    b.copy_from(a)
    assert np.array_equal(b.to_numpy(), values)
    rows, soa = CONTAINERS["vector AOS"](f32), CONTAINERS["vector SOA"](f32)
    rows.from_numpy(samples(f32, (5, 3)))
    soa.copy_from(rows)
    assert np.array_equal(soa.to_numpy(), rows.to_numpy())


@every_container
def test_live_elements(device, make):
    c = make(i32)
    shape, element = extents(c)
    if not element:
        c[tuple(first_index(c))] = 300
        assert c[tuple(first_index(c))] == 300
        return
    c.from_numpy(samples(i32, c.to_numpy().shape))
    before = c.to_numpy()
    key = first_index(c)
    live = c[key]
    at = (0,) * len(shape)
    live[(1,) * len(element)] = 77
    before[(*at, *(1,) * len(element))] = 77
    assert np.array_equal(c.to_numpy(), before)
    c.fill(3)
    assert live[(0,) * len(element)] == 3, "a live element sees later writes"
    assert np.array_equal(np.array((live + live).to_list()), np.full(element, 6))
    with pytest.raises(TypeError):
        live[(0,) * len(element)] = "text"


def test_writes_leave_neighbours_alone(device):
    a, v, b = factories.field(i8), factories.matrix_field(2, 1, f64, ndim=1), factories.field(u1)
    snode.root.dense(NAMED["ij"], (4, 5)).place(a, v, b)
    other = factories.field(f32, 7)
    first, second, third, last = samples(i8, (4, 5)), samples(f64, (4, 5, 2)), samples(u1, (4, 5)), samples(f32, 7)
    for write in range(3):
        b.from_numpy(third)
        a.from_numpy(first)
        other.from_numpy(last)
        v.from_numpy(second)
        if write == 1:
            a.fill(9)
            first[...] = 9
        if write == 2:
            v.fill([1.5, -2])
            second[...] = [1.5, -2]
            b[1, 1] = 1 - b[1, 1]
            third[1, 1] ^= True
        assert np.array_equal(a.to_numpy(), first) and np.array_equal(v.to_numpy(), second)
        assert np.array_equal(b.to_numpy(), third) and np.array_equal(other.to_numpy(), last)


def test_structs(device):
    members = {"a": i32, "p": factories_vector(f32), "inner": None}
    members.pop("inner")
    for layout in (0, 1):
        s = factories.struct_field(members, {}, shape=(3,), layout=layout)
        s.from_numpy({"a": np.arange(3, dtype=np.int32), "p": samples(f32, (3, 2))})
        s[1].a = 300
        s[1].p[0] = 2.5
        assert s[1].a == 300 and type(s[1].a) is int and s[1].p[0] == 2.5
        s[2] = {"a": -1, "p": [1, 2]}
        assert s[2].to_dict() == {"a": -1, "p": [1.0, 2.0]}
        assert s.to_numpy()["a"].tolist() == [0, 300, -1]
        t = factories.struct_field(members, {}, shape=(3,), layout=1 - layout)
        t.copy_from(s)
        assert t.to_numpy()["p"].tolist() == s.to_numpy()["p"].tolist()
        s.fill(1)
        assert (s.to_numpy()["p"] == 1).all()
        with pytest.raises(TypeError):
            s[0].a = 1.5


def factories_vector(dtype):
    from quadrants.ir.types import tensor_type

    return tensor_type((2,), dtype)


def test_struct_of_booleans_reads_numbers(device):
    s = factories.struct_field({"on": u1}, {}, shape=2)
    s[1].on = 5
    assert s[1].on == 1 and type(s[1].on) is int and s[0].on == 0


@every_container
def test_copies_and_pickles(device, make):
    c = make(f32)
    values = samples(f32, c.to_numpy().shape)
    c.from_numpy(values)
    if hasattr(c, "cell") or hasattr(c, "cells"):
        with pytest.raises(TypeError):
            copy.deepcopy(c)
        return
    for made in (copy.deepcopy(c), pickle.loads(pickle.dumps(c))):
        assert_on_device(made)
        assert np.array_equal(made.to_numpy(), values)
        made.fill(0)
    assert np.array_equal(c.to_numpy(), values)


def test_gradients_and_views_of_arrays(device):
    a = factories.ndarray(f32, 8, needs_grad=True)
    a.grad.fill(2)
    assert (a.grad.to_numpy() == 2).all() and not a.to_numpy().any()
    b = factories.ndarray(f32, 8)
    view = b[2:6]
    assert isinstance(view, BufferView) and view.get_ndarray() is b and (view.offset, view.size) == (2, 4)
    f = factories.field(f32, 4, needs_grad=True)
    f.grad.from_numpy(np.arange(4, dtype=np.float32))
    assert f.grad[3] == 3 and f[3] == 0


# ---------------------------------------------------------------- how much is moved


@pytest.mark.cpu_only
def test_one_element_moves_its_bytes_alone(device):
    cases = [
        (factories.field(f32, (100, 100)), (3, 4), 1.5, 4),
        (factories.ndarray(f64, 1000), 999, 2.5, 8),
        (_interleaved(i16), (1, 2), 7, 2),
        (factories.matrix_field(3, 1, f32, 1000, ndim=1), 5, [1, 2, 3], 12),
        (factories.matrix_ndarray(2, 2, f64, 1000), 9, [[1, 2], [3, 4]], 32),
    ]
    for c, key, value, nbytes in cases:
        c._check_usable()
        c[key] = value
        device.forget()
        c[key] = value
        assert (device.stored, device.fetched) == ([nbytes], [])
        device.forget()
        assert plain(c[key]) == value
        assert device.fetched == [nbytes] and not device.stored


@pytest.mark.cpu_only
def test_one_component_moves_its_bytes_alone(device):
    v = factories.matrix_field(3, 1, f32, 1000, ndim=1)
    live = v[7]
    device.forget()
    live[1] = 2
    assert device.stored == [4]
    device.forget()
    assert live[1] == 2
    assert sum(device.fetched) <= 4


@pytest.mark.cpu_only
def test_components_far_apart_move_alone(device):
    v = factories.matrix_field(3, 1, f32, 1 << 20, ndim=1, layout=1)
    v[5] = [1, 2, 3]
    device.forget()
    v[6] = [4, 5, 6]
    assert device.stored == [4, 4, 4] and not device.fetched
    device.forget()
    assert v[6].to_list() == [4, 5, 6] and v[5].to_list() == [1, 2, 3]
    assert sum(device.fetched) <= 24


@pytest.mark.cpu_only
def test_whole_arrays_move_once(device):
    a, f = factories.ndarray(f32, (64, 32)), factories.field(f32, (64, 32))
    for c in (a, f):
        values = samples(f32, (64, 32))
        c._check_usable()
        device.forget()
        c.from_numpy(values)
        assert device.stored == [values.nbytes] and not device.fetched
        device.forget()
        c.to_numpy()
        assert device.fetched == [values.nbytes] and not device.stored
    device.forget()
    a.copy_from(factories.ndarray(f32, (64, 32)))
    assert device.copied == [8192] and not device.stored and not device.fetched


@pytest.mark.cpu_only
def test_fills_stay_on_the_device(device):
    a = factories.ndarray(f64, 1 << 17)
    v = factories.matrix_field(3, 1, f32, 1 << 18, ndim=1)
    v._check_usable()
    device.forget()
    a.fill(0)
    v.fill(0)
    assert device.filled == [8 << 17, 12 << 18] and not device.stored
    device.forget()
    a.fill(1.5)
    v.fill([1, 2, 3])
    assert not device.fetched and sum(device.stored) <= 1 << 17
    assert (a.to_numpy() == 1.5).all() and (v.to_numpy() == [1, 2, 3]).all()


# ---------------------------------------------------------------- what is refused, and what is left in order


@every_container
def test_no_numpy_view(device, make):
    c = make(f32)
    with pytest.raises(ValueError, match="Zero-copy numpy requires a CPU backend"):
        c.to_numpy(copy=False)


@every_container
@pytest.mark.cpu_only
def test_memory_that_no_other_package_can_address(device, make):
    pytest.importorskip("torch", reason="needs torch")
    c = make(f32)
    with pytest.raises(ValueError, match="Zero-copy not available"):
        c.to_torch(copy=False)
    assert not c.to_torch().any() and not c.to_torch(copy=None).any()
    with pytest.raises(RuntimeError):
        c.to_dlpack()
    for name in ("__cuda_array_interface__", "__dlpack__", "__dlpack_device__"):
        assert not hasattr(c, name)


def test_errors_of_access_are_those_of_the_host(device):
    f, a, v = factories.field(i32, 4), factories.ndarray(i32, 4), factories.matrix_field(2, 1, f32, 4, ndim=1)
    for c in (f, a, v):
        for key in (4, -1, (0, 0), 1.5, "x"):
            with pytest.raises((IndexError, TypeError, AssertionError)):
                c[key]
            with pytest.raises((IndexError, TypeError, AssertionError)):
                c[key] = 1
    for value in (1.5, "x", 1 << 64):
        with pytest.raises(TypeError):
            f[0] = value
    f[0] = 1 << 31
    assert f[0] == -(1 << 31)
    u = factories.field(u64, 1)
    u[0] = (1 << 64) - 1
    assert u[0] == (1 << 64) - 1
    with pytest.raises(ValueError):
        f.from_numpy(np.zeros(5, np.int32))
    assert f.to_numpy().tolist() == [-(1 << 31), 0, 0, 0]


@pytest.mark.cpu_only
def test_out_of_memory_leaves_the_runtime_usable(device):
    kept = factories.field(f32, 8)
    kept.fill(3)
    device.most = 1000
    with pytest.raises(QuadrantsRuntimeError, match="4000 bytes"):
        factories.ndarray(f32, 1000)
    large = factories.field(f64, 500)
    with pytest.raises(QuadrantsRuntimeError, match="4000 bytes"):
        large.fill(1)
    with pytest.raises(QuadrantsRuntimeError):
        large.fill(1)
    small = factories.field(f32, 8)
    small.fill(1)
    assert (small.to_numpy() == 1).all() and (kept.to_numpy() == 3).all()
    factories.ndarray(f32, 100).fill(2)


def test_use_after_the_end(device, init):
    a, f = factories.ndarray(f32, 4), factories.field(f32, 4)
    f.fill(1)
    live = factories.matrix_ndarray(2, 1, f32, 3, ndim=1)[1]
    init()
    for c in (a, f):
        with pytest.raises(QuadrantsRuntimeError):
            c[0]
        with pytest.raises(QuadrantsRuntimeError):
            c.fill(1)
    assert live.to_list() == [0, 0], "a live element keeps its memory"


@pytest.mark.cpu_only
def test_array_of_device_memory_alone(device):
    buffer = device.allocate(64)
    window = DeviceArray(buffer, 16, (3, 2), (16, 4), np.int32)
    window[...] = np.arange(6).reshape(3, 2)
    assert np.asarray(window).tolist() == [[0, 1], [2, 3], [4, 5]] and window[1].shape == (2,)
    assert window.item((2, 1)) == 5 and window[2, 1] == 5 and window[2, 1, ...].shape == ()
    assert buffer.fetch(0, 16).sum() == 0 and buffer.fetch(24, 8).sum() == 0
    for key in (3, (0, 2), (0, 0, 0), -1):
        with pytest.raises(IndexError):
            window[key]
    with pytest.raises(ValueError):
        window.item(1)
    with pytest.raises(TypeError):
        window.view(np.int8)
