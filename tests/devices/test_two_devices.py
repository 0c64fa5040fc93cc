"""Programs that choose one of several GPUs, arrays that are on another one, and launches while a graph is recorded.

Needs two NVIDIA GPUs, torch and cupy; with them `pytest tests/devices/test_two_devices.py` runs it.
"""

from __future__ import annotations

import dataclasses
import gc
import os

import numpy as np
import pytest

import quadrants as qd
from quadrants._ext import core
from quadrants.backends import registry

pytestmark = pytest.mark.cpu_only  # these start the arch that they are about themselves
N = 1000


@qd.kernel
def triple(x: qd.types.ndarray(qd.f32, ndim=1)):
    for i in range(x.shape[0]):
        x[i] = 3 * x[i] + 1


@qd.kernel
def noise(x: qd.types.ndarray(qd.f32, ndim=1)):
    for i in range(x.shape[0]):
        x[i] = qd.random()


@qd.kernel
def add(x: qd.types.ndarray(qd.f32, ndim=1), y: qd.types.ndarray(qd.f32, ndim=1)):
    for i in range(x.shape[0]):
        x[i] += y[i]


@dataclasses.dataclass
class Pair:
    x: qd.types.ndarray(qd.f32, ndim=1)
    y: qd.types.ndarray(qd.f32, ndim=1)


@qd.kernel
def add_pair(pair: Pair):
    for i in range(pair.x.shape[0]):
        pair.x[i] += pair.y[i]


@pytest.fixture(scope="module")
def torch():
    if core.device_count("cuda") < 2 or os.environ.get("QD_EMULATE") == "1":
        pytest.skip("needs two CUDA devices")
    module = pytest.importorskip("torch", reason="needs a torch that was built for CUDA (pip install torch)")
    if not module.cuda.is_available():
        pytest.skip("needs a torch that was built for CUDA (pip install torch)")
    return module


@pytest.fixture(scope="module")
def cupy(torch):
    return pytest.importorskip("cupy", reason="needs cupy (pip install cupy-cuda13x)")


@pytest.fixture
def start(torch, monkeypatch):
    """A function that starts CUDA on a device; the devices that other packages work on are put back behind the test."""
    monkeypatch.delenv("QD_DEVICE", raising=False)
    before = torch.cuda.current_device()

    def started(number, **options):
        qd.init(arch=qd.cuda, enable_fallback=False, device=number, **options)
        return number

    yield started
    qd.reset()
    torch.cuda.set_device(before)


@pytest.fixture(params=[0, 1])
def home(request, start):
    return start(request.param)


def values_of(x):
    if hasattr(x, "to_numpy"):
        return x.to_numpy()
    return x.get() if hasattr(x, "get") else x.cpu().numpy()


def ndarray(value):
    made = qd.ndarray(qd.f32, shape=N)
    made.fill(value)
    return made


# ---------------------------------------------------------------- the device of kernels


def test_fields_and_ndarrays_are_on_the_device(torch, cupy, home):
    array, field = ndarray(2), qd.field(qd.f32, shape=N)
    triple(array)

    @qd.kernel
    def fill():
        for i in field:
            field[i] = i

    fill()
    assert array.to_numpy().tolist() == [7.0] * N
    assert field.to_numpy().tolist() == list(range(N))
    for one in (array, field):
        shared = one.to_torch(copy=False)
        assert shared.device == torch.device("cuda", home)
        assert one.__dlpack_device__() == (2, home)
        with cupy.cuda.Device(home):  # it copies to the current one
            assert cupy.asarray(one).data.ptr == shared.data_ptr()
        assert registry.current().device.owner(shared.data_ptr()) == home
    assert registry.current().device.name == torch.cuda.get_device_name(home)


def test_the_variable_chooses_too(torch, start, monkeypatch):
    monkeypatch.setenv("QD_DEVICE", "1")
    qd.init(arch=qd.cuda, enable_fallback=False)
    assert ndarray(0).to_torch(copy=False).device.index == 1


def test_a_device_that_is_not_there(torch, start):
    count = torch.cuda.device_count()
    with pytest.raises(qd.QuadrantsRuntimeError, match=f"there is no cuda device {count}: this process sees {count}"):
        start(count)
    start(1)
    assert ndarray(3).to_numpy()[0] == 3


def test_one_device_after_the_other(torch, start):
    """What is left of the device before goes back to it; its arrays are dead."""
    start(0)
    old, event, stream = ndarray(1), qd.create_event(), qd.create_stream()
    triple(old)
    start(1)
    with pytest.raises(qd.QuadrantsRuntimeError):
        triple(old)
    new = ndarray(1)
    triple(new)
    del old, event, stream
    gc.collect()
    assert new.to_numpy()[0] == 4
    start(0)
    again = ndarray(2)
    triple(again)
    del new
    gc.collect()
    assert again.to_numpy()[0] == 7


