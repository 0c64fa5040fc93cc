"""Arrays of other packages as kernel arguments on a device: what is copied there and back, and what is passed as is."""

import dataclasses
import gc

import numpy as np
import pytest
from data_kit import DTYPES, samples
from fake_device import device_of, install

import quadrants as qd
from quadrants._ext.core import set_array_producers
from quadrants.data import external, factories, interop_torch, memory, staging
from quadrants.errors import QuadrantsRuntimeError, QuadrantsRuntimeTypeError
from quadrants.ir.types import f32

pytestmark = pytest.mark.usefixtures("runtime")


@pytest.fixture
def device(runtime, arch_name, monkeypatch):
    return device_of(arch_name, monkeypatch)


@qd.kernel
def double(a: qd.types.ndarray()):
    for I in qd.grouped(a):
        a[I] = a[I] + a[I]


@qd.kernel
def add_to(target: qd.types.ndarray(), source: qd.types.ndarray()):
    for i in range(target.shape[0]):
        target[i] += source[i]


@qd.kernel
def norms(v: qd.types.ndarray(dtype=qd.math.vec2), out: qd.types.ndarray()):
    for i in range(v.shape[0]):
        out[i] = v[i].norm_sqr()


@qd.kernel
def add_matrix(target: qd.types.ndarray(ndim=2), source: qd.types.ndarray(ndim=2)):
    for I in qd.grouped(target):
        target[I] += source[I]


