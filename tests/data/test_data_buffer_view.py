"""`qd.BufferView` on the host: slices, chains, misuse."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrants import session
from quadrants._ext.core import live_buffers
from quadrants.data import factories
from quadrants.data.buffer_view import BufferView
from quadrants.data.tensor_factories import tensor
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.types import f32
from quadrants.lang.annotations import BufferViewType

pytestmark = pytest.mark.usefixtures("runtime")


def window(v):
    return v.offset, v.size


def test_slices():
    a = factories.ndarray(f32, 32)
    views = [a[:16], a[8:24], a[:], a[8:], a[-8:], a[:100], a[20:10], a[32:], a[np.int64(3) : np.int32(5)], a[1:2:1]]
    assert [window(v) for v in views] == [
        (0, 16), (8, 16), (0, 32), (8, 24), (24, 8), (0, 32), (20, 0), (32, 0), (3, 2), (1, 1)
    ]  # fmt: skip
    assert all(v.get_ndarray() is a is v.arr and v.shape == (v.size,) for v in views)
    assert window(a[8:24][4:12][:4]) == (12, 4) and window(a[8:24].subview(2, 3)) == (10, 3)
    assert window(BufferView(arr=a, offset="4", size=2.0)) == (4, 2)


@given(st.data())
def test_chains_against_a_model(data):
    array = factories.ndarray(f32, data.draw(st.integers(1, 40)))
    view, model = array, np.arange(array.shape[0])
    bound = st.none() | st.integers(-50, 50)
    for _ in range(3):
        key = slice(data.draw(bound), data.draw(bound))
        view, model = view[key], model[key]
        assert np.arange(view.offset, view.offset + view.size).tolist() == model.tolist()


def test_compound_elements():
    for a in (factories.matrix_ndarray(3, 1, f32, 8, ndim=1), factories.matrix_ndarray(2, 2, f32, 8)):
        assert window(a[2:6]) == (2, 4)


def test_misuse():
    a = factories.ndarray(f32, 32)
    v = a[8:24]
    for call, kind, text in [
        (lambda: a[::2], ValueError, "requires step=1"), (lambda: v[::-1], ValueError, "requires step=1"),
        (lambda: factories.ndarray(f32, (2, 3))[0:1], TypeError, "requires a 1D array"),
        (lambda: BufferView(factories.ndarray(f32, (2, 3)), 0, 1), TypeError, "requires a 1D ndarray"),
        (lambda: BufferView(a, 30, 4), ValueError, "BufferView out of range: offset=30, size=4, ndarray length=32"),
        (lambda: BufferView(a, -1, 8), ValueError, "out of range"),
        (lambda: BufferView(a, 0, -1), ValueError, "out of range"),
        (lambda: v.subview(10, 8), ValueError, "subview out of range: offset=10, size=8, parent size=16"),
        (lambda: v.subview(-1, 2), ValueError, "subview out of range"),
        (lambda: v[0], TypeError, "host-side indexing requires a slice"),
        (lambda: v[0:2, 1], TypeError, "host-side indexing requires a slice"),
        (lambda: factories.ndarray(f32, 4, needs_grad=True)[0:2], TypeError, "support ndarrays with gradients"),
        (lambda: BufferView(factories.ndarray(f32, 4, needs_grad=True), 0, 2), TypeError, "with gradients"),
        (lambda: BufferView(v, 0, 2), TypeError, "Cannot nest BufferView.*subview"),
        (lambda: BufferView([1, 2], 0, 1), TypeError, "1D ndarray"),
        (lambda: BufferView(factories.ndarray(f32, 4), 1.9, 2), TypeError, "int as offset, not 1.9"),
        (lambda: BufferView(factories.ndarray(f32, 4), 1, "two"), TypeError, "int as size, not 'two'"),
        (lambda: v.subview(0, None), TypeError, "int as size, not None"),
        (lambda: v.subview(0.5, 1), TypeError, "int as offset, not 0.5"),
        (lambda: BufferView(np.zeros(3), 0, 1), TypeError, "1D ndarray"),
        (lambda: BufferView(factories.field(f32, 3), 0, 1), TypeError, "1D ndarray"),
        (lambda: len(v), TypeError, "no len"), (lambda: iter(v), TypeError, "not iterable"),
        (lambda: v.__setitem__, AttributeError, "__setitem__"),
    ]:  # fmt: skip
        with pytest.raises(kind, match=text):
            call()


def test_life():
    view = factories.ndarray(f32, 8)[2:4]
    assert live_buffers() >= 1 and view.arr.shape == (8,)
    view.arr.fill(3)
    again = pickle.loads(pickle.dumps(view))
    assert window(again) == (2, 2) and again.arr is not view.arr and again.arr[7] == 3
    assert window(BufferView(tensor(f32, 8), 1, 2)) == (1, 2)
    view.offset, view.size = 5, 1
    assert view.shape == (1,)
    session.reset()
    for use in (lambda: view[0:1], lambda: BufferView(view.arr, 0, 1)):
        with pytest.raises(QuadrantsRuntimeError, match="dead"):
            use()


def test_annotation():
    assert isinstance(BufferView[f32], BufferViewType) and BufferView[f32].dtype is f32
    assert int(BufferView[f32, "clamp"].boundary) == 1
