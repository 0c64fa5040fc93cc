"""Arrays of other packages: which ones the launch core passes by pointer, and in order with what."""

import ctypes
import gc
import sys
import threading

import numpy as np
import pytest
from core_native import Recorder, entry
from exchange_native import PACKAGE, Driver, capsule, nothing, tensor, tensor_class

from quadrants._ext import core
from quadrants.errors import QuadrantsRuntimeError, QuadrantsRuntimeTypeError

PLAIN = tensor_class()
DOUBLE = entry("float *x = AT(float *, 0); for (int i = 0; i < AT(int32_t, 8); ++i) x[i] *= 2;")
NOTHING = entry("")
CODES = {"i": 0, "u": 1, "f": 2}
NAMES = "i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64".split()


@pytest.fixture(autouse=True)
def producers():
    """The core reads whatever has the interface."""
    before = core.set_array_producers(lambda cls: True)
    yield
    core.set_array_producers(before)


@pytest.fixture
def memory():
    return np.arange(64, dtype=np.float32)


def address(array):
    return array.ctypes.data


def kernel(packer=None, kind=core.ARRAY, **options):
    """Doubles its first argument; Python packs what the core does not."""
    plan = core.Plan(DOUBLE, bytes(48), pack=[("array", 0, 0, (8, -1, -1, packer))], name="double", **options)
    return Recorder([kind], plan, lambda index, value: core.intern_token(("external", "f32", 1)))


def seen_by(value):
    """Whether the core has a token for it without asking Python."""
    recorder = Recorder([core.ARRAY], lambda args: core.Plan(NOTHING, b"", name="nothing"))
    recorder(value)
    return not recorder.asked


@pytest.mark.parametrize("name", [*NAMES, "u1"])
@pytest.mark.parametrize("ndim", [0, 1, 3, 16])
def test_they_have_the_token_of_numpy_arrays(memory, name, ndim):
    seen = Recorder([core.ARRAY], lambda args: core.Plan(NOTHING, b"", name="nothing"))
    dtype = (6, 8, 1) if name == "u1" else (CODES[name[0]], int(name[1:]), 1)
    numpy_name = "bool" if name == "u1" else {"i": "int", "u": "uint", "f": "float"}[name[0]] + name[1:]
    seen(tensor(PLAIN, address(memory), (1,) * ndim, dtype=dtype))
    seen(np.zeros((1,) * ndim, numpy_name))
    assert len(seen.misses) == 1 and seen.asked == []


def test_pointer_offset_and_extents_reach_the_kernel(memory):
    double = kernel()
    double(tensor(PLAIN, address(memory), (3,), offset=8))
    double(tensor(PLAIN, address(memory), (1,), strides=(77,), offset=4 * 60))
    assert memory.tolist() == [0, 1, 4, 6, 8, *range(5, 60), 120, 61, 62, 63] and double.asked == []


LAYOUTS = {
    "C order": ((2, 3), (3, 1), True), "no strides": ((2, 3), None, True), "Fortran order": ((2, 3), (1, 2), False),
    "every second": ((3,), (2,), False), "repeated": ((3,), (0,), False), "reversed": ((3,), (-1,), False),
    "extent one": ((2, 1, 3), (3, 50, 1), True), "empty": ((2, 0, 3), (9, 9, 9), True), "a number": ((), None, True),
    "a row": ((1, 4), (1, 1), True), "17 axes": ((1,) * 17, None, False), "2**31 - 1": ((2**31 - 1,), None, True),
    "2**31": ((2**31,), None, False), "2**31 in all": ((2**16, 2**15), None, False),
    "more than 64 bits": ((2**30,) * 3, None, False), "empty with more": ((2**30, 2**30, 2**30, 0), None, True),
}  # fmt: skip


@pytest.mark.parametrize("shape, strides, taken", LAYOUTS.values(), ids=LAYOUTS)
def test_layouts(memory, shape, strides, taken):
    assert seen_by(tensor(PLAIN, address(memory), shape, strides)) == taken


@pytest.mark.parametrize(
    "dtype", [(4, 16, 1), (5, 64, 1), (2, 8, 1), (2, 128, 1), (0, 4, 1), (2, 32, 4), (6, 1, 1), (10, 8, 1)]
)
def test_types_that_kernels_do_not_have(memory, dtype):
    assert not seen_by(tensor(PLAIN, address(memory), (2,), dtype=dtype))


def test_no_memory(memory):
    assert not seen_by(tensor(PLAIN, None, (2,)))
    assert seen_by(tensor(PLAIN, None, (0,)))
    assert not seen_by(nothing(PLAIN))


