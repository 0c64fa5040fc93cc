"""Whole fields at once: fill, copy_from, NumPy round trips, C casts."""

import numpy as np
import pytest
from data_kit import DTYPES, samples
from hypothesis import given
from hypothesis import strategies as st

from quadrants.data import factories, snode
from quadrants.data.axes import NAMED
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.types import f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u64
from quadrants.lang.matrix import Matrix, Vector

pytestmark = pytest.mark.usefixtures("runtime")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_round_trip_of_every_dtype(dtype):
    values = samples(dtype, (4, 3))
    for f in (factories.field(dtype, (4, 3)), factories.ndarray(dtype, (4, 3))):
        f.from_numpy(values)
        assert np.array_equal(f.to_numpy(), values) and f.to_numpy().dtype == values.dtype
        f.from_numpy(np.asfortranarray(values))
        f.from_numpy(values[::-1, ::-1])
        assert np.array_equal(f.to_numpy(), values[::-1, ::-1])
        f.from_numpy(values.T.copy().T)
        assert np.array_equal(f.to_numpy(), values)
        assert f.to_numpy().flags.c_contiguous


@given(st.data())
def test_round_trip_of_matrices(data):
    dtype = data.draw(st.sampled_from(DTYPES))
    n, m = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    shape = tuple(data.draw(st.lists(st.integers(1, 4), max_size=3)))
    order = "".join(data.draw(st.permutations("ijk"[: len(shape)])))
    offset = tuple(data.draw(st.integers(-3, 3)) for _ in shape)
    layout = data.draw(st.sampled_from([0, 1]))
    f = factories.matrix_field(n, m, dtype, shape, order=order, offset=offset, layout=layout)
    values = samples(dtype, (*shape, n, m), seed=n)
    f.from_numpy(values)
    out = f.to_numpy(keep_dims=True)
    assert out.shape == values.shape and np.array_equal(out, values)
    for i in range(n):
        for j in range(m):
            assert np.array_equal(f.get_scalar_field(i, j).to_numpy(), values[..., i, j])
    at = tuple(o + e - 1 for o, e in zip(offset, shape, strict=True))
    last = values[tuple(e - 1 for e in shape)]
    assert f[at].to_list() == last.tolist()
    assert f.interleaved == (layout == 0 or n * m == 1 or not shape)


def test_export_shapes():
    assert factories.matrix_field(3, 1, f32, 4, ndim=1).to_numpy().shape == (4, 3)
    assert factories.matrix_field(3, 1, f32, 4, ndim=1).to_numpy(keep_dims=True).shape == (4, 3, 1)
    assert factories.matrix_field(3, 1, f32, 4).to_numpy().shape == (4, 3)
    assert factories.matrix_field(3, 1, f32, 4).to_numpy(True).shape == (4, 3, 1)
    assert factories.matrix_field(1, 3, f32, 4).to_numpy().shape == (4, 1, 3)
    assert factories.matrix_field(2, 3, f32, ()).to_numpy().shape == (2, 3)
    assert factories.field(f32, ()).to_numpy().shape == ()


def test_export_dtype():
    f = factories.field(f32, 3)
    f.from_numpy(np.array([1.9, -1.9, 300], np.float32))
    assert f.to_numpy(np.float64).dtype == f.to_numpy("float64").dtype == np.float64
    assert f.to_numpy(np.int32).tolist() == [1, -1, 300]
    assert f.to_numpy(bool).tolist() == [True, True, True]
    with pytest.raises(TypeError):
        f.to_numpy(f64)


@pytest.mark.parametrize(
    "dtype, given, stored",
    [(i32, [1.9, -1.9], [1, -1]), (i8, [300, -129], [44, 127]), (u8, [-1, 256], [255, 0]), (u1, [0.5, 0.0], [1, 0]),
     (u1, [2, 0], [1, 0]), (f32, [1, 2], [1, 2]), (f16, [1e6, 1], [np.inf, 1]), (i64, [2**40, -(2**40)], None),
     (u16, [65537, 3], [1, 3]), (i16, [True, False], [1, 0])],
)  # fmt: skip
def test_imports_cast_as_c(dtype, given, stored, recwarn):
    for f in (factories.field(dtype, 2), factories.ndarray(dtype, 2)):
        f.from_numpy(np.array(given))
        assert [f[0], f[1]] == (stored if stored is not None else given)
    assert not recwarn.list


