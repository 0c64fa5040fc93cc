"""Ndarrays: factories, elements, bulk operations, copies, pickles, life."""

import copy
import gc
import pickle
import threading

import numpy as np
import pytest
from data_kit import DTYPES, live_array, raw_bytes, samples

from quadrants import session
from quadrants._ext.core import live_buffers, token_key
from quadrants.data import factories
from quadrants.data import ndarray as nd
from quadrants.errors import QuadrantsIndexError, QuadrantsRuntimeError
from quadrants.ir.types import f32, f64, i32, tensor_type
from quadrants.lang.tensor_types import MatrixType, VectorType

pytestmark = pytest.mark.usefixtures("runtime")

MAKERS = {
    "scalar": lambda shape, **kw: factories.ndarray(f32, shape, **kw),
    "vector": lambda shape, **kw: factories.matrix_ndarray(3, 1, f32, shape, ndim=1, **kw),
    "matrix": lambda shape, **kw: factories.matrix_ndarray(2, 2, f32, shape, **kw),
    "vector type": lambda shape, **kw: VectorType(3, f32).ndarray(shape=shape, **kw),
    "matrix type": lambda shape, **kw: MatrixType(2, 2, f32).ndarray(shape=shape, **kw),
    "forwarded": lambda shape, **kw: factories.ndarray(MatrixType(2, 2, f32), shape, **kw),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("shape", [0, -1, 2.5, 2**31, (3, 0), (2.0, 1), "ab", None, (1,) * 17])
def test_bad_shapes(make, shape):
    with pytest.raises(QuadrantsRuntimeError, match="is not a valid shape for ndarray"):
        make(shape)


def test_long_axes_are_named():
    with pytest.raises(QuadrantsRuntimeError, match="an axis holds at most 2147483647 elements, so use several axes"):
        factories.ndarray(f32, 2**31 + 100)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_good_shapes_and_attributes(make):
    for shape, expected in [(3, (3,)), (np.int32(2), (2,)), ([2, 3], (2, 3)), ((), ()), ((1,) * 13, (1,) * 13)]:
        a = make(shape)
        assert a.shape == expected and a.dtype is f32 and not a.to_numpy().any()
        assert a.to_numpy().shape == expected + a.element_shape
        assert a.grad is None and not a.has_grad() and not a.has_dual() and a.layout is None
        assert a._get_nelement() == int(np.prod(expected)) and a._get_element_size() == 4 * a.n * a.m
        assert a.arr.nbytes == a._get_element_size() * a._get_nelement()


@pytest.mark.parametrize("bad", [np.float32, "f32", None, object()])
def test_bad_dtypes(bad):
    with pytest.raises(QuadrantsRuntimeError, match="is not supported as ndarray element type"):
        factories.ndarray(bad, 3)


def test_classes_and_names():
    scalar, vector, matrix = (MAKERS[k](2) for k in ("scalar", "vector", "matrix"))
    assert [type(a) for a in (scalar, vector, matrix)] == [nd.ScalarNdarray, nd.VectorNdarray, nd.MatrixNdarray]
    assert repr(scalar) == "<qd.ndarray>" and repr(vector) == "<3 Layout.AOS qd.Vector.ndarray>"
    assert repr(matrix) == "<2x2 Layout.AOS qd.Matrix.ndarray>"
    assert scalar.element_type is f32 and vector.element_type is tensor_type((3,), f32)
    assert token_key(vector.token) == ("ndarray", "[Tensor (3) f32]", 1, False, None)
    assert MAKERS["vector"](99).token == vector.token != MAKERS["vector"]((2, 2)).token
    assert nd.ScalarNdarray(f32, (2,)).shape == (2,) and nd.VectorNdarray(2, f32, 3).element_shape == (2,)
    assert nd.MatrixNdarray(2, 3, f32, 4).to_numpy().shape == (4, 2, 3)
    for a in (scalar, vector, matrix):
        for refused in (len, iter, list):
            with pytest.raises(TypeError):
                refused(a)


def test_gradients():
    for make in MAKERS.values():
        a = make((2, 3), needs_grad=True)
        a.grad.fill(2)
        assert type(a.grad) is type(a) and a.grad.shape == a.shape and a.grad.grad is None and a.has_grad()
        assert not a.to_numpy().any() and (a.grad.to_numpy() == 2).all() and a.grad is a.grad
        assert a.token != make((2, 3)).token
    with pytest.raises(QuadrantsRuntimeError, match="needs_grad"):
        factories.ndarray(i32, 3, needs_grad=True)


def test_index_errors():
    a = factories.ndarray(f32, (2, 3))
    with pytest.raises(QuadrantsIndexError, match=r"2d ndarray indexed with 1d indices: \(0,\)"):
        a[0]
    for key in ((2, 0), (-1, 0), (0, 3)):
        with pytest.raises(IndexError):
            a[key]
        with pytest.raises(IndexError):
            a[key] = 1
    b = factories.ndarray(f32, 3)
    with pytest.raises(IndexError):
        b[9] = 1
    with pytest.raises(IndexError):
        b[None]
    for key in (1.5, "a", (slice(0, 1), 2)):
        with pytest.raises(TypeError):
            (a if isinstance(key, tuple) else b)[key]
    with pytest.raises(TypeError):
        b[0:1] = 1
    assert not a.to_numpy().any() and not b.to_numpy().any()
    c = factories.ndarray(f64, ())
    c[None] = 2.5
    assert c[()] == c[None] == 2.5
    a[[1, 2]] = 4
    assert a[np.int64(1), 2] == 4


def test_compound_elements_are_live():
    a = MAKERS["matrix"]((2, 2))
    a[1, 0][0, 1] = 5
    a[0, 1] = [[1, 2], [3, 4]]
    assert a[1, 0][0, 1] == 5 and a.to_numpy()[0, 1].tolist() == [[1, 2], [3, 4]]
    v = MAKERS["vector"](2)
    v[1].z = 9
    assert v[1].to_list() == [0, 0, 9]


def test_bulk():
    v = MAKERS["vector"](2)
    v.fill([1, 2, 3])
    assert v.to_numpy().tolist() == [[1, 2, 3]] * 2
    v.fill(7)
    assert (v.to_numpy() == 7).all()
    with pytest.raises(IndexError):
        v.fill([1, 2])
    w = factories.matrix_ndarray(3, 1, f64, 2, ndim=1)
    w.copy_from(v)
    assert (w.to_numpy() == 7).all()
    for other in (3, np.zeros((2, 3)), MAKERS["vector"](3), MAKERS["scalar"](2), factories.ndarray(f32, (2, 3))):
        with pytest.raises(AssertionError):
            v.copy_from(other)
    with pytest.raises(AssertionError, match="copy_from shape mismatch"):
        v.copy_from(MAKERS["vector"](3))
    with pytest.raises(ValueError, match=r"Mismatch shape: \(2, 3\) expected, but \(3, 2\) provided"):
        v.from_numpy(np.zeros((3, 2)))
    with pytest.raises(TypeError):
        v.from_numpy([[1, 2, 3]] * 2)
    v.from_numpy(np.arange(6).reshape(3, 2).T)
    assert v.to_numpy().tolist() == [[0, 2, 4], [1, 3, 5]]
    assert v.to_numpy("int8").dtype == np.int8


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("element", [(), (3,), (2, 2)])
def test_copies_and_pickles(dtype, element):
    a = nd.make(dtype, element, (2, 3), False)
    values = samples(dtype, (2, 3, *element))
    a.from_numpy(values)
    for b in (pickle.loads(pickle.dumps(a)), copy.deepcopy(a)):
        assert type(b) is type(a) and b.dtype is dtype and b.shape == (2, 3) and b.element_shape == element
        assert np.array_equal(b.to_numpy(), values)
        b.fill(0)
    assert np.array_equal(a.to_numpy(), values)


def test_layout():
    a = factories.laid_out_ndarray(f32, (2, 3, 4), layout=(2, 0, 1))
    values = samples(f32, (2, 3, 4))
    a.from_numpy(values)
    assert a.shape == (2, 3, 4) and a.layout == (2, 0, 1) and np.array_equal(a.to_numpy(), values)
    assert all(a[i] == values[i] for i in np.ndindex(2, 3, 4))
    assert live_array(a).strides == (12, 4, 24)
    assert np.array_equal(np.frombuffer(raw_bytes(a.arr), np.float32).reshape(4, 2, 3), values.transpose(2, 0, 1))
    for b in (copy.deepcopy(a), copy.copy(a)):
        assert b.layout == (2, 0, 1) and np.array_equal(b.to_numpy(), values) and b.arr is not a.arr
    c = pickle.loads(pickle.dumps(a))
    assert c.layout is None and np.array_equal(c.to_numpy(), values)
    assert factories.laid_out_ndarray(f32, (2, 3), layout=(0, 1)).layout is None
    g = factories.laid_out_ndarray(f32, (2, 3), needs_grad=True, layout=(1, 0))
    assert g.grad.layout == (1, 0) and g.token != factories.laid_out_ndarray(f32, (2, 3), needs_grad=True).token
    with pytest.raises(ValueError, match=r"is not a permutation of range\(2\)"):
        factories.laid_out_ndarray(f32, (2, 3), layout=(0, 2))


def test_pickles_drop_gradients_and_need_a_runtime():
    a = factories.ndarray(f32, 2, needs_grad=True)
    data = pickle.dumps(a)
    assert pickle.loads(data).grad is None and copy.deepcopy(a).grad is None
    with pytest.raises(ValueError, match="version"):
        nd.restore(99, "f32", (2,), (), np.zeros(2, np.float32))
    session.reset()
    with pytest.raises(RuntimeError, match=r"qd.init\(\) must be called before unpickling ndarrays"):
        pickle.loads(data)


def test_reset_kills(init):
    a, v = factories.ndarray(f32, 3, needs_grad=True), MAKERS["vector"](2)
    view, grad = live_array(a), a.grad
    assert {a, grad, v} == set(session.get_runtime().ndarrays)
    session.reset()
    for x in (a, v, grad):
        assert x.token == -1 and x.arr is x.grad is x.dtype is x.shape is x.element_type is None
        assert repr(x) and not x.has_grad()
        uses = [lambda x=x: x.fill(0), lambda x=x: x[0], lambda x=x: x.to_numpy(), lambda x=x: x.to_dlpack(),
                lambda x=x: x.__setitem__(0, 1), lambda x=x: x.from_numpy(np.zeros(3, np.float32)),
                lambda x=x: copy.deepcopy(x), lambda x=x: pickle.dumps(x), lambda x=x: x[0:1]]  # fmt: skip
        for use in uses:
            with pytest.raises(QuadrantsRuntimeError):
                use()
    view[0] = 1
    init()
    with pytest.raises(QuadrantsRuntimeError, match="dead"):
        factories.ndarray(f32, 3).copy_from(a)


def test_freed_with_the_last_reference_from_any_thread(no_leak):
    def work():
        for _ in range(50):
            a = factories.ndarray(f32, 1000, needs_grad=True)
            a.fill(1)
            box.append(a)

    box = []
    threads = [threading.Thread(target=work) for _ in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert live_buffers() >= 300
    other = threading.Thread(target=box.clear)
    other.start()
    other.join()


@pytest.mark.cpu_only
def test_views_on_the_array_itself_do_not_leak(no_leak):
    a = factories.ndarray(f32, 3)
    a._np = a.to_numpy(copy=False)
    a._capsule = a.to_dlpack()
    gc.disable()
    try:
        before = live_buffers()
        del a
        assert live_buffers() == before - 1
    finally:
        gc.enable()


def test_attributes():
    a = factories.ndarray(f32, 3)
    for name in ("_tc", "_T_tc", "_np", "_T_np"):
        with pytest.raises(AttributeError):
            getattr(a, name)
        setattr(a, name, 1)
    assert a == a and a != factories.ndarray(f32, 3) and isinstance(hash(a), int)


def test_index_width_warning(monkeypatch):
    monkeypatch.setattr(nd.shapes, "MAX_EXTENT", 100)
    with pytest.warns(UserWarning, match="Ndarray index might be out of int32 boundary"):
        factories.ndarray(f32, (11, 11))