@pytest.mark.parametrize("dtype", [t for t in DTYPES if t.name != "u1"], ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_numpy_goes_there_and_back(device, dtype, order):
    values = samples(dtype, (4, 3))
    values = (values // 4 if not dtype.is_real else values / 4).astype(dtype.numpy_name)
    a = np.array(values, order=order)
    double(a)
    assert np.array_equal(a, values + values)


@pytest.mark.cpu_only
def test_arrays_are_moved_once_each_way(device):
    for order in "CF":
        a = np.ones((4, 3), order=order)
        device.forget()
        double(a)
        assert device.stored == [96] and device.fetched == [96] and (a == 2).all()


def test_every_launch_sends_the_array_of_that_launch(device):
    for n in (3, 5, 1):
        a = np.arange(n, dtype=np.float32)
        double(a)
        assert a.tolist() == [2.0 * k for k in range(n)]
    assert len(double) == 1
    gc.collect()
    assert not staging._in_use


@pytest.mark.parametrize("make", [lambda: np.array(3.0), lambda: np.zeros((0, 2)), lambda: np.float32([[2]])])
def test_small_and_empty(device, make):
    a = make()
    expected = a + a
    double(a)
    assert np.array_equal(a, expected)


def test_read_only_arrays_are_only_read(device):
    """A copy of such an array is not copied back."""
    for order in "CF":
        a = np.array([[1.0, 2], [3, 4]], order=order)
        b = np.ones_like(a)
        a.flags.writeable = False
        add_matrix(b, a)
        assert b.tolist() == [[2, 3], [4, 5]]
        with pytest.raises(ValueError, match="read-only"):
            double(a)
        assert a.tolist() == [[1, 2], [3, 4]]


def test_an_array_given_twice_is_one_array(device):
    a = np.arange(4, dtype=np.float32)
    add_to(a, a)
    assert a.tolist() == [0, 2, 4, 6]


def test_launches_on_a_stream(device):
    a = np.arange(4, dtype=np.float32)
    with qd.create_stream() as stream:
        double(a, qd_stream=stream)
        double(a, qd_stream=stream)
    assert a.tolist() == [0, 4, 8, 12]


@pytest.mark.cpu_only
def test_copies_wait_for_the_stream_of_the_launch(device, monkeypatch):
    monkeypatch.setattr(staging, "get_stream", lambda: 7)
    a = np.ones(4)
    double(a)
    assert device.waited == [0, 7] and (a == 2).all()


def test_members_and_elements(device):
    @qd.data_oriented
    class Holder:
        def __init__(self):
            self.a = np.arange(3, dtype=np.int32)

        @qd.kernel
        def bump(self, b: qd.types.ndarray()):
            for i in range(3):
                b[i] += 1

    holder = Holder()
    holder.bump(holder.a)
    holder.bump(holder.a)
    assert holder.a.tolist() == [2, 3, 4]
    v, out = np.float32([[3, 4], [6, 8]]), np.zeros(2, np.float32)
    norms(v, out)
    assert out.tolist() == [25, 100]


def test_containers_and_arrays_in_one_launch(device):
    a = factories.ndarray(f32, 4)
    a.from_numpy(np.ones(4, np.float32))
    b = np.arange(4, dtype=np.float32)
    add_to(a, b)
    add_to(b, a)
    assert a.to_numpy().tolist() == [1, 2, 3, 4] and b.tolist() == [1, 3, 5, 7]


@pytest.mark.cpu_only
def test_no_memory_for_an_argument(device):
    a = np.ones(1000, np.float32)
    double(a)
    device.most = 100
    with pytest.raises(RuntimeError, match="4000 bytes"):
        double(a)
    device.most = None
    double(a)
    assert (a == 4).all()


def test_refusals_are_those_of_the_host(device):
    with pytest.raises(ValueError, match="Non contiguous numpy arrays"):
        double(np.zeros((4, 4))[::2])
    with pytest.raises(QuadrantsRuntimeTypeError):
        double(np.zeros(3, complex))
    with pytest.raises(QuadrantsRuntimeTypeError):
        double([1, 2])


# ---------------------------------------------------------------- arrays of the CUDA array interface


class Foreign:
    """An array as cupy's: its memory is said to be on a CUDA device."""

    def __init__(self, array, strides=None):
        self.array, self.dtype, self.ndim, self.shape = array, array.dtype, array.ndim, array.shape
        self.strides = strides

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.array.shape,
            "typestr": self.array.dtype.str,
            "data": (self.array.__array_interface__["data"][0], False),
            "strides": self.strides,
            "version": 3,
        }


class Readable(Foreign):
    def get(self):
        return self.array.copy()

    def set(self, values):
        self.array[...] = values


@qd.kernel
def add_then_scale(a: qd.types.ndarray(), b: qd.types.ndarray()):
    for I in qd.grouped(a):
        a[I] += 1
    for I in qd.grouped(b):
        b[I] *= 10


def test_an_array_that_is_copied_by_its_package_is_one_where_it_is_passed_twice():
    whole = np.ones(6, np.float32)
    first, second = Readable(whole[:4]), Readable(whole[:4])
    stored: list = []
    for one in (first, second):
        one.set = lambda values, one=one: stored.append(one) or Readable.set(one, values)
    add_then_scale(first, second)
    assert whole.tolist() == [20, 20, 20, 20, 1, 1] and len(stored) == 1
    add_then_scale(second, second)
    assert whole.tolist() == [210, 210, 210, 210, 1, 1] and len(stored) == 2


def test_a_copy_of_the_last_launch_does_not_serve_the_next():
    array = Readable(np.ones(4, np.float32))
    add_then_scale(array, array)
    array.array[:] = 2
    add_then_scale(array, array)
    assert array.array.tolist() == [30] * 4


def test_an_array_in_the_order_of_fortran_is_one_where_it_is_passed_twice():
    array = np.ones((2, 3), np.float32, order="F")
    add_then_scale(array, array)
    assert (array == 20).all()
    add_then_scale(array, array[:])
    assert (array == 210).all()


@pytest.fixture
def used(monkeypatch):
    """What the arrays' packages are told of launches."""
    used: list = []
    monkeypatch.setattr(external, "before_use", lambda array: used.append(("before", array)))
    monkeypatch.setattr(external, "after_use", lambda array: used.append(("after", array)))
    return used


@pytest.mark.cpu_only
@pytest.mark.parametrize("home", [0, 1])
def test_arrays_on_another_cuda_device_are_refused(runtime, monkeypatch, used, home):
    """With both devices and what to write instead, before their package is asked for anything."""
    install(monkeypatch, dlpack=(2, home))
    foreign = Readable(np.ones(4, np.float32))
    for owner in (home, -1):
        monkeypatch.setattr(memory, "owner", lambda address, owner=owner: owner)
        double(foreign)
    used.clear()
    monkeypatch.setattr(memory, "owner", lambda address: 3)
    expected = rf"Argument a is on cuda:3, and kernels run on cuda:{home}; .*qd\.init\(arch=qd\.cuda, device=3\)"
    with pytest.raises(QuadrantsRuntimeError, match=expected):
        double(foreign)
    assert used == [] and foreign.array.tolist() == [4, 4, 4, 4]


@pytest.mark.cpu_only
def test_tensors_on_another_cuda_device_are_refused(runtime, monkeypatch, used):
    """A tensor that says so stands for one; devices of another kind go over the host as before."""
    torch = pytest.importorskip("torch", reason="needs the package torch")
    install(monkeypatch, dlpack=(2, 1))
    monkeypatch.setattr(interop_torch, "home", lambda: torch.device("cuda", 1))

    class Elsewhere(torch.Tensor):
        device = torch.device("cuda", 0)

        def cpu(self):
            raise AssertionError("it must not go over the host")

    there = torch.ones(4).as_subclass(Elsewhere)
    for tensor in (there, torch.ones(4, requires_grad=True).as_subclass(Elsewhere)):
        with pytest.raises(QuadrantsRuntimeError, match="Argument a is on cuda:0, and kernels run on cuda:1"):
            double(tensor)
    assert there.sum() == 4
    here = torch.ones(4)
    double(here)
    assert here.tolist() == [2, 2, 2, 2]


@pytest.mark.cpu_only
def test_arrays_on_cuda_are_passed_by_pointer(runtime, monkeypatch, used):
    device = install(monkeypatch, dlpack=(2, 0))
    a = np.arange(4, dtype=np.float32)
    for strides in (None, (4,)):
        foreign = Foreign(a, strides)
        double(foreign)
        assert used == [("before", foreign), ("after", foreign)]
        used.clear()
    assert a.tolist() == [0, 4, 8, 12] and not device.stored and not device.fetched
    with pytest.raises(ValueError, match="Non contiguous arrays"):
        double(Foreign(a, (8,)))


@pytest.mark.cpu_only
def test_arrays_on_cuda_against_annotations(runtime, monkeypatch, used):
    install(monkeypatch, dlpack=(2, 0))

    @qd.kernel
    def typed(a: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        a[0] = 7

    @qd.kernel
    def either(a: qd.Tensor):
        a[1] = 8

    @dataclasses.dataclass(frozen=True)
    class Holder:
        array: qd.types.ndarray(dtype=qd.f32, ndim=1)

    @qd.kernel
    def third(h: Holder):
        h.array[2] = 9

    a, b = np.zeros(3, np.float32), np.zeros(3, np.float32)
    for array in (a, b):
        typed(Foreign(array))
        either(Foreign(array))
        third(Holder(Foreign(array)))
    assert a.tolist() == b.tolist() == [7, 8, 9] and len(used) == 12
    for wrong in (np.zeros(3), np.zeros((3, 3), np.float32)):
        with pytest.raises(ValueError, match="required array has"):
            typed(Foreign(wrong))


@pytest.mark.cpu_only  # a CUDA device would take the addresses for its own
@pytest.mark.parametrize("on_device", [True, False])
def test_arrays_on_cuda_elsewhere(runtime, monkeypatch, on_device):
    if on_device:
        install(monkeypatch)
    a = np.arange(4, dtype=np.float32)
    double(Readable(a))
    assert a.tolist() == [0, 2, 4, 6]
    with pytest.raises(TypeError, match="NumPy array first"):
        double(Foreign(a))


# ---------------------------------------------------------------- torch


@pytest.mark.cpu_only
def test_host_tensors_are_copied(device):
    torch = pytest.importorskip("torch", reason="needs torch")
    t = torch.arange(4, dtype=torch.float32)
    double(t)
    assert t.tolist() == [0, 2, 4, 6] and device.stored == [16] and device.fetched == [16]
    leaf = torch.ones(3, requires_grad=True)
    double(leaf)
    assert leaf.tolist() == [2, 2, 2] and leaf.grad.tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="Non contiguous tensors"):
        double(torch.ones(4)[::2])


@pytest.mark.cpu_only
@pytest.mark.parametrize("negated", [False, True])
def test_a_tensor_of_another_device_is_one_where_it_is_passed_twice(device, negated):
    torch = pytest.importorskip("torch", reason="needs torch")

    class Elsewhere(torch.Tensor):
        device = torch.device("xpu", 0)

        def cpu(self):
            return self.as_subclass(torch.Tensor).clone()

    values = torch.ones(4)
    tensor = (torch._neg_view(values) if negated else values).as_subclass(Elsewhere)
    before = set_array_producers(None)  # the launch core would see the host's memory
    try:
        add_then_scale(tensor, tensor)
    finally:
        set_array_producers(before)
    assert values.tolist() == ([0] * 4 if negated else [20] * 4)


@pytest.mark.cpu_only
def test_tensors_of_the_device_are_passed_by_pointer(runtime, monkeypatch, used):
    torch = pytest.importorskip("torch", reason="needs torch")
    device = install(monkeypatch, dlpack=(1, 0))
    t = torch.arange(4, dtype=torch.float32)
    before = set_array_producers(None)  # what the launch core does not do by itself
    try:
        double(t)
    finally:
        set_array_producers(before)
    assert used == [("before", t), ("after", t)]
    double(t)
    assert t.tolist() == [0, 4, 8, 12] and not device.stored and not device.fetched


@pytest.mark.cpu_only
def test_gradients_are_placed_on_demand(device):
    torch = pytest.importorskip("torch", reason="needs torch")
    t = torch.ones(3, requires_grad=True)
    t.grad = torch.full((3,), 5.0)
    described = external.describe_external(t)
    assert device.stored == [12]
    grad = external.placed(described.grad)
    assert device.stored == [12, 12] and grad.pointer != t.grad.data_ptr()
    t.grad.fill_(0)
    grad.finish()
    assert t.grad.tolist() == [5, 5, 5]