@pytest.mark.parametrize(
    "array",
    [np.zeros(2, complex), np.zeros(2, object), np.array(["a", "b"]), np.zeros(2, "M8[s]"), np.zeros(2, ">f4"),
     np.zeros(2, np.longdouble), np.zeros(2, "V2")],
    ids=lambda a: str(a.dtype),
)  # fmt: skip
def test_foreign_dtypes(array):
    for f in (factories.field(f32, 2), factories.ndarray(f32, 2), factories.matrix_field(2, 1, f32, (), ndim=1)):
        with pytest.raises(TypeError, match="dtype"):
            f.from_numpy(array)


@pytest.mark.parametrize("thing", [[1, 2], (1, 2), 3, None, "ab"])
def test_import_needs_arrays(thing):
    for f in (factories.field(f32, 2), factories.ndarray(f32, 2), factories.matrix_field(2, 1, f32, 2, ndim=1)):
        with pytest.raises(TypeError):
            f.from_numpy(thing)


def test_subclasses_are_read_as_arrays():
    f = factories.field(f32, (1, 2))
    with pytest.warns(PendingDeprecationWarning):
        f.from_numpy(np.matrix([[1, 2]]))
    f.from_numpy(np.ma.array([[3.0, 4.0]]))
    assert f.to_numpy().tolist() == [[3, 4]] and type(f.to_numpy()) is np.ndarray


def test_import_shape_errors():
    f = factories.field(f32, 3)
    for shape in [(4,), (3, 1), ()]:
        with pytest.raises(ValueError, match=r"qd.field shape \(3,\) does not match the numpy array shape"):
            f.from_numpy(np.zeros(shape))
    v = factories.matrix_field(3, 1, f32, 4, ndim=1)
    for shape in [(4, 2), (3, 3), (4, 3, 2), (5, 3)]:
        with pytest.raises(ValueError):
            v.from_numpy(np.ones(shape))
    for shape in [(4,), (4, 3, 1, 1), ()]:
        with pytest.raises(AssertionError):
            v.from_numpy(np.ones(shape))
    m = factories.matrix_field(2, 2, f32, 4)
    with pytest.raises(AssertionError):
        m.from_numpy(np.ones((4, 2)))
    assert not v.to_numpy().any() and not m.to_numpy().any()
    v.from_numpy(np.ones((4, 3, 1)))
    assert v.to_numpy().all()


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 3, 1)], ids=str)
def test_vectors_come_in_as_lines_columns_and_rows(shape):
    """A row is an axis of length 1 before that of the vector; other arrays of as many axes are refused."""
    v = factories.matrix_field(3, 1, f32, shape, ndim=1)
    values = np.arange(np.prod(shape) * 3, dtype=np.float32).reshape(*shape, 3)
    for form in (values, values[..., None], values[..., None, :]):
        v.fill(0)
        v.from_numpy(form)
        assert (v.to_numpy() == values).all()
    with pytest.raises(ValueError, match="Mismatch shape"):
        v.from_numpy(np.ones((*shape, 1, 2)))
    column = factories.matrix_field(3, 1, f32, shape)
    with pytest.raises(ValueError, match="Mismatch shape"):
        column.from_numpy(values[..., None, :])


def test_fill_is_exact():
    f, k = factories.field(f64, 2), factories.field(i64, 2)
    f.fill(0.1)
    k.fill(2**40)
    assert f[0] == 0.1 and k[1] == 2**40
    a, b = factories.ndarray(f64, 2), factories.ndarray(u64, 2)
    a.fill(0.1)
    b.fill(2**64 - 1)
    assert a[0] == 0.1 and b[1] == 2**64 - 1


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("value", [True, False, -1, 1.7, 300, np.float32(2.5), np.int8(-3), np.array(4)], ids=repr)
def test_fill_casts_as_c(dtype, value, recwarn):
    expected = np.asarray(value)
    if dtype.kind == "u" and expected.dtype.kind == "i" or dtype.name == "i8":
        expected = expected.astype(np.int64)
    expected = expected.astype(dtype.numpy_name)
    for f in (factories.field(dtype, 2), factories.ndarray(dtype, 2)):
        f.fill(value)
        assert f.to_numpy().tolist() == [expected.item()] * 2
    assert not recwarn.list


