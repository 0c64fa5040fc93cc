"""`qd.Tensor`: factories, keywords, layouts, pickles; one behaviour on both backends."""

import copy
import gc
import itertools
import pickle

import numpy as np
import pytest
from data_kit import live_array, samples

import quadrants as qd
from quadrants import session
from quadrants.data import factories
from quadrants.data import tensor as tensors
from quadrants.data.buffer_view import BufferView
from quadrants.data.field import ScalarField
from quadrants.data.ndarray import ScalarNdarray
from quadrants.data.tensor import MatrixTensor, Tensor, VectorTensor, wrap
from quadrants.data.tensor_factories import tensor
from quadrants.ir.types import f32, i32
from quadrants.lang.enums import Backend
from quadrants.lang.matrix import Matrix, Vector
from quadrants.lang.tensor_types import MatrixType, VectorType

pytestmark = pytest.mark.usefixtures("runtime")
both = pytest.mark.parametrize("backend", [Backend.FIELD, Backend.NDARRAY])


def test_wrap_picks_the_class():
    kinds = [
        (factories.field(f32, 3), Tensor), (factories.matrix_field(3, 1, f32, 2, ndim=1), VectorTensor),
        (factories.matrix_field(3, 1, f32, 2), MatrixTensor), (factories.ndarray(f32, 3), Tensor),
        (factories.matrix_ndarray(3, 1, f32, 2, ndim=1), VectorTensor),
        (factories.matrix_ndarray(2, 2, f32, 2), MatrixTensor),
        (factories.matrix_field(2, 2, f32, 2).get_scalar_field(0, 1), Tensor),
    ]  # fmt: skip
    for impl, kind in kinds:
        t = wrap(impl)
        assert type(t) is kind and t._unwrap() is impl and t.shape == impl.shape and t.dtype is impl.dtype
        assert Tensor(impl)._unwrap() is impl
        with pytest.raises(TypeError):
            Tensor(t)
    for bad in (np.zeros(3), [1], None, factories.struct_field({"a": f32}, shape=2)):
        for make in (wrap, Tensor):
            with pytest.raises(TypeError):
                make(bad)


@both
def test_factories(backend):
    t = tensor(dtype=f32, shape=(np.int64(2), 3), backend=backend, needs_grad=True)
    assert type(t._unwrap()) is (ScalarNdarray if backend else ScalarField) and t.shape == (2, 3) and t.has_grad()
    assert tensor(f32, 4, backend=int(backend)).shape == (4,) and tensor(f32, (), backend=backend)[None] == 0
    v, m = Vector.tensor(3, f32, 2, backend=backend), Matrix.tensor(n=2, m=1, dtype=f32, shape=(2,), backend=backend)
    assert (type(v), v.element_shape, type(m), m.element_shape) == (VectorTensor, (3,), MatrixTensor, (2, 1))
    assert type(tensor(VectorType(3, f32), 2, backend=backend)) is VectorTensor
    assert type(tensor(MatrixType(3, 2, f32), 2, backend=backend)) is MatrixTensor
    with pytest.raises(RuntimeError):
        tensor(i32, 2, backend=backend, needs_grad=True)


def test_keyword_refusals():
    for call, text in [
        (lambda: tensor(f32, 2, order="i"), r"does not accept order=.*pass layout="),
        (lambda: Vector.tensor(3, f32, 2, order="i"), "does not accept order="),
        (lambda: tensor(f32, 2, offset=3), "it accepts.*layout"),
        (lambda: Vector.tensor(3, f32, 2, layout=(0,)), "layout="),
        (lambda: Matrix.tensor(2, 2, f32, 2, needs_dual=True), "it accepts"),
        (lambda: tensor(VectorType(3, f32), (2, 2), layout=(1, 0)), "layout"),
        (lambda: tensor(factories.ndarray(f32, 2), 2), "qd.wrap"),
        (lambda: tensor(tensor(f32, 2), 2), "qd.wrap"),
    ]:
        with pytest.raises(TypeError, match=text):
            call()
    for bad in (2, -1, "NDARRAY", None, True):
        with pytest.raises(ValueError, match="qd.Backend"):
            tensor(f32, 2, backend=bad)


@both
@pytest.mark.parametrize("bad", [(0,), (0, 0), (0, 2), (1, 0, 2), "ji", 3, (0.0, 1.0)])
def test_bad_layouts(backend, bad):
    with pytest.raises(ValueError, match=r"is not a permutation of range\(2\)"):
        tensor(f32, (2, 3), layout=bad, backend=backend)


@both
@pytest.mark.parametrize("layout", list(itertools.permutations(range(3))))
def test_layouts(backend, layout):
    shape = (2, 3, 4)
    t = tensor(f32, shape, layout=list(layout), backend=backend, needs_grad=True)
    assert t.layout == (None if layout == (0, 1, 2) else layout) == t.grad.layout
    values = samples(f32, shape)
    t.from_numpy(values)
    assert t.shape == shape and np.array_equal(t.to_numpy(), values) and t[1, 2, 3] == values[1, 2, 3]
    t[1, 0, 2] = 8
    values[1, 0, 2] = 8
    plain = tensor(f32, tuple(shape[axis] for axis in layout), backend=backend)
    plain.from_numpy(values.transpose(layout))
    assert raw(t) == raw(plain)
    for made in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert made.layout == t.layout and made._backend() is backend and np.array_equal(made.to_numpy(), values)
        assert not made.has_grad()
    if t.layout is not None:
        with pytest.raises(TypeError, match="requires a full tuple key"):
            t[0]