def test_other_packages_may_work_on_another_device(torch, cupy, home):
    """Launches and copies find their own device, and leave the current one of the thread as it was."""
    other = 1 - home
    torch.cuda.set_device(other)
    with cupy.cuda.Device(other):
        array = ndarray(1)
        triple(array)
        mine = torch.ones(N, device=f"cuda:{home}")
        triple(mine)
        qd.sync()
        assert array.to_numpy()[0] == 4 and mine[0].item() == 4
        with qd.create_stream() as stream:
            triple(array, qd_stream=stream)
        assert array.to_numpy()[0] == 13
        assert torch.cuda.current_device() == other and cupy.cuda.Device().id == other
    host = np.ones(N, np.float32)
    triple(host)
    assert host[0] == 4


def test_arrays_of_the_device_go_by_pointer(torch, cupy, home):
    tensor, leaf = torch.ones(N, device=f"cuda:{home}"), torch.ones(N, device=f"cuda:{home}", requires_grad=True)
    with cupy.cuda.Device(home):
        array = cupy.ones(N, cupy.float32)
    places = tensor.data_ptr(), array.data.ptr, leaf.data_ptr()
    for one in (tensor, array, leaf):
        triple(one)
    add(tensor, array)
    assert tensor[0].item() == 8 and array[0].item() == 4 and leaf[0].item() == 4
    assert (tensor.data_ptr(), array.data.ptr, leaf.data_ptr()) == places


def test_in_order_with_streams_of_the_device(torch, home):
    with torch.cuda.device(home), torch.cuda.stream(torch.cuda.Stream(device=home)):
        x = torch.zeros(1 << 20, device=f"cuda:{home}")
        triple(x)
        for _ in range(3):
            torch.cuda._sleep(50_000_000)
            x.fill_(2.0)
            triple(x)
            y = x.clone()
            x.fill_(-1.0)
        torch.cuda.current_stream().synchronize()
    assert (y == 7).all()


def test_copies_are_where_torch_makes_tensors(torch, home):
    """A copy on the CPU unless a program chose another default device; a view where the data is."""
    array, field = ndarray(5), qd.field(qd.f32, shape=N)
    for one in (array, field):
        assert (one.to_torch() + torch.ones(N)).device.type == "cpu"
        with torch.device(f"cuda:{home}"):
            assert (one.to_torch() + torch.ones(N)).device == torch.device("cuda", home)
        assert one.to_torch(copy=None).device == one.to_torch(copy=False).device == torch.device("cuda", home)
        assert one.to_torch(device="cuda:0").device == torch.device("cuda", 0)


def test_copies_between_devices_where_they_are_asked_for(torch, home):
    other = 1 - home
    array = ndarray(5)
    copy = array.to_torch(device=f"cuda:{other}")
    assert copy.device.index == other and (copy == 5).all()
    array.from_torch(torch.full((N,), 6.0, device=f"cuda:{other}"))
    assert array.to_numpy()[0] == 6


# ---------------------------------------------------------------- arrays of another device


class Interface:
    """An array that has nothing but `__cuda_array_interface__`."""

    def __init__(self, array):
        self.array = array
        self.dtype, self.ndim, self.shape = array.dtype, array.ndim, array.shape
        self.__cuda_array_interface__ = array.__cuda_array_interface__

    __cuda_array_interface__ = None  # found by the class, as the protocol asks


def foreign(torch, cupy, kind, device):
    if kind == "torch":
        return torch.ones(N, device=f"cuda:{device}")
    if kind == "torch with gradient":
        return torch.ones(N, device=f"cuda:{device}", requires_grad=True)
    with cupy.cuda.Device(device):
        array = cupy.ones(N, cupy.float32)
    return array if kind == "cupy" else Interface(array)


@pytest.mark.parametrize("kind", ["torch", "torch with gradient", "cupy", "interface"])
def test_arrays_of_another_device_are_refused(torch, cupy, home, kind):
    """By an error that names both, before anything runs; all goes on behind it."""
    other = 1 - home
    mine, there = ndarray(1), foreign(torch, cupy, kind, other)
    both = rf"is on cuda:{other}, and kernels run on cuda:{home}.*qd\.init\(arch=qd\.cuda, device={other}\)"
    for _ in range(2):
        with pytest.raises(qd.QuadrantsRuntimeError, match=f"Argument y {both}"):
            add(mine, there)
        with pytest.raises(qd.QuadrantsRuntimeError, match=f"Argument x {both}"):
            triple(there)
        with pytest.raises(qd.QuadrantsRuntimeError, match=both):
            add_pair(Pair(mine, there))
    here = foreign(torch, cupy, kind, home)
    add(mine, here)
    with pytest.raises(qd.QuadrantsRuntimeError, match=f"Argument y {both}"):
        add(mine, there)  # now that there is a plan for such arrays
    qd.sync()
    torch.cuda.synchronize(other)
    assert mine.to_numpy().tolist() == [2.0] * N
    assert torch.ones(1, device=f"cuda:{other}").sum().item() == 1