@pytest.mark.parametrize("value", ["a", None, [1], {}, 1j, np.zeros(3)], ids=repr)
def test_fill_needs_a_number(value):
    for f in (factories.field(f32, 3), factories.ndarray(f32, 3)):
        with pytest.raises((TypeError, AssertionError)):
            f.fill(value)


@pytest.mark.parametrize("layout", [0, 1])
def test_fill_elements(layout):
    v = factories.matrix_field(3, 1, i32, 2, ndim=1, layout=layout)
    for value in ([1, 2, 3], (1, 2, 3), Vector([1, 2, 3]), np.array([1, 2, 3]), [1.9, 2.2, 3.1]):
        v.fill(0)
        v.fill(value)
        assert v.to_numpy().tolist() == [[1, 2, 3]] * 2
    m = factories.matrix_field(2, 2, f32, 2, layout=layout)
    for value in ([[1, 2], [3, 4]], Matrix([[1, 2], [3, 4]])):
        m.fill(value)
        assert m.to_numpy().tolist() == [[[1, 2], [3, 4]]] * 2
    m.fill(True)
    assert (m.to_numpy() == 1).all()
    for field, value in ((v, [1, 2]), (v, [1, 2, 3, 4]), (m, [[1, 2]]), (m, [[1], [2]])):
        with pytest.raises(AssertionError):
            field.fill(value)
    with pytest.raises(TypeError):
        m.fill([1, 2])


def test_copy_from():
    f, g = factories.field(f32, (2, 3), order="ji", offset=(3, -3)), factories.field(i32, (2, 3))
    g.from_numpy(np.arange(6).reshape(2, 3))
    f.copy_from(g)
    assert f.to_numpy().tolist() == [[0, 1, 2], [3, 4, 5]] and f[4, -1] == 5
    with pytest.raises(TypeError, match="Cannot copy from a non-field object"):
        f.copy_from(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(3, 2\)"):
        f.copy_from(factories.field(f32, (3, 2)))
    v, w = factories.matrix_field(3, 1, f32, 2, ndim=1), factories.matrix_field(3, 1, f64, 2, ndim=1, layout=1)
    w.fill([1, 2, 3])
    v.copy_from(w)
    assert v.to_numpy().tolist() == [[1, 2, 3]] * 2
    with pytest.raises(ValueError):
        v.copy_from(factories.matrix_field(2, 1, f32, 2, ndim=1))
    v.copy_from(v)
    assert v.to_numpy().tolist() == [[1, 2, 3]] * 2


def test_blocked_fields_exchange_in_canonical_order():
    x = factories.field(i32)
    v = factories.matrix_field(2, 1, f32, ndim=1)
    snode.root.dense(NAMED["ij"], (4, 8)).dense(NAMED["i"], 2).place(x, v)
    values = np.arange(64).reshape(8, 8)
    x.from_numpy(values)
    v.from_numpy(np.stack([values, -values], axis=-1))
    assert np.array_equal(x.to_numpy(), values) and np.array_equal(v.to_numpy()[..., 1], -values)
    assert all(x[i] == values[i] and v[i].to_list() == [values[i], -values[i]] for i in np.ndindex(8, 8))
    v[5, 3] = [1, 2]
    assert v[5, 3].to_list() == [1, 2]
    assert str(x) == str(values)
    for copy in (True, None):
        assert np.array_equal(x.to_numpy(copy=copy), values)
    with pytest.raises(ValueError, match="Zero-copy"):
        x.to_numpy(copy=False)


def test_unplaced_companions_say_so():
    f, v = factories.field(f32, 3), factories.matrix_field(2, 1, f32, 3, ndim=1)
    for g in (f.grad, f.dual, v.grad, v.dual):
        uses = [lambda g=g: g.fill(1), lambda g=g: g[0], lambda g=g: g.to_numpy(), lambda g=g: g.to_numpy(copy=False),
                lambda g=g: g.from_numpy(np.zeros(3)), lambda g=g: g.__setitem__(0, 1), lambda g=g: g.to_dlpack(),
                lambda g=g: g.copy_from(g), lambda g=g: g.shape]  # fmt: skip
        for use in uses:
            which = "dual" if g in (f.dual, v.dual) else "grad"
            text = f"^Field has no allocation. `.{which}` belongs to a field that was made without `needs_{which}=True`"
            with pytest.raises(QuadrantsRuntimeError, match=text):
                use()
        assert str(g) == "<Field: Definition of this field is incomplete>"
