"""Where gradients live: fields, vector and struct fields, ndarrays, tensors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import quadrants as qd

REAL = ("f16", "f32", "f64")


def test_a_field_has_companions_that_may_have_no_place(arch):
    x = qd.field(qd.f32, (3,))
    assert x.grad is x.grad is not None and x.dual is x.dual is not None and x.grad is not x.dual
    assert not x.has_grad() and not x.has_dual() and x.grad.grad is None and x.dual.grad is None
    for use in (lambda: x.grad.fill(0), lambda: x.grad[0], lambda: x.dual.to_numpy(), lambda: x.dual.shape):
        with pytest.raises(qd.QuadrantsRuntimeError, match="Field has no allocation"):
            use()
    n = qd.field(qd.i32, (3,))
    assert n.grad is None and n.dual is None and not n.has_grad()


@pytest.mark.parametrize("name", REAL)
def test_companions_have_dtype_and_shape_of_the_primal(arch, name):
    dtype = getattr(qd, name)
    x = qd.field(dtype, (2, 3), needs_grad=True, needs_dual=True)
    v = qd.Vector.field(2, dtype, (4,), needs_grad=True)
    m = qd.Matrix.field(2, 3, dtype, (4,), needs_dual=True)
    a = qd.ndarray(dtype, (5,), needs_grad=True)
    b = qd.Matrix.ndarray(2, 2, dtype, (5,), needs_grad=True)
    for primal, companion in ((x, x.grad), (x, x.dual), (v, v.grad), (m, m.dual), (a, a.grad), (b, b.grad)):
        assert companion.dtype == dtype and companion.shape == primal.shape
        values = companion.to_numpy()
        assert not values.any() and values.shape == primal.to_numpy().shape
    assert v.has_grad() and not v.has_dual() and m.has_dual() and not m.has_grad()


INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "u1")


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_have_no_gradients(arch, name):
    dtype = getattr(qd, name)
    for make in (
        lambda: qd.field(dtype, (3,), needs_grad=True),
        lambda: qd.field(dtype, (3,), needs_dual=True),
        lambda: qd.Vector.field(2, dtype, (3,), needs_grad=True),
        lambda: qd.Matrix.field(2, 2, dtype, (3,), needs_dual=True),
        lambda: qd.Struct.field({"a": qd.f32, "b": dtype}, shape=(3,), needs_grad=True),
    ):
        with pytest.raises(qd.QuadrantsRuntimeError, match="is not supported for field with .*needs_grad"):
            make()
    if name == "u1":
        return
    for make in (
        lambda: qd.ndarray(dtype, (3,), needs_grad=True),
        lambda: qd.Vector.ndarray(2, dtype, (3,), needs_grad=True),
        lambda: qd.tensor(dtype, (3,), needs_grad=True),
    ):
        with pytest.raises(qd.QuadrantsRuntimeError, match="is not supported for ndarray with .*needs_grad"):
            make()


def test_a_failed_declaration_leaves_no_trace(arch):
    with pytest.raises(qd.QuadrantsRuntimeError):
        qd.field(qd.i32, needs_grad=True)
    with pytest.raises(qd.QuadrantsRuntimeError):
        qd.Vector.field(2, qd.i32, needs_dual=True)

    @qd.kernel
    def answer() -> qd.i32:
        return 42

    assert answer() == 42


def test_explicit_places(arch):
    x, y = qd.field(qd.f32), qd.field(qd.f32)
    qd.root.dense(qd.i, 4).place(x, x.grad)
    qd.root.dense(qd.i, 4).place(y)
    assert x.has_grad() and not y.has_grad()
    x.grad[2] = 5
    assert x.grad.to_numpy().tolist() == [0, 0, 5, 0] and not x.to_numpy().any()
    with pytest.raises(RuntimeError, match="has been placed"):
        qd.root.place(x.grad)


@pytest.mark.parametrize("which", ["grad", "dual"])
def test_lazy_companions(arch, which):
    x, v, n = qd.field(qd.f32), qd.Vector.field(2, qd.f64), qd.field(qd.i32)
    s = qd.Struct.field({"a": qd.f32, "b": qd.types.vector(3, qd.f32)})
    done = qd.field(qd.f32, (2,), needs_grad=True, needs_dual=True)
    qd.root.dense(qd.ij, (2, 3)).place(x, v, offset=(1, 1))
    qd.root.dense(qd.i, 4).place(n, s)
    getattr(qd.root, f"lazy_{which}")()
    for field in (x, v, s.a, s.b):
        companion = getattr(field, which)
        assert (field.has_grad(), field.has_dual()) == (which == "grad", which == "dual")
        assert companion.shape == field.shape
    assert not n.has_grad() and done.has_grad() and done.has_dual()
    getattr(x, which)[2, 3] = 4
    assert getattr(x, which)[2, 3] == 4 and x[2, 3] == 0


def test_members_of_struct_fields(arch):
    s = qd.Struct.field({"a": qd.f32, "b": qd.types.vector(2, qd.f32)}, shape=(3,), needs_grad=True)
    s.grad.a[1] = 7
    s.b.grad[2] = [1, 2]
    assert s.a.grad[1] == 7 and s.grad.b[2].to_list() == [1, 2] and s.grad[1].a == 7
    s.grad.fill(0)
    assert not s.a.grad.to_numpy().any() and s.has_grad() and not s.has_dual()

    @qd.kernel
    def write():
        for i in s:
            s.grad[i].a = i
            s.grad[i].b[1] = s.grad[i].a * 2

    write()
    assert s.a.grad.to_numpy().tolist() == [0, 1, 2] and s.b.grad.to_numpy()[:, 1].tolist() == [0, 2, 4]


def test_members_without_gradients(arch):
    s = qd.Struct.field({"a": qd.f32, "n": qd.i32})
    qd.root.dense(qd.i, 2).place(s)
    qd.root.lazy_grad()
    assert s.a.has_grad() and s.n.grad is None and s.has_grad()


def test_ndarrays(arch):
    a = qd.ndarray(qd.f32, (3,))
    b = qd.ndarray(qd.f32, (3,), needs_grad=True)
    assert a.grad is None and not a.has_grad() and b.grad is b.grad and b.has_grad() and not b.has_dual()
    assert b.grad.grad is None
    for make in (qd.ndarray, lambda *args, **kw: qd.Vector.ndarray(2, *args, **kw)):
        with pytest.raises(TypeError, match="needs_dual"):
            make(qd.f32, (3,), needs_dual=True)
    b.grad.fill(3)
    copy = pickle.loads(pickle.dumps(b))
    assert copy.grad is None and copy.to_numpy().tolist() == b.to_numpy().tolist()
    qd.reset()
    assert b.grad is None


@pytest.mark.parametrize("backend", ["FIELD", "NDARRAY"])
def test_tensors(arch, backend):
    t = qd.tensor(qd.f32, (2, 3), backend=qd.Backend[backend], layout=(1, 0), needs_grad=True)
    bare = qd.tensor(qd.f32, (2,), backend=qd.Backend[backend])
    assert t.grad is t.grad and isinstance(t.grad, qd.Tensor) and t.grad.layout == t.layout == (1, 0)
    assert t.has_grad() and not bare.has_grad()
    t.grad[1, 2] = 4

    @qd.kernel
    def double(t: qd.Tensor):
        for i, j in qd.ndrange(2, 3):
            t.grad[i, j] = t.grad[i, j] * 2 + t[i, j]

    double(t)
    assert t.grad.to_numpy().tolist() == [[0, 0, 0], [0, 0, 8]]


def test_kernels_read_and_write_gradients(arch):
    x = qd.field(qd.f32, (3,), needs_grad=True, needs_dual=True)
    a = qd.ndarray(qd.f32, (3,), needs_grad=True)
    x.grad.from_numpy(np.array([1, 2, 3], np.float32))

    @qd.kernel
    def move(a: qd.types.ndarray()):
        for i in x:
            a.grad[i] = x.grad[i]
            x.dual[i] += 2 * a.grad[i]

    move(a)
    assert a.grad.to_numpy().tolist() == [1, 2, 3] and x.dual.to_numpy().tolist() == [2, 4, 6]


def test_kernels_that_use_an_unplaced_gradient(arch):
    x = qd.field(qd.f32, (3,), name="x")

    @qd.kernel
    def read() -> qd.f32:
        return x.grad[0]

    @qd.kernel
    def over():
        for i in x.grad:
            pass

    for k in (read, over):
        with pytest.raises(qd.QuadrantsCompilationError, match=r"Gradient x\.grad has not been placed, check whether"):
            k()


def test_annotations_of_arrays(arch):
    @qd.kernel
    def needs(a: qd.types.ndarray(dtype=qd.f32, ndim=1, needs_grad=True)):
        for i in a:
            a[i] = 1

    needs(qd.ndarray(qd.f32, (3,), needs_grad=True))
    with pytest.raises(ValueError, match="required needs_grad=True"):
        needs(qd.ndarray(qd.f32, (3,)))


def test_a_reset_clears_both(arch):
    x = qd.field(qd.f32, (3,), needs_grad=True)
    x.fill(1)
    grad = x.grad
    qd.reset()
    for dead in (x, grad):
        with pytest.raises(qd.QuadrantsRuntimeError, match="dead"):
            dead.to_numpy()