def raw(t):
    strides = live_array(t).strides
    order = sorted(range(len(strides)), key=lambda axis: -strides[axis])
    return t.to_numpy().transpose(order).tobytes()


@both
def test_surface(backend):
    t = tensor(f32, (2, 3), backend=backend, needs_grad=True)
    assert t.grad is t.grad and isinstance(t.grad, Tensor) and t.grad.shape == (2, 3) and not t.has_dual()
    t.fill(2)
    t.grad.fill(3)
    assert t.to_numpy(np.int32).tolist() == [[2] * 3] * 2 and t.grad[0, 0] == 3
    u = tensor(f32, (2, 3), backend=backend)
    u.copy_from(t)
    u.copy_from(t._unwrap())
    assert u[1, 2] == 2
    other = tensor(f32, (2, 3), backend=1 - backend)
    with pytest.raises(AssertionError if backend else TypeError):
        u.copy_from(other)
    assert u == u and u != t and len({t, u, t}) == 2
    for missing in ("snode", "keep_dims", "_tc"):
        with pytest.raises(AttributeError):
            getattr(t, missing)
    for refused in (iter, len):
        with pytest.raises(TypeError):
            refused(t)
    assert repr(tensor(f32, (2, 3), layout=(1, 0), backend=backend)) == (
        f"Tensor(shape=(2, 3), dtype=f32, backend={backend.name}, layout=(1, 0))"
    )


@both
@pytest.mark.cpu_only
def test_views(backend):
    t = tensor(f32, (2, 3), backend=backend)
    t.to_numpy(copy=False)[0, 1] = 9
    assert t[0, 1] == 9 and "dltensor" in repr(t.to_dlpack()) and "versioned" in repr(t.to_dlpack(versioned=True))


def test_gradients_without_needs_grad():
    f, a = tensor(f32, 2, backend=0), tensor(f32, 2, backend=1)
    assert a.grad is None and not a.has_grad() and not f.has_grad()
    assert f.grad is f.grad and "unallocated" in repr(f.grad)
    assert tensor(i32, 2, backend=0).grad is None


def test_slices():
    a, f = tensor(f32, 8), tensor(f32, 8, backend=0)
    view = a[2:5]
    assert isinstance(view, BufferView) and view.arr is a._unwrap() and (view.offset, view.size) == (2, 3)
    with pytest.raises(TypeError):
        f[2:5]


@both
@pytest.mark.parametrize("element", [(3,), (2, 1), (2, 2)])
def test_compound_pickles(backend, element):
    make = {1: Vector.tensor, 2: Matrix.tensor}[len(element)]
    t = make(*element, i32, (2, 2), backend=backend)
    values = np.arange(4 * np.prod(element)).reshape(2, 2, *element)
    t.from_numpy(values)
    for made in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert type(made) is type(t) and made.element_shape == element and made._backend() is backend
        assert np.array_equal(made.to_numpy(), t.to_numpy()) and made[1, 1].to_list() == values[1, 1].tolist()


def test_pickles_need_a_runtime_and_a_known_version():
    data = pickle.dumps(tensor(f32, 2))
    with pytest.raises(ValueError, match="version"):
        tensors._restore(99, "f32", (2,), (), 1, None, np.zeros(2))
    session.reset()
    with pytest.raises(RuntimeError, match=r"qd.init\(\) must be called"):
        pickle.loads(data)


@pytest.mark.cpu_only
def test_wrappers_do_not_keep_cycles(no_leak):
    gc.disable()
    try:
        t = tensor(f32, 4, needs_grad=True)
        t.grad.fill(1)
        t._unwrap()._np = t.to_numpy(copy=False)
        del t
    finally:
        gc.enable()


@both
@pytest.mark.parametrize("layout", list(itertools.permutations(range(3))))
def test_layouts_in_kernels(backend, layout):
    t = tensor(i32, (2, 3, 4), layout=list(layout), backend=backend)

    @qd.kernel
    def number(t: qd.Tensor) -> qd.i32:
        for i, j, k in qd.ndrange(t.shape[0], t.shape[1], t.shape[2]):
            t[i, j, k] = i * 100 + j * 10 + k
        return t.shape[0] * 100 + t.shape[1] * 10 + t.shape[2]

    assert number(t) == 234
    i, j, k = np.ogrid[:2, :3, :4]
    assert np.array_equal(t.to_numpy(), i * 100 + j * 10 + k)


def test_a_tensor_that_is_a_field_is_a_global_of_kernels():
    counts = tensor(i32, (4,), backend=Backend.FIELD)
    pairs = Vector.tensor(2, f32, (3,), backend=Backend.FIELD)
    holder = type("Holder", (), {"counts": counts})

    @qd.kernel
    def run():
        for i in counts:
            counts[i] = i + counts.shape[0]
        for i in range(4):
            holder.counts[i] += 10
        for i in pairs:
            pairs[i] = [i, 2 * i]

    run()
    assert counts.to_numpy().tolist() == [14, 15, 16, 17]
    assert pairs.to_numpy().tolist() == [[0, 0], [1, 2], [2, 4]]

    handed_over = tensor(i32, (4,))

    @qd.kernel
    def of_an_ndarray():
        handed_over[0] = 1

    with pytest.raises(qd.QuadrantsCompilationError, match="'handed_over' is not registered as a kernel parameter"):
        of_an_ndarray()
