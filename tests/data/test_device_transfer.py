"""Strided windows of device memory against NumPy: any shape, order and gaps, however the transfers are cut."""

import numpy as np
import pytest
from fake_device import FakeDevice
from hypothesis import given
from hypothesis import strategies as st

from quadrants.data import transfer
from quadrants.data.device_array import DeviceArray

pytestmark = pytest.mark.cpu_only

KINDS = ["i1", "u2", "f4", "i8"]


@st.composite
def windows(draw):
    """(device, window, the same as a NumPy view of a copy of the memory, that copy)."""
    dtype = np.dtype(draw(st.sampled_from(KINDS)))
    shape = tuple(draw(st.lists(st.integers(1, 4), max_size=4)))
    return draw(_windows_of(dtype, shape))


@st.composite
def _windows_of(draw, dtype, shape):
    strides, step = [0] * len(shape), dtype.itemsize
    for axis in draw(st.permutations(range(len(shape)))):
        step *= draw(st.sampled_from([1, 1, 1, 2, 5]))
        strides[axis] = step
        step *= shape[axis]
    offset = dtype.itemsize * draw(st.integers(0, 3))
    device = FakeDevice()
    buffer = device.allocate(offset + step + draw(st.integers(0, 9)))
    content = np.random.default_rng(draw(st.integers(0, 9))).integers(0, 256, buffer.nbytes).astype(np.uint8)
    buffer.store(0, content)
    window = DeviceArray(buffer, offset, shape, strides, dtype)
    return device, window, np.ndarray(shape, dtype, content, offset, strides), content


@pytest.fixture(params=[(1 << 16, 16), (0, 0), (4, 1), (1 << 16, 0)], ids=str)
def costs(request, monkeypatch):
    """What a transfer costs and in how many pieces a window is written decide how it is cut."""
    cost, pieces = request.param
    monkeypatch.setattr(transfer, "_TRANSFER", cost)
    monkeypatch.setattr(transfer, "_PIECES", pieces)
    monkeypatch.setattr(transfer, "_CHUNK", max(1, cost >> 12))


def same_bytes(buffer, content):
    return np.array_equal(buffer.fetch(0, buffer.nbytes), content)


def values_of(view):
    return np.random.default_rng(1).integers(0, 100, view.shape).astype(view.dtype)


class TestWindows:
    @pytest.fixture(autouse=True)
    def _cut(self, costs):
        pass

    @given(windows())
    def test_read(self, made):
        _, window, view, _ = made
        assert window.fetch().tobytes() == view.tobytes()
        assert transfer.is_dense(window) == (transfer.span(window) == view.nbytes)

    @given(windows())
    def test_write(self, made):
        _, window, view, content = made
        window[...] = view[...] = values_of(view)
        assert same_bytes(window.buffer, content)

    @given(windows(), st.integers(0, 4), st.sampled_from(["equal", "distinct", "zero"]))
    def test_fill(self, made, rank, kind):
        _, window, view, content = made
        trailing = view.shape[max(0, view.ndim - rank) :]
        value = {"equal": np.full(trailing, 7), "zero": np.zeros(trailing), "distinct": values_of(np.empty(trailing))}
        window[...] = view[...] = value[kind].astype(view.dtype)
        assert same_bytes(window.buffer, content)

    @given(windows(), st.data())
    def test_parts(self, made, data):
        _, window, view, content = made
        key = tuple(data.draw(st.integers(0, n - 1)) for n in view.shape[: data.draw(st.integers(0, view.ndim))])
        assert np.asarray(window[(*key, ...)]).tobytes() == view[(*key, ...)].tobytes()
        window[(*key, ...)] = view[(*key, ...)] = values_of(view[(*key, ...)])
        assert same_bytes(window.buffer, content)

    @given(windows(), st.data())
    def test_copy(self, made, data):
        _, window, view, content = made
        kind = np.dtype(data.draw(st.sampled_from([window.dtype.str, "f4"])))
        _, source, other, _ = data.draw(_windows_of(kind, view.shape))
        source[...] = other[...] = values_of(other)
        window.buffer.device = source.buffer.device
        window[...] = source
        view[...] = other
        assert same_bytes(window.buffer, content)