def test_memory_that_all_devices_reach(torch, cupy, home):
    with cupy.cuda.Device(1 - home):
        managed = cupy.ndarray((N,), cupy.float32, memptr=cupy.cuda.malloc_managed(4 * N))
        managed.fill(1)
        cupy.cuda.Device().synchronize()
    mine = ndarray(1)
    add(mine, Interface(managed))
    assert mine.to_numpy()[0] == 2


def test_arrays_of_the_host_are_copied(torch, home):
    mine, host = ndarray(1), torch.ones(N)
    add(mine, host)
    add(host, mine)
    assert mine.to_numpy()[0] == 2 and host[0].item() == 3


# ---------------------------------------------------------------- graphs of torch


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("argument", ["ndarray", "torch"])
def test_launches_while_torch_records_a_graph(torch, home, argument, compiled):
    """They are refused, so that replays do not leave them out; what torch records beside them is whole."""
    with torch.cuda.device(home):
        x = ndarray(1) if argument == "ndarray" else torch.ones(N, device=f"cuda:{home}")
        y = torch.zeros(N, device=f"cuda:{home}")

        @qd.kernel
        def step(x: qd.types.ndarray(qd.f32, ndim=1)):
            for i in range(x.shape[0]):
                x[i] += 1

        if compiled:
            step(x)
        qd.sync()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        # Without a stream torch records the one that it made for the first graph, whatever the device.
        with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
            y += 1
            with pytest.raises(qd.QuadrantsRuntimeError, match="while torch records a graph"):
                step(x)
            y += 1
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
        assert (y == 6).all()
        values = x.to_numpy() if argument == "ndarray" else x.cpu().numpy()
        assert values.tolist() == [2.0 if compiled else 1.0] * N
        step(x)
        qd.sync()
        with torch.cuda.stream(torch.cuda.Stream()):
            step(x)
        qd.sync()
        torch.cuda.synchronize()
        values = x.to_numpy() if argument == "ndarray" else x.cpu().numpy()
        assert values.tolist() == [4.0 if compiled else 3.0] * N


def test_launches_while_cupy_records_a_graph(torch, cupy, home):
    with cupy.cuda.Device(home):
        x = cupy.ones(N, cupy.float32)
        triple(x)
        cupy.cuda.Device().synchronize()
        with cupy.cuda.Stream(non_blocking=True) as stream:
            stream.begin_capture()
            try:
                with pytest.raises(qd.QuadrantsRuntimeError, match="while cupy records a graph"):
                    triple(x)
            finally:
                stream.end_capture()
        triple(x)
        assert x[0].item() == 13


def test_launches_on_a_recorded_stream_are_in_its_replays(torch, cupy, home):
    """Of arrays of all packages, in order with what these do there; what needs the host is refused before it runs."""
    with cupy.cuda.Device(home), torch.cuda.device(home):
        mine, theirs, tensor = ndarray(1), cupy.ones(N, cupy.float32), torch.ones(N, device=f"cuda:{home}")
        first = torch.cuda.Stream()
        for package, stream in (("cupy", cupy.cuda.Stream(non_blocking=True)), ("torch", first)):
            handle = qd.Stream(stream.ptr if package == "cupy" else stream.cuda_stream)
            arrays = (mine, theirs if package == "cupy" else tensor)
            before = [values_of(x).copy() for x in arrays]
            cupy.cuda.Device().synchronize()
            with stream if package == "cupy" else torch.cuda.stream(stream):
                for x in arrays:
                    triple(x, qd_stream=handle)  # its memory for this stream is made now
            stream.synchronize()
            if package == "cupy":
                with stream:
                    stream.begin_capture()
                    for x in arrays:
                        triple(x, qd_stream=handle)
                    with pytest.raises(qd.QuadrantsRuntimeError, match="while cupy records a graph"):
                        triple(theirs)
                    with pytest.raises(qd.QuadrantsRuntimeError, match="same random numbers"):
                        noise(mine, qd_stream=handle)
                    with pytest.raises(qd.QuadrantsRuntimeError, match="from or to the host"):
                        triple(np.ones(N, np.float32), qd_stream=handle)
                    graph = stream.end_capture()
                for _ in range(2):
                    graph.launch(stream)
            else:
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, stream=stream):
                    for x in arrays:
                        triple(x, qd_stream=handle)
                    with pytest.raises(qd.QuadrantsRuntimeError, match="same random numbers"):
                        noise(mine, qd_stream=handle)
                for _ in range(2):
                    graph.replay()
            cupy.cuda.Device().synchronize()
            for x, old in zip(arrays, before):
                found = old
                for _ in range(3):
                    found = 3 * found + 1
                assert np.array_equal(values_of(x), found), package