@pytest.mark.parametrize(
    "table, taken",
    [("v1", True), ("later_minor", True), ("v2_alone", False), ("v2_over_v1", True), ("without_describe", False)],
)
def test_versions(memory, table, taken):
    assert seen_by(tensor(tensor_class(table), address(memory), (2,))) == taken


@pytest.mark.parametrize("attribute", [None, 3, capsule("v1", b"another name")])
def test_attributes_that_are_no_table(memory, attribute):
    cls = tensor_class()
    cls.__dlpack_c_exchange_api__ = attribute
    assert not seen_by(tensor(cls, address(memory), (2,)))


def test_who_decides(memory):
    asked = []
    core.set_array_producers(lambda cls: asked.append(cls) or (True if cls is PLAIN else None))
    other = tensor_class()
    for _ in range(3):
        assert seen_by(tensor(PLAIN, address(memory), (2,))) and not seen_by(tensor(other, address(memory), (2,)))
    assert not seen_by(object()) and asked == [PLAIN, other]
    core.clear_all()
    assert seen_by(tensor(PLAIN, address(memory), (2,))) and asked == [PLAIN, other, PLAIN]
    core.set_array_producers(None)
    assert not seen_by(tensor(PLAIN, address(memory), (2,)))

    def broken(cls):
        raise LookupError("no idea")

    core.set_array_producers(broken)
    with pytest.raises(LookupError, match="no idea"):
        seen_by(tensor(PLAIN, address(memory), (2,)))


def test_gradients_are_left_to_python(memory):
    cls = tensor_class(requires_grad=False)
    value = tensor(cls, address(memory), (2,))
    assert seen_by(value)
    value.requires_grad = True
    assert not seen_by(value)

    class Loud(BaseException):
        pass

    def interrupted(self):
        raise Loud

    def unknown(self):
        raise ValueError

    assert not seen_by(tensor(tensor_class(requires_grad=property(unknown)), address(memory), (2,)))
    with pytest.raises(Loud):
        seen_by(tensor(tensor_class(requires_grad=property(interrupted)), address(memory), (2,)))


def test_what_is_elsewhere_is_packed_by_python(memory):
    packed = []

    def packer(value, block, offset):
        packed.append(value)
        block[offset : offset + 8] = address(memory).to_bytes(8, sys.byteorder)
        block[8:12] = (1).to_bytes(4, sys.byteorder)

    far = tensor(PLAIN, 0xDEAD, (4,), device=(2, 0))
    double = kernel(packer)
    for value in (far, memory[1:2], tensor(PLAIN, address(memory), (3,)), far):
        double(value)
    assert packed == [far, far] and double.asked == [] and memory.tolist()[:4] == [0, 4, 4, 3]
    nowhere = kernel(packer, reach=None)
    nowhere(memory[2:3])
    assert len(packed) == 3
    with pytest.raises(QuadrantsRuntimeTypeError):
        kernel()(far)


def test_members(memory):
    class Holder:
        pass

    token = core.intern_token(("external", "f32", 1))
    plan = core.Plan(DOUBLE, bytes(16), [(0, ("x",), token)], [("array", 1, 0, (8, -1, 1))], name="double")
    double = Recorder([core.TOKEN], plan)
    holder = Holder()
    for first in (0, 2):
        holder.x = tensor(PLAIN, address(memory) + 4 * first, (2,))
        double(holder)
    assert memory.tolist()[:5] == [0, 2, 4, 6, 4] and all(index == 0 for index, _ in double.asked)


def test_launches_neither_leak_nor_allocate(memory):
    double, value = kernel(), tensor(tensor_class(requires_grad=False), address(memory), (1,))

    def launch():
        for _ in range(300):
            double.launcher(value)

    launch()
    gc.collect()
    references = sys.getrefcount(value), sys.getrefcount(type(value)), sys.getrefcount(False)
    before = sys.getallocatedblocks()
    launch()
    assert abs(sys.getallocatedblocks() - before) < 10
    after = sys.getrefcount(value), sys.getrefcount(type(value)), sys.getrefcount(False)
    assert all(abs(now - then) < 100 for now, then in zip(after, references))


