"""NumPy and torch arrays as kernel arguments, and arrays against annotations."""

import ctypes

import numpy as np
import pytest
from data_kit import DTYPES

from quadrants._ext.core import token_key
from quadrants.calls import tokens
from quadrants.calls.array import Array, describe
from quadrants.data import external, factories
from quadrants.errors import QuadrantsRuntimeTypeError
from quadrants.ir.types import f32, f64, i32, tensor_type
from quadrants.lang import _template_mapper
from quadrants.lang.annotations import NdarrayType
from quadrants.lang.tensor_types import MatrixType, VectorType

# Where the memory of arguments is, here on the CPU; test_device_arguments.py has the devices.
pytestmark = [pytest.mark.cpu_only, pytest.mark.usefixtures("runtime")]


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3)])
def test_contiguous_numpy_goes_by_pointer(dtype, shape):
    a = np.zeros(shape, dtype.numpy_name)
    found = external.describe_external(a, "x")
    assert (found.dtype_name, found.shape, found.pointer, found.finish) == (dtype.name, shape, address(a), None)
    assert found.keepalive is a and token_key(external.token(a)) == ("external", dtype.name, len(shape))


def test_fortran_order_is_copied_in_and_out():
    a = np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3))
    found = external.describe_external(a, "x")
    copy = np.ctypeslib.as_array((ctypes.c_int32 * 6).from_address(found.pointer)).reshape(2, 3)
    assert found.pointer != address(a) and copy.tolist() == a.tolist()
    copy[0, 1] = 50
    assert a[0, 1] == 1
    found.finish()
    assert a.tolist() == [[0, 50, 2], [3, 4, 5]]


def test_what_is_only_read_is_not_copied_back():
    a = np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3))
    a.flags.writeable = False
    assert external.describe_external(a, "x", written=False).finish is None


def test_read_only_arrays_are_passed_in_place():
    a = np.zeros(3)
    a.flags.writeable = False
    found = external.describe_external(a, written=False)
    assert found.pointer == address(a) and found.finish is None
    with pytest.raises(ValueError, match="Argument x is read-only"):
        external.describe_external(a, "x")


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.zeros(6)[::2],
        lambda: np.zeros(6)[::-1],
        lambda: np.zeros((4, 4))[1:3, 1:3],
        lambda: np.broadcast_to(np.zeros(3), (2, 3)),
    ],
)
def test_other_strides_are_refused(make):
    for use in (external.describe_external, external.token):
        with pytest.raises(ValueError, match="^Non contiguous numpy arrays are not supported"):
            use(make(), "x")


@pytest.mark.parametrize("dtype", [complex, object, "U3", "M8[s]", ">f4", np.longdouble])
def test_unknown_dtypes(dtype):
    for use in (external.describe_external, external.token):
        with pytest.raises(QuadrantsRuntimeTypeError, match="dtype"):
            use(np.zeros(2, dtype), "x")


def test_subclasses(tmp_path):
    memory_mapped = np.memmap(tmp_path / "m", np.float32, "w+", shape=(3,))
    for a in (memory_mapped, np.ma.array([1.0, 2.0]), np.zeros(3).view(np.recarray)):
        assert external.is_external(a) and external.describe_external(a).pointer == address(a)


def test_too_many_elements(monkeypatch):
    monkeypatch.setattr(external, "_MAX_INDEX", 10)
    with pytest.warns(UserWarning, match="32 bits"):
        external.describe_external(np.zeros(11), "x")


class TestTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        return pytest.importorskip("torch", reason="install torch to run the torch argument tests")

    @pytest.mark.parametrize("dtype", DTYPES, ids=str)
    def test_cpu_tensors_go_by_pointer(self, torch, dtype):
        t = torch.from_numpy(np.zeros((2, 3), dtype.numpy_name))
        found = external.describe_external(t, "x")
        assert (found.dtype_name, found.shape, found.pointer, found.finish) == (dtype.name, (2, 3), t.data_ptr(), None)
        assert external.token(t) == external.token(np.zeros((5, 7), dtype.numpy_name))

    def test_empty_and_strided(self, torch):
        assert external.describe_external(torch.zeros(0, 3)).shape == (0, 3)
        for use in (external.describe_external, external.token):
            with pytest.raises(ValueError, match="^Non contiguous tensors are not supported"):
                use(torch.zeros(4, 4).T, "x")

    def test_requires_grad(self, torch):
        t = torch.zeros(3, requires_grad=True)
        assert external.token(t) != external.token(torch.zeros(3))
        found = external.describe_external(t, "x")
        assert t.grad is not None and found.grad.pointer == t.grad.data_ptr() and found.pointer == t.data_ptr()
        before = t.grad
        before[1] = 5
        assert external.describe_external(t).grad.pointer == before.data_ptr() and t.grad[1] == 5
        u = torch.zeros(2, 3, requires_grad=True)
        u.grad = torch.zeros(3, 2).T
        with pytest.raises(ValueError, match="^Non contiguous gradient tensors"):
            external.describe_external(u)

    def test_switch(self, torch, monkeypatch):
        assert external.is_external(torch.zeros(1))
        monkeypatch.setenv("QD_ENABLE_TORCH", "0")
        assert not external.is_external(torch.zeros(1)) and external.is_external(np.zeros(1))

    def test_unknown_dtype(self, torch):
        with pytest.raises(QuadrantsRuntimeTypeError, match="bfloat16"):
            external.describe_external(torch.zeros(1, dtype=torch.bfloat16), "x")


VEC3 = VectorType(3, f32)


def nd(dtype, shape=(4,), **kw):
    return factories.ndarray(dtype, shape, **kw)


