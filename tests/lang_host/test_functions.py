"""Functions of `qd.*` in Python scope."""

import inspect
import math

import numpy as np
import pytest

from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.ir.types import f32, f64, i8, i32, i64, u1, u8, u32
from quadrants.lang import kernel_functions as qd
from quadrants.lang.matrix import Matrix, Vector

REFERENCE = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos, "exp": np.exp,
    "log": np.log, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "round": np.round, "abs": np.abs,
}  # fmt: skip


@pytest.mark.parametrize("name", REFERENCE)
def test_elementwise_functions(name):
    data = np.array([[0.25, 0.5], [0.75, 1.0]])
    got = getattr(qd, name)(Matrix(data))
    assert isinstance(got, Matrix)
    np.testing.assert_array_equal(got.to_numpy(), REFERENCE[name](data))
    assert getattr(qd, name)(0.5) == REFERENCE[name](0.5)
    assert isinstance(getattr(qd, name)(Vector([0.5])), Vector)


def test_binary_functions():
    v, w = Vector([1.0, 5.0]), Vector([3.0, 2.0])
    assert qd.atan2(1, 1) == math.pi / 4
    assert qd.max(v, w).to_list() == [3.0, 5.0] and qd.min(v, 2).to_list() == [1.0, 2.0]
    assert qd.max(1, 2, 3.5) == 3.5 and qd.min(3, 1, 2) == 1 and qd.max(v) is v
    assert qd.pow(2, 3) == 8 and qd.pow(2, -1) == 0.5 and qd.pow(v, 2).to_list() == [1.0, 25.0]
    assert qd.rsqrt(4) == 0.5 and qd.rsqrt(0.0) == math.inf
    with pytest.raises(AssertionError):
        qd.max()


def test_select():
    v, w = Vector([1, 2]), Vector([3.5, 4])
    assert qd.select(True, 1, 2.5) == 1.0 and qd.select(0, 1, 2.5) == 2.5
    assert qd.select(Vector([1, 0]), v, w).to_list() == [1.0, 4.0]


def test_rounding_to_a_dtype():
    assert qd.floor(1.7, i32) == 1 and qd.floor(1.7, i32).dtype == np.int32
    assert qd.ceil(Vector([1.2, -1.2]), i32).to_list() == [2, -1]
    assert qd.round(2.5) == 2.0


def test_frexp():
    assert qd.frexp(8.5) == (0.53125, 4)
    mantissa, exponent = qd.frexp(Vector([8.5, 1.0]))
    assert mantissa.to_list() == [0.53125, 0.5] and exponent.to_list() == [4, 1]


@pytest.mark.parametrize(
    "x, dt, want",
    [
        (1.7, i32, 1),
        (-1.7, i32, -1),
        (300, u8, 44),
        (-1, u32, 4294967295),
        (0.3, u1, True),
        (1, f64, 1.0),
        (200, i8, -56),
    ],
)
def test_cast(x, dt, want):
    got = qd.cast(x, dt)
    assert got == want and got.dtype == np.dtype(dt.numpy_name)


def test_cast_of_vectors_and_python_types():
    assert qd.cast(Vector([1.7, -2.7]), i32).to_list() == [1, -2]
    assert qd.cast(1, float).dtype == np.float32 and qd.cast(1.5, int).dtype == np.int32
    with pytest.raises(ValueError, match="Invalid data type"):
        qd.cast(1, "f32")


def test_bit_cast():
    assert qd.bit_cast(1.0, u32) == 1065353216
    assert qd.bit_cast(np.float64(1.0), i64) == 0x3FF0000000000000
    assert qd.bit_cast(1065353216, f32) == 1.0
    with pytest.raises(QuadrantsTypeError, match="same size"):
        qd.bit_cast(1.0, i64)
    with pytest.raises(ValueError):
        qd.bit_cast(Vector([1.0]), u32)


@pytest.mark.parametrize("a", [-7, 7])
@pytest.mark.parametrize("b", [-3, 3])
def test_c_division(a, b):
    assert qd.raw_div(a, b) == math.trunc(a / b)
    assert qd.raw_mod(a, b) == int(math.fmod(a, b))
    assert qd.raw_div(Vector([a]), b).to_list() == [math.trunc(a / b)]
    assert qd.raw_mod(float(a), b) == math.fmod(a, b)
    assert qd.raw_div(float(a), b) == a / b


KERNEL_ONLY = (
    "activate append assume_in_range bit_shr block_local cache_read_only clock_counter clz deactivate ffs get_addr "
    "global_thread_idx grouped is_active isinf isnan length loop_config loop_unique mesh_local mesh_patch_idx "
    "no_activate one popcnt rescale_index static_print stop_grad zero"
).split()


def test_random_needs_a_kernel():
    with pytest.raises(QuadrantsSyntaxError, match="random cannot be called in Python-scope"):
        qd.random()


@pytest.mark.parametrize("name", KERNEL_ONLY)
def test_kernel_functions_name_the_scope(name):
    with pytest.raises(AssertionError, match=f"{name} cannot be called in Python-scope"):
        qd.KERNEL_FUNCTIONS[name](1)


@pytest.mark.parametrize("name", [n for n in qd.KERNEL_FUNCTIONS if n.startswith("atomic_") or n == "volatile_load"])
def test_operations_on_memory_need_a_target(name):
    with pytest.raises(QuadrantsSyntaxError, match=f"non-writable target as the first operand of '{name}'"):
        qd.KERNEL_FUNCTIONS[name](1, 2)


def test_the_table_holds_the_public_objects():
    for name, function in qd.KERNEL_FUNCTIONS.items():
        assert getattr(qd, name) is function and function.__name__ == name
        assert inspect.getdoc(function)
        assert name in qd.__all__
    assert list(inspect.signature(qd.floor).parameters) == ["x", "dtype"]


def test_static():
    assert qd.static(5) == 5 and qd.static(1, 2) == [1, 2] and qd.static(range(3)) == range(3)
    values = [1]
    assert qd.static(values) is values
    for bad in ("a", {}, np.zeros(2), f32, int, {1}):
        with pytest.raises(ValueError, match="must be compile-time constants or global pointers"):
            qd.static(bad)


def test_static_assert():
    qd.static_assert(True)
    with pytest.raises(AssertionError, match="because"):
        qd.static_assert(False, "because")