def test_threads(memory):
    values = [tensor(PLAIN, address(memory) + 4 * at, (1,)) for at in range(4)]
    double, memory[:4] = kernel(), 1

    def launch(value):
        for _ in range(100):
            double(value)

    threads = [threading.Thread(target=launch, args=(value,)) for value in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (memory[:4] == np.float32(2.0**100)).all()


# ---------------------------------------------------------------- devices


@pytest.fixture
def driver():
    made = Driver()
    yield made
    ctypes.c_void_p.in_dll(PACKAGE, "current").value = 0
    ctypes.c_int.in_dll(PACKAGE, "fails").value = 0
    core.set_stream(0)


def works_on(stream):
    ctypes.c_void_p.in_dll(PACKAGE, "current").value = stream


def on_device(driver, count=1):
    """A kernel of one task that takes arrays of device (2, 0)."""
    program = core.DeviceProgram(driver.device, [("task", 0xF, 32, 0, 0, 5)], 16 * count)
    pack = [("array", at, 16 * at, (16 * at + 8, -1, -1, None)) for at in range(count)]
    plan = core.Plan(0, bytes(16 * count), pack=pack, name="device_kernel", device=program, reach=(2, 0))
    return Recorder([core.ARRAY] * count, plan)


def far(cls=PLAIN, device=(2, 0)):
    return tensor(cls, 0x1000, (4,), device=device)


def test_the_same_stream_needs_no_events(driver):
    run, value = on_device(driver), far()
    for ours, theirs in ((0, 0), (0, 1), (0x70, 0x70)):  # 1 is another name of the default stream
        works_on(theirs)
        core.set_stream(ours)
        run(value)
        assert driver.asked() == [("launch", ours)]
    assert ctypes.c_int.in_dll(PACKAGE, "asked").value == 200


@pytest.mark.parametrize("ours, theirs", [(0, 0x50), (0x70, 0), (0x70, 0x50), (0x70, 2)])
def test_another_stream_is_waited_for_and_waits(driver, ours, theirs):
    run = on_device(driver, 3)
    gc.collect()
    before = driver.get("made")
    works_on(theirs)
    core.set_stream(ours)
    run(far(), far(), far(tensor_class()))
    assert driver.asked() == [
        ("record", theirs), ("wait", ours), ("launch", ours), ("record", ours), ("wait", theirs)
    ]  # fmt: skip
    run(far(), far(), far())
    assert len(driver.asked()) == 5 and driver.get("made") == before + 1


class Arrays:
    """As cupy's are."""

    __cuda_array_interface__ = None

    def __init__(self, shape=(4,), strides=(4,), dtype="float32", ptr=0x2000, device_id=0):
        self.shape, self.strides, self.dtype = shape, strides, np.dtype(dtype)
        self.data = type("Memory", (), {"ptr": ptr, "device_id": device_id})


def stream_of_cupy():
    return type("Stream", (), {"ptr": 0x60})


def test_two_packages_on_two_streams(driver):
    core.set_array_producers(lambda cls: stream_of_cupy if cls is Arrays else True)
    run = on_device(driver, 4)
    works_on(0x50)
    run(far(), Arrays(), far(), Arrays())
    assert driver.asked() == [
        ("record", 0x50), ("wait", 0), ("record", 0x60), ("wait", 0), ("launch", 0),
        ("record", 0), ("wait", 0x50), ("record", 0), ("wait", 0x60),
    ]  # fmt: skip


def test_arrays_by_their_attributes():
    core.set_array_producers(lambda cls: stream_of_cupy)
    assert seen_by(Arrays()) and seen_by(Arrays((), ())) and seen_by(Arrays((3, 0), (0, 4)))
    assert seen_by(Arrays((2, 3), (24, 8), "int64")) and seen_by(Arrays((5,), (1,), "bool"))
    for other in (
        Arrays((2, 3), (4, 8)), Arrays((4,), (8,)), Arrays((4,), (6,)), Arrays(dtype=">f4"), Arrays(dtype="complex64"),
        Arrays((1,) * 17, (4,) * 17), Arrays((2**31,)),
    ):  # fmt: skip
        assert not seen_by(other)


def test_another_device_is_left_to_python(driver):
    for device in ((2, 1), (1, 0), (10, 0)):
        with pytest.raises(QuadrantsRuntimeTypeError):
            on_device(driver)(far(device=device))
    with pytest.raises(QuadrantsRuntimeTypeError):
        on_device(driver)(np.zeros(4, np.float32))
    assert driver.asked() == []


def test_failures(driver):
    works_on(0x50)
    driver.set("failing", 1)
    with pytest.raises(QuadrantsRuntimeError, match="it is broken"):
        on_device(driver)(far())
    assert [what for what, _ in driver.asked()] == ["record"]
    ctypes.c_int.in_dll(PACKAGE, "fails").value = 1
    with pytest.raises(RuntimeError, match="does not tell its stream"):
        on_device(driver)(far())
    assert driver.asked() == []


def test_the_event_goes_with_the_device():
    made = Driver()
    gc.collect()
    before = made.get("made")
    works_on(0x50)
    on_device(made)(far())
    assert made.get("made") == before + 1
    works_on(0)
    del made.device
    gc.collect()
    assert Driver.get("made") == before