MISMATCHES = [
    (NdarrayType(f32), lambda: nd(f64), TypeError, "Expect element type f32 for argument x, but get f64"),
    (NdarrayType(f32), lambda: nd(VEC3), TypeError, "Expect element type f32 for argument x, but get"),
    (NdarrayType(float), lambda: nd(i32), TypeError, "Expect element type f32 for argument x, but get i32"),
    (NdarrayType(f32, 1), lambda: nd(f32, (2, 2)), ValueError, "required ndim=1, but 2d ndarray with shape"),
    (NdarrayType(ndim=2), lambda: nd(f32), ValueError, "required ndim=2, but 1d ndarray"),
    (NdarrayType(VEC3), lambda: nd(f32), ValueError, "required element type: VectorType[3, f32], but f32 is provided"),
    (NdarrayType(VEC3), lambda: nd(VectorType(2, f32)), ValueError, "required element type: VectorType[3, f32]"),
    (NdarrayType(VEC3), lambda: nd(VectorType(3, f64)), ValueError, "required element type: VectorType[3, f32]"),
    (NdarrayType(element_dim=1), lambda: nd(MatrixType(2, 2, f32)), ValueError, "required element type"),
    (NdarrayType(f32, needs_grad=True), lambda: nd(f32), ValueError, "required needs_grad=True"),
    (NdarrayType(f32), lambda: np.zeros(3), ValueError, "required array has dtype=f32, array with dtype=f64 is prov"),
    (NdarrayType(f32, 1), lambda: np.zeros((2, 2), "f4"), ValueError, "required array has ndim=1, array with 2 dim"),
    (NdarrayType(VEC3), lambda: np.zeros((4, 2), "f4"), ValueError, "required element_shape=(3,), array with element"),
    (NdarrayType(VEC3), lambda: np.zeros(()), ValueError, "required element_dim=1, array with 0 dimensions is prov"),
    (NdarrayType(VEC3, 1), lambda: np.zeros(3), ValueError, "required array has ndim=1 element_dim=1, array"),
    (NdarrayType(element_dim=2), lambda: np.zeros(3), ValueError, "required element_dim=2"),
    (NdarrayType(), lambda: [1, 2], QuadrantsRuntimeTypeError, "Invalid type for argument x, got [1, 2]"),
    (NdarrayType(), lambda: None, QuadrantsRuntimeTypeError, "Invalid type for argument x, got None"),
    (NdarrayType(), lambda: 3, QuadrantsRuntimeTypeError, "Invalid type for argument x, got 3"),
    (NdarrayType(), lambda: factories.field(f32, 3), QuadrantsRuntimeTypeError, "cannot be converted into required"),
]


@pytest.mark.parametrize("param, make, kind, text", MISMATCHES)
def test_mismatches(param, make, kind, text):
    with pytest.raises(kind) as caught:
        Array(param).check_type("x", make())
    assert text in str(caught.value)


MATCHES = [
    (NdarrayType(), lambda: nd(f32)), (NdarrayType(f32, 1), lambda: nd(f32)), (NdarrayType(float), lambda: nd(f32)),
    (NdarrayType(VEC3), lambda: nd(VEC3, (2, 2))), (NdarrayType(element_dim=1), lambda: nd(VectorType(7, f64))),
    (NdarrayType(VectorType()), lambda: nd(VectorType(7, f64))),
    (NdarrayType(MatrixType()), lambda: nd(MatrixType(1, 2, f32))),
    (NdarrayType(f32, needs_grad=True), lambda: nd(f32, needs_grad=True)),
    (NdarrayType(needs_grad=False), lambda: nd(f32)),
    (NdarrayType(), lambda: np.zeros((2, 2))), (NdarrayType(ndim=2), lambda: np.zeros(3)),
    (NdarrayType(VEC3), lambda: np.zeros((4, 3))), (NdarrayType(VEC3, 1), lambda: np.zeros((4, 3))),
    (NdarrayType(element_dim=2), lambda: np.zeros((4, 5))), (NdarrayType(f32, 1), lambda: np.zeros(3, "f4")),
]  # fmt: skip


@pytest.mark.parametrize("param, make", MATCHES)
def test_matches(param, make):
    Array(param).check_type("x", make())


def test_debug_switch(monkeypatch):
    monkeypatch.setitem(_template_mapper.__builtins__, "__debug__", False)
    Array(NdarrayType(f32, 1)).check_type("x", nd(f64, (2, 2)))
    with pytest.raises(ValueError):
        Array(NdarrayType(f32)).check_type("x", np.zeros(3))


def test_elements_of_foreign_arrays():
    a = np.zeros((5, 4, 3))
    assert describe(a, NdarrayType())[:2] == (f64, 3)
    assert describe(a, NdarrayType(VEC3))[:2] == (tensor_type((3,), f64), 2)
    assert describe(a, NdarrayType(element_dim=2))[:2] == (tensor_type((4, 3), f64), 1)


def test_members_are_looked_at_once(monkeypatch):
    """Their tokens are asked for at each launch."""
    looks, ask = [], external._advice_on_strides

    def counted(obj):
        looks.append(obj)
        return ask(obj)

    monkeypatch.setattr(external, "_advice_on_strides", counted)
    array = np.zeros((3, 4), np.float32)
    assert tokens.member_token(array) == tokens.external_token(array)
    assert len(looks) == 2  # one for each of the two
    refused = [tokens.member_token(x) for x in (array[:, 1], np.zeros(2, complex), np.zeros(2, ">f4"))]
    assert len(set(refused)) == 1 and refused[0] != tokens.member_token(array)
