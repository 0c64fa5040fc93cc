"""Tensors of torch on the device of the arch under test, or the clear refusal where torch cannot see that device."""

import gc

import numpy as np
import pytest
from data_kit import samples

import quadrants as qd
from quadrants._ext.core import live_buffers
from quadrants.data import factories, interop_torch, memory
from quadrants.ir.types import f32, f64, i32, u1

torch = pytest.importorskip("torch", reason="needs torch")

pytestmark = pytest.mark.usefixtures("runtime")


@pytest.fixture
def place(arch_name):
    """torch's device for what containers export."""
    return interop_torch.home() or torch.device("cpu")


@qd.kernel
def add_one(a: qd.types.ndarray()):
    for I in qd.grouped(a):
        a[I] += 1


def containers(dtype):
    yield factories.field(dtype, (2, 3))
    yield factories.field(dtype, (2, 3), order="ji", offset=(-1, 5))
    yield factories.matrix_field(3, 1, dtype, 4, ndim=1)
    yield factories.ndarray(dtype, (2, 3))
    yield factories.laid_out_ndarray(dtype, (2, 3), layout=(1, 0))
    yield factories.matrix_ndarray(2, 2, dtype, 5)


@pytest.mark.parametrize("dtype", [f32, f64, i32, u1], ids=str)
def test_round_trips(place, dtype):
    for c in containers(dtype):
        values = samples(dtype, c.to_numpy().shape)
        c.from_numpy(values)
        for device in (None, place, "cpu"):
            out = c.to_torch(device)
            assert out.device.type == torch.device(device or "cpu").type and out.is_contiguous()
            assert np.array_equal(out.cpu().numpy(), values)
        c.fill(0)
        assert np.array_equal(out.cpu().numpy(), values)
        c.from_torch(torch.from_numpy(values).to(place))
        assert np.array_equal(c.to_numpy(), values)
        c.from_torch(torch.from_numpy(values.T.copy().T))
        assert np.array_equal(c.to_numpy(), values)


def test_copies_are_where_torch_makes_tensors(place):
    """Programs mix them with tensors of their own, which are on torch's default device."""
    for c in containers(f32):
        c.fill(2)
        assert (c.to_torch() + torch.ones(1)).device.type == "cpu"
        with torch.device(place):
            assert (c.to_torch() + torch.ones(1)).device.type == place.type
        with torch.device("meta"):
            assert c.to_torch().device.type == "meta"
            if memory.dlpack_device() is not None:
                assert c.to_torch(copy=False).device.type == c.to_torch(copy=None).device.type == place.type


def test_views(place):
    for c in containers(f32):
        if memory.dlpack_device() is None:
            with pytest.raises(ValueError, match="Zero-copy not available"):
                c.to_torch(copy=False)
            assert not c.to_torch(copy=None).any()
            continue
        view = c.to_torch(copy=False)
        view += 2
        qd.sync()
        if place.type == "cuda":
            torch.cuda.synchronize()
        assert (c.to_numpy() == 2).all() and view.device.type == place.type
        c.fill(3)
        qd.sync()
        assert bool((view == 3).all())
        assert c.to_torch(place, copy=False).data_ptr() == view.data_ptr()


def test_views_keep_memory(place):
    gc.collect()
    before = live_buffers()
    a = factories.ndarray(f32, 4)
    a.fill(3)
    view = a.to_torch(copy=None)
    a._tc = view
    del a
    gc.collect()
    assert view.tolist() == [3] * 4
    del view
    gc.collect()
    assert live_buffers() == before


def test_arguments(place):
    for where in {place, torch.device("cpu")}:
        t = torch.arange(6, dtype=torch.float32, device=where).reshape(2, 3)
        for _ in range(3):
            add_one(t)
            t *= 2
        assert t.cpu().flatten().tolist() == [8.0 * k + 14 for k in range(6)]
        leaf = torch.ones(4, requires_grad=True, device=where)
        add_one(leaf)
        assert leaf.tolist() == [2] * 4 and leaf.grad.tolist() == [0] * 4 and leaf.grad.device == leaf.device


def test_kernels_between_views(place):
    if memory.dlpack_device() is None:
        with pytest.raises(RuntimeError):
            factories.ndarray(f32, 4).to_dlpack()
        return
    a, model = factories.ndarray(f32, 64), np.zeros(64, np.float32)
    view = torch.from_dlpack(a.to_dlpack())
    for k in range(20):
        add_one(a)
        qd.sync()
        view.mul_(0.5).add_(k)
        if place.type == "cuda":
            torch.cuda.synchronize()
        model = (model + 1) * np.float32(0.5) + np.float32(k)
    assert np.allclose(a.to_numpy(), model)


def test_interfaces(place):
    a = factories.ndarray(f32, (3, 4))
    values = samples(f32, (3, 4))
    a.from_numpy(values)
    if place.type == "cpu":
        assert not hasattr(a, "__cuda_array_interface__") and not hasattr(a, "__dlpack__")
        return
    assert np.array_equal(torch.from_dlpack(a).cpu().numpy(), values)
    assert np.array_equal(torch.as_tensor(a, device="cuda").cpu().numpy(), values)
