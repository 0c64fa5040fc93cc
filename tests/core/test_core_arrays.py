"""Which token an array has, and what happens when its memory goes."""

import gc
import threading

import numpy as np
import pytest
from core_native import Recorder, entry, make_array

from quadrants._ext import core
from quadrants.errors import QuadrantsRuntimeError

NOTHING = entry("")
DTYPES = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
    "u32": np.uint32, "u64": np.uint64, "u1": np.bool_, "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


def kernel(kind=core.ARRAY, slow=None):
    return Recorder([kind], lambda args: core.Plan(NOTHING, b"", name="nothing"), slow)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("ndim", [0, 1, 3, 16])
def test_numpy_arrays_take_the_fast_path(name, ndim):
    seen = kernel()
    seen(np.zeros((1,) * ndim, DTYPES[name]))
    seen(np.ones((1,) * ndim, DTYPES[name]))
    assert len(seen.misses) == 1 and seen.asked == []


def test_each_dtype_and_rank_is_its_own_plan():
    seen = kernel()
    for _ in range(2):
        for dtype in DTYPES.values():
            for ndim in range(4):
                seen(np.zeros((2,) * ndim, dtype))
    assert len(seen.misses) == len(DTYPES) * 4 == len(seen.launcher) == len(seen.launcher._plans)


def test_c_integer_names_of_equal_width_are_one_type():
    seen = kernel()
    for dtype in (np.int64, np.longlong, np.intp, np.dtype("l") if np.dtype("l").itemsize == 8 else np.int64):
        seen(np.zeros(3, dtype))
    assert len(seen.misses) == 1


class Subclass(np.ndarray):
    pass


def test_a_subclass_of_ndarray_is_an_array():
    seen = kernel()
    seen(np.zeros(3, np.float32))
    seen(np.zeros(3, np.float32).view(Subclass))
    assert len(seen.misses) == 1 and seen.asked == []


def readonly():
    array = np.zeros(3)
    array.flags.writeable = False
    return array


IRREGULAR = {
    "strided": lambda: np.zeros(6)[::2],
    "fortran": lambda: np.zeros((2, 3), order="F"),
    "reversed": lambda: np.zeros(6)[::-1],
    "readonly": readonly,
    "swapped": lambda: np.zeros(3, np.dtype(np.float32).newbyteorder()),
    "complex": lambda: np.zeros(3, np.complex64),
    "structured": lambda: np.zeros(3, [("a", np.float32), ("b", np.int32)]),
    "objects": lambda: np.array([None, 1]),
    "dates": lambda: np.zeros(3, "datetime64[s]"),
    "strings": lambda: np.array(["a"]),
    "long double": lambda: np.zeros(3, np.longdouble),
    "a list": lambda: [1, 2],
    "none": lambda: None,
    "number": lambda: 3,
}


@pytest.mark.parametrize("make", IRREGULAR.values(), ids=IRREGULAR)
def test_everything_else_is_left_to_the_slow_path(make):
    value = make()
    seen = kernel()
    seen(value)
    assert [(index, asked is value) for index, asked in seen.asked] == [(0, True)]


@pytest.mark.parametrize(
    "make", [lambda: np.zeros((0, 3)), lambda: np.zeros((3, 0, 2)), lambda: np.zeros((1, 5))[:, ::1]]
)
def test_degenerate_layouts_count_as_contiguous(make):
    seen = kernel()
    seen(make())
    assert seen.asked == []


def test_what_slow_token_raises_reaches_the_caller():
    def slow(index, value):
        raise ValueError(f"argument {index} is not contiguous")

    with pytest.raises(ValueError, match="argument 0 is not contiguous"):
        kernel(slow=slow)(np.zeros(6)[::2])


def test_tokens_decide_the_plan_of_arrays():
    seen = kernel()
    same = [make_array(dtype="f32") for _ in range(3)]
    for array in [*same, make_array(dtype="i32"), *same]:
        seen(array)
    assert len(seen.misses) == 2


@pytest.mark.parametrize("kind", [core.ARRAY, core.TOKEN])
def test_a_killed_array_raises_and_never_reaches_the_kernel(kind):
    seen = kernel(kind)
    array = make_array()
    seen(array)
    array._kill()
    array._kill()
    assert array.token == -1 and array._ptr == 0 and array._buffer is None
    with pytest.raises(QuadrantsRuntimeError, match=r"Argument \(0,\).*destroyed by qd.init"):
        seen(array)
    seen(make_array())
    assert len(seen.misses) == 1


def test_a_slow_token_of_minus_one_means_dead():
    with pytest.raises(QuadrantsRuntimeError, match="destroyed"):
        kernel(slow=lambda index, value: -1)(object())


@pytest.mark.parametrize("dead", ["array", "gradient"])
def test_memory_that_goes_between_lookup_and_packing(dead):
    gradient = make_array()
    array = make_array(grad=gradient)
    victim = array if dead == "array" else gradient

    def packer(value, view, offset):
        victim._kill()

    plan = core.Plan(NOTHING, bytes(24), [], [("call", 0, 0, packer), ("array", 1, 8, (-1, 16))])
    with pytest.raises(QuadrantsRuntimeError, match="was freed"):
        Recorder([core.OPAQUE, core.ARRAY], plan)(0, array)


def test_killing_frees_the_memory_and_its_gradient_can_be_released():
    gc.collect()
    before = core.live_buffers()
    array = make_array(grad=make_array())
    assert core.live_buffers() == before + 2
    array.grad._kill()
    array._kill()
    assert core.live_buffers() == before


def test_binding_again_moves_the_array():
    array = make_array((4,))
    first = array._ptr
    memory = core.Buffer(64)
    array._bind(memory, memory.ptr, (2, 2))
    assert array._ptr == memory.ptr != first and array._extents == (2, 2) and array._buffer is memory


@pytest.mark.parametrize(
    "shape, grad, error, message",
    [((1,) * 17, None, ValueError, "at most 16"), ((-1,), None, ValueError, "negative"), ((1,), 5, TypeError, "grad")],
)
def test_bindings_that_make_no_sense(shape, grad, error, message):
    array = make_array((3,))
    with pytest.raises(error, match=message):
        array._bind(None, 0, shape, grad)
    assert array._extents == (3,)


def test_memory_killed_during_a_launch_lives_until_its_end():
    go = np.zeros(2, np.int32)
    body = """
    volatile int32_t *go = AT(int32_t *, 8); float *data = AT(float *, 0);
    go[0] = 1;
    while (!go[1]) usleep(100);
    for (int i = 0; i < 256; ++i) data[i] = 1;
    """
    plan = core.Plan(entry(body), bytes(16), [], [("array", 0, 0, None), ("array", 1, 8, None)])
    run = Recorder([core.ARRAY, core.ARRAY], plan)
    array = make_array((256,), nbytes=1024)
    gc.collect()
    before = core.live_buffers()
    thread = threading.Thread(target=run, args=(array, go))
    thread.start()
    while not go[0]:
        pass
    array._kill()
    assert core.live_buffers() == before
    go[1] = 1
    thread.join()
    assert core.live_buffers() == before - 1


def test_array_cycles_are_collected():
    class Ndarray(core.ArrayBase):
        pass

    gc.collect()
    before = core.live_buffers()
    for _ in range(10):
        array = Ndarray()
        memory = core.Buffer(64)
        array._bind(memory, memory.ptr, (4,))
        array.itself = array
    del array, memory
    gc.collect()
    assert core.live_buffers() == before
