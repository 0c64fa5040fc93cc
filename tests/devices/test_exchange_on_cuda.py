"""Arrays of torch and cupy on a CUDA device: by pointer, and in order with what those packages do on streams."""

from __future__ import annotations

import pytest

import quadrants as qd
from quadrants._ext.core import set_array_producers
from quadrants.backends import exchange
from quadrants.data import external

N = 1 << 20
LONG = 200_000_000  # cycles: about a tenth of a second
ROUNDS = 2_000_000


@qd.kernel
def triple(x: qd.types.ndarray(qd.f32, ndim=1)):
    for i in range(x.shape[0]):
        x[i] = 3 * x[i] + 1


@qd.kernel
def triple_slowly(x: qd.types.ndarray(qd.f32, ndim=1), rounds: qd.i32):
    """Takes long enough for another stream to overtake it."""
    for i in range(x.shape[0]):
        state = qd.u32(i)
        for _ in range(rounds):
            state = state * qd.u32(1664525) + qd.u32(1013904223)
        x[i] = 3 * x[i] + 1 + qd.cast(state == qd.u32(12345), qd.f32)


@pytest.fixture
def torch(arch):
    """torch on the device that kernels run on."""
    if arch.name != "cuda" or qd.cfg.emulate:
        pytest.skip("needs a CUDA device and a torch that was built for CUDA (pip install torch)")
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("needs a torch that was built for CUDA (pip install torch)")
    return module


@pytest.fixture
def cupy(torch):
    return pytest.importorskip("cupy", reason="needs cupy (pip install cupy-cuda13x)")


def work_on_a_stream(torch):
    """torch fills a tensor late on its own stream, a kernel changes it, torch reads it on that stream."""
    x = torch.zeros(N, device="cuda")
    triple_slowly(x, 1)  # compiles: the launch below must come while torch's stream is busy
    x.clone()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(LONG)
        x.fill_(2.0)
        triple_slowly(x, ROUNDS)
        y = x.clone()
        x.fill_(-1.0)
        torch.cuda.current_stream().synchronize()
    qd.sync()
    return y


def test_in_order_with_a_stream_of_torch(torch):
    assert (work_on_a_stream(torch) == 7.0).all()


@pytest.fixture
def through_python():
    """Tensors and cupy's arrays are left to Python."""
    before = set_array_producers(None)
    yield
    set_array_producers(before)


def test_in_order_through_python(torch, through_python):
    assert (work_on_a_stream(torch) == 7.0).all()


@pytest.mark.parametrize("half", ["before_use", "after_use"])
def test_the_order_is_ours_to_make(torch, through_python, monkeypatch, half):
    """Without either half of the synchronisation the result is wrong: the tests above would notice."""
    monkeypatch.setattr(exchange, half, lambda array: None)
    assert not (work_on_a_stream(torch) == 7.0).all()


def test_in_order_on_a_stream_of_ours(torch):
    """The launch is on a stream of ours, torch on its default one."""
    stream = qd.create_stream()
    x = torch.zeros(N, device="cuda")
    triple(x)
    torch.cuda._sleep(LONG)
    x.fill_(2.0)
    triple(x, qd_stream=stream)
    assert (x.clone() == 7.0).all()


def test_in_order_with_a_stream_of_cupy(cupy):
    x = cupy.zeros(N, dtype=cupy.float32)
    spin = cupy.RawKernel(
        'extern "C" __global__ void spin(long long n) { long long t = clock64(); while (clock64() - t < n); }', "spin"
    )
    triple(x)
    spin((1,), (1,), (1,))
    cupy.cuda.Device().synchronize()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        spin((1,), (1,), (LONG,))
        x[...] = 2.0
        triple(x)
        y = x.copy()
        stream.synchronize()
    assert (y == 7.0).all()


def test_launches_do_not_ask_python(torch, cupy, monkeypatch):
    tensor, array = torch.ones(N, device="cuda"), cupy.ones(N, dtype=cupy.float32)
    triple(tensor)
    triple(array)

    def never(*_):
        raise AssertionError("Python was asked")

    monkeypatch.setattr(external, "token", never)
    monkeypatch.setattr(external, "describe_external", never)
    for stream in (None, qd.create_stream()):
        triple(tensor, qd_stream=stream)
        triple(array, qd_stream=stream)
    assert (tensor == 40).all() and (array == 40).all()


def test_the_memory_of_the_device_is_not_copied_for_the_host(torch):
    """A tensor of the host is sent and brought back, between launches on tensors of the device."""
    far, near = torch.ones(N, device="cuda"), torch.ones(N)
    for _ in range(2):
        triple(far)
        triple(near)
    assert (far == 13).all() and (near == 13).all()


def test_no_copies(torch, cupy):
    """A kernel works on the memory itself, and tensors made of our containers share theirs."""
    x = torch.ones(N, device="cuda")
    before = x.data_ptr()
    triple(x)
    assert x.data_ptr() == before and (x == 4).all()
    a = qd.ndarray(qd.f32, (N,))
    a.fill(1.0)
    view, other = a.to_torch(copy=False), cupy.asarray(a)
    assert view.data_ptr() == other.data.ptr == a._ptr
    triple(a)
    qd.sync()
    assert (view == 4).all() and (other == 4).all()
    view += 1
    torch.cuda.synchronize()
    assert a[5] == 5.0


def test_views_keep_the_memory(torch):
    a = qd.ndarray(qd.f32, (N,))
    a.fill(3.0)
    view = a.to_torch(copy=False)
    del a
    b = qd.ndarray(qd.f32, (N,))
    b.fill(9.0)
    assert (view == 3).all()
    qd.reset()
    assert (view == 3).all()
