"""Launches while torch or cupy record their stream for a graph: refused, and looked for at little cost."""

import ctypes
import sys
import types

import numpy as np
import pytest
from core_native import Recorder
from exchange_native import DRIVER, PACKAGE, Driver, capsule, tensor, tensor_class

from quadrants._ext import core
from quadrants.errors import QuadrantsRuntimeError

TORCHES = ["exchanges", "answers"]
recording = []


@pytest.fixture
def driver():
    made = Driver()
    ctypes.c_int64.in_dll(DRIVER, "recorded").value = -1
    works_on(0)
    yield made
    ctypes.c_int.in_dll(PACKAGE, "fails").value = 0
    works_on(0)


@pytest.fixture
def load(monkeypatch):
    """Have a torch be loaded: one whose table tells the stream, or an older one that is asked whether it records."""
    before = core.set_array_producers(lambda cls: True)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    recording.clear()

    def loaded(kind, cuda="13.0"):
        made = types.ModuleType("torch")
        made.Tensor = tensor_class() if kind == "exchanges" else type("Tensor", (), {})
        made.version = types.SimpleNamespace(cuda=cuda, hip=None)
        made.cuda = types.SimpleNamespace(is_current_stream_capturing=lambda: bool(recording))
        monkeypatch.setitem(sys.modules, "torch", made)
        core.set_array_producers(lambda cls: True)
        return made

    core.set_array_producers(lambda cls: True)
    yield loaded
    monkeypatch.undo()
    core.set_array_producers(before)


def works_on(stream):
    ctypes.c_void_p.in_dll(PACKAGE, "current").value = stream


def record(stream):
    """The stream that the package works on, and that it is recorded."""
    works_on(stream)
    recording.append(stream)
    ctypes.c_int64.in_dll(DRIVER, "recorded").value = stream


def questions():
    return ctypes.c_int64.in_dll(DRIVER, "questions").value


def kernel(driver, arrays=0):
    program = core.DeviceProgram(driver.device, [("task", 0xF, 32, 0, 0, 5)], 16)
    pack = [("array", at, 0, (8, -1, -1, None)) for at in range(arrays)]
    plan = core.Plan(0, bytes(16), pack=pack, name="step", device=program, reach=(2, 0))
    return Recorder([core.ARRAY] * arrays, plan)


@pytest.mark.parametrize("torch", TORCHES)
def test_launches_are_refused_while_torch_records(driver, load, torch):
    """Also of kernels that take nothing from torch, and before anything is started."""
    run = kernel(driver)
    run()
    load(torch)
    run()
    works_on(0x70)
    run()
    assert driver.asked() == [("launch", 0)] * 3
    record(0x70)
    with pytest.raises(QuadrantsRuntimeError, match="kernel step cannot be launched while torch records a graph"):
        run()
    with pytest.raises(QuadrantsRuntimeError, match="kernel step cannot be launched"):
        driver.device.refuse_capture("step")
    assert driver.asked() == []


def test_arrays_of_torch_make_no_difference(driver, load):
    torch = load("exchanges")
    run = kernel(driver, 1)
    record(0x70)
    with pytest.raises(QuadrantsRuntimeError, match="torch records a graph"):
        run(tensor(torch.Tensor, 0x1000, (4,), device=(2, 0)))
    assert driver.asked() == []


def test_the_default_stream_is_not_asked_about(driver, load):
    """It cannot be recorded, so that launches of ordinary programs ask the driver nothing."""
    load("exchanges")
    run, before = kernel(driver), questions()
    for stream in (0, 1):
        works_on(stream)
        run()
    assert questions() == before
    works_on(0x70)
    run()
    assert questions() == before + 1


def test_torch_is_met_when_it_is_there(driver, load):
    """While it is being imported it has no tensors yet."""
    run = kernel(driver)
    record(0x70)
    torch = load("exchanges")
    parts = {name: torch.__dict__.pop(name) for name in ("Tensor", "version", "cuda")}
    run()
    torch.__dict__.update(parts)
    with pytest.raises(QuadrantsRuntimeError, match="torch records a graph"):
        run()


def test_a_torch_without_devices_records_nothing(driver, load):
    load("exchanges", cuda=None)
    record(0x70)
    kernel(driver)()
    assert driver.asked() == [("launch", 0)]


def test_a_torch_for_devices_of_another_vendor(driver, load):
    load("exchanges")
    ctypes.c_int.in_dll(PACKAGE, "fails").value = 1
    record(0x70)
    run = kernel(driver)
    run()
    run()
    assert driver.asked() == [("launch", 0)] * 2


def test_a_driver_that_does_not_answer(driver, load):
    load("exchanges")
    works_on(0x70)
    driver.set("failing", 1)
    with pytest.raises(QuadrantsRuntimeError, match="asking whether a stream is recorded failed: it is broken"):
        kernel(driver)()


class Arrays:
    """As cupy's are."""

    __cuda_array_interface__ = __dlpack_c_exchange_api__ = None
    shape, strides, dtype = (4,), (4,), np.dtype("float32")
    data = types.SimpleNamespace(ptr=0x2000, device_id=0)


def test_arrays_of_cupy_while_cupy_records(driver, load):
    run = kernel(driver, 1)
    core.set_array_producers(lambda cls: lambda: types.SimpleNamespace(ptr=0x60))
    run(Arrays())
    assert ("launch", 0) in driver.asked()
    ctypes.c_int64.in_dll(DRIVER, "recorded").value = 0x60
    with pytest.raises(QuadrantsRuntimeError, match="cupy records a graph"):
        run(Arrays())
    assert driver.asked() == []


def test_no_table_of_that_name(driver, load):
    torch = load("exchanges")
    torch.Tensor.__dlpack_c_exchange_api__ = capsule("v1", b"another name")
    core.set_array_producers(lambda cls: True)
    recording.append(1)
    with pytest.raises(QuadrantsRuntimeError, match="torch records a graph"):
        kernel(driver)()
