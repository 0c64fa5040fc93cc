"""Memory of a device handed to other packages. The fake device says it is DLPack's CPU, so torch can look at it."""

import gc

import numpy as np
import pytest
from data_kit import DTYPES, samples
from fake_device import install
from test_device_memory import CONTAINERS

from quadrants._ext.core import live_buffers
from quadrants.data import factories
from quadrants.ir.types import f32, f64, i32

torch = pytest.importorskip("torch", reason="needs torch")

pytestmark = [pytest.mark.cpu_only, pytest.mark.usefixtures("runtime")]


@pytest.fixture
def device(runtime, monkeypatch):
    return install(monkeypatch, dlpack=(1, 0))


def strided(name, dtype):
    c = CONTAINERS[name](dtype)
    impl = getattr(c, "_impl", c)
    impl._check_usable()
    return c, impl, impl._strided() is not None


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_share_memory(device, name, dtype):
    c, impl, is_strided = strided(name, dtype)
    values = samples(dtype, c.to_numpy().shape)
    c.from_numpy(values)
    if impl._no_view_reason() is not None:
        with pytest.raises(ValueError, match="Zero-copy not available"):
            c.to_torch(copy=False)
    else:
        device.forget()
        view = c.to_torch(copy=False)
        assert not device.fetched and np.array_equal(view.numpy(), values) and not view.requires_grad
        assert c.to_torch(copy=None).data_ptr() == view.data_ptr()
        view.zero_()
        assert not c.to_numpy().any()
        c.from_numpy(values)
        assert np.array_equal(view.numpy(), values)
    kept = c.to_torch()
    c.fill(0)
    assert np.array_equal(kept.numpy(), values) and kept.is_contiguous()
    c.from_torch(kept)
    assert np.array_equal(c.to_numpy(), values)


@pytest.mark.parametrize("name", CONTAINERS)
def test_copies_go_to_the_default_device_of_torch(device, name):
    c, impl, _ = strided(name, f32)
    with torch.device("meta"):
        assert c.to_torch().device.type == "meta" and c.to_torch("cpu").device.type == "cpu"
        if impl._no_view_reason() is None:
            assert c.to_torch(copy=False).device.type == c.to_torch(copy=None).device.type == "cpu"
        else:
            assert c.to_torch(copy=None).device.type == "meta"


@pytest.mark.parametrize("name", CONTAINERS)
def test_tensors_come_in_with_casts(device, name):
    c, _, is_strided = strided(name, i32)
    values = np.asarray(samples(f64, c.to_numpy().shape) * 100)
    device.forget()
    c.from_torch(torch.from_numpy(values))
    if is_strided:
        assert not device.stored and not device.fetched
    assert np.array_equal(c.to_numpy(), values.astype(np.int32))
    wrong = torch.zeros((*values.shape, 2))
    with pytest.raises((ValueError, AssertionError)):
        c.from_torch(wrong)
    with pytest.raises(TypeError):
        c.from_torch(torch.zeros(values.shape, dtype=torch.bfloat16))
    with pytest.raises(TypeError):
        c.from_torch(values)


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize("versioned", [False, True])
def test_protocols(device, name, versioned):
    c, impl, is_strided = strided(name, f32)
    values = samples(f32, c.to_numpy().shape)
    c.from_numpy(values)
    if not is_strided:
        assert not hasattr(impl, "__dlpack__") and not hasattr(impl, "__dlpack_device__")
        with pytest.raises(RuntimeError):
            c.to_dlpack(versioned)
        return
    assert impl.__dlpack_device__() == (1, 0)
    assert not hasattr(impl, "__cuda_array_interface__")
    assert np.array_equal(torch.from_dlpack(c.to_dlpack(versioned)).numpy(), values)
    capsule = impl.__dlpack__(stream=-1, max_version=(1, 0) if versioned else None, dl_device=(1, 0), copy=False)
    assert ("dltensor_versioned" in repr(capsule)) == versioned
    assert np.array_equal(torch.from_dlpack(capsule).numpy(), values)
    with pytest.raises(BufferError):
        impl.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        impl.__dlpack__(dl_device=(2, 0))


def test_interface_of_cuda(runtime, monkeypatch):
    install(monkeypatch, dlpack=(2, 0))
    a = factories.laid_out_ndarray(f64, (2, 3), layout=(1, 0))
    assert a.__cuda_array_interface__ == {
        "shape": (2, 3),
        "typestr": "<f8",
        "data": (a.arr.ptr, False),
        "strides": (8, 16),
        "stream": 1,
        "version": 3,
    }
    assert not hasattr(CONTAINERS["blocked"](f32), "__cuda_array_interface__")


def test_lifetime(device):
    gc.collect()
    before = live_buffers()
    a = factories.ndarray(f32, 4)
    a.fill(2)
    view, unused = a.to_torch(copy=False), a.to_dlpack()
    again, other = a.to_torch(copy=False), a.to_dlpack(True)
    a._tc = view
    del a, again, view, unused, other
    gc.collect()
    assert live_buffers() == before
    b = factories.ndarray(f32, 4)
    b.fill(3)
    view = b.to_torch(copy=False)
    del b
    gc.collect()
    assert view.tolist() == [3] * 4 and live_buffers() == before + 1
    del view
    gc.collect()
    assert live_buffers() == before


def test_devices_by_name(device):
    a = factories.ndarray(f32, 4)
    assert a.to_torch("cpu", copy=False).data_ptr() == a.arr.ptr
    assert a.to_torch(torch.device("cpu", 0), copy=False).data_ptr() == a.arr.ptr
    with pytest.raises(ValueError, match="incompatible with device transfer"):
        a.to_torch("meta", copy=False)
    with pytest.raises(ValueError, match="copy must be"):
        a.to_torch(copy="yes")
    v = factories.matrix_field(3, 1, f32, 4, ndim=1)
    assert v.to_torch(keep_dims=True, copy=False).shape == (4, 3, 1)
    assert v.to_torch(keep_dims=True).shape == (4, 3, 1)
