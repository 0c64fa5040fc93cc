"""A device that lacks extensions, or is small: PoCL, which is taken for one."""

from __future__ import annotations

import os

import numpy as np
import pytest

import quadrants as qd
from quadrants.backends import registry
from quadrants.toolchain import opencl as compiler

pytestmark = pytest.mark.cpu_only
BASE, EXTENDED, DOUBLES = "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics", "cl_khr_fp64"


@pytest.fixture
def without(opencl, monkeypatch):
    """`without(extension, .., **options)` starts the runtime on a device that has not these extensions."""
    extensions = compiler.extensions

    def start(*names: str, **options):
        monkeypatch.setattr(compiler, "extensions", lambda device: extensions(device) - {*names})
        opencl(offline_cache=False, **options)

    return start


@pytest.fixture
def nothing_compiles(monkeypatch):
    """The driver is handed no text."""

    def compile(*args):
        raise AssertionError("a kernel that was to be refused went to the driver")

    monkeypatch.setattr(compiler, "compile", compile)


@qd.kernel
def halve(x: qd.types.ndarray(ndim=1)):
    for i in x:
        x[i] = x[i] / 2


@qd.kernel
def sum_up(x: qd.types.ndarray(ndim=1), out: qd.types.ndarray(ndim=1)):
    for i in x:
        out[0] += x[i]


@qd.kernel
def extremes(x: qd.types.ndarray(ndim=1), out: qd.types.ndarray(ndim=1)):
    for i in x:
        qd.atomic_max(out[i % 2], x[i])


def refusal(kernel, *args) -> str:
    with pytest.raises(qd.QuadrantsTypeError) as caught:
        kernel(*args)
    text = str(caught.value)
    device = compiler.chosen().device.name.strip()
    assert f'File "{__file__}", line ' in text and f"arch opencl on {device} has no " in text
    return text


def test_values_without_f64_are_refused_before_the_driver_sees_them(without, nothing_compiles):
    without()
    assert qd.is_extension_enabled(qd.extension.data64)
    without(DOUBLES)
    text = refusal(halve, np.ones(3))
    assert "x[i] = x[i] / 2" in text and f"has no f64 ({DOUBLES}). Use f32 instead" in text
    assert not qd.is_extension_enabled(qd.extension.data64)


def test_a_device_without_f64_runs_the_rest(without):
    without(DOUBLES, BASE, EXTENDED, debug=True)
    x = np.arange(100, dtype=np.float32)
    halve(x)
    assert (x == np.arange(100) / 2).all()
    total, counts = np.zeros(1, np.float32), np.arange(100, dtype=np.int64)
    sum_up(x, total)
    assert total[0] == x.sum()
    halve(counts)
    assert (counts == np.arange(100) // 2).all()

    @qd.kernel
    def checked(y: qd.f32, n: qd.u64) -> qd.i64:
        print(y, n)
        assert y < 3, f"{y} is too much for {n}"
        return n + 1

    assert checked(1.5, 2**40) == 2**40 + 1
    with pytest.raises(qd.QuadrantsAssertionError, match=r"^4\.25\d* is too much for 7"):
        checked(4.25, 7)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float64])
def test_atomics_of_64_bits(without, nothing_compiles, dtype):
    name = {"i": "i64", "u": "u64", "f": "f64"}[np.dtype(dtype).kind]
    x, out = np.ones(9, dtype), np.zeros(2, dtype)
    without(BASE, EXTENDED)
    assert "'out' is changed by many threads, and arch" in refusal(sum_up, x, out)
    assert f"no atomic_add on {name} ({BASE})" in refusal(sum_up, x, out)
    assert f"no atomic_max on {name} ({BASE})" in refusal(extremes, x, out)
    if dtype is not np.float64:
        without(EXTENDED)
        assert f"no atomic_max on {name} ({EXTENDED})" in refusal(extremes, x, out)


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_the_basic_atomics_do_where_they_are_there(without, dtype):
    without(EXTENDED)
    x, out = np.arange(99).astype(dtype), np.zeros(2, dtype)
    sum_up(x, out)
    assert out[0] == x.sum()
    if dtype is np.float64:
        extremes(x, out)
        assert out[1] == 97


def test_f64_as_default_is_an_error_of_init(without):
    with pytest.raises(qd.QuadrantsTypeError, match=rf"default_fp=qd\.f64: arch opencl on .* has no f64 \({DOUBLES}\)"):
        without(DOUBLES, default_fp=qd.f64)
    with pytest.raises(qd.QuadrantsRuntimeError, match="no runtime"):
        halve(np.ones(3, np.float32))
    without(DOUBLES)
    halve(np.ones(3, np.float32))


def test_what_a_larger_device_kept_is_not_taken_from_the_cache(opencl, monkeypatch, tmp_path):
    @qd.kernel(fastcache=True)
    def kept(x: qd.types.ndarray(dtype=qd.f64, ndim=1)):
        for i in x:
            x[i] = 1

    opencl(offline_cache_file_path=str(tmp_path / "cache"))
    kept(np.ones(3))
    extensions = compiler.extensions
    monkeypatch.setattr(compiler, "extensions", lambda device: extensions(device) - {DOUBLES})
    opencl(offline_cache_file_path=str(tmp_path / "cache"))
    assert "'x' is of type f64" in refusal(kept, np.ones(3))


class SmallBlocks:
    """A device, but for the size of blocks and of what they share."""

    max_work_group_size = 64
    local_mem_size = 1 << 10

    def __init__(self, device):
        self.device = device

    def __getattr__(self, name):
        return getattr(self.device, name)


@pytest.fixture
def small_blocks(opencl, monkeypatch):
    """A runtime on such a device."""
    from quadrants.runtime import opencl as runtime

    lacks = runtime._lacks
    monkeypatch.setattr(runtime, "_lacks", lambda device: lacks(SmallBlocks(device)))
    opencl(offline_cache=False)


def test_blocks_are_no_larger_than_those_of_the_device(small_blocks):
    assert registry.current().dialect.lacks.block_threads == 64
    x, out = np.arange(1000, dtype=np.int32), np.zeros(1, np.int32)
    sum_up(x, out)
    assert out[0] == x.sum()

    @qd.kernel
    def number_threads(y: qd.types.ndarray(ndim=1)):
        for i in y:  # on a processor, too, what asks for its thread has blocks of many
            y[i] = qd.simt.block.thread_idx()

    @qd.kernel
    def add_threads(y: qd.types.ndarray(ndim=1), total: qd.types.ndarray(ndim=1)):
        for i in y:
            total[0] += qd.simt.block.thread_idx() * 0 + y[i]

    number_threads(x)
    assert (x == np.arange(1000) % 64).all()
    out[0] = 0
    add_threads(x, out)
    assert out[0] == x.sum()
    for text in (number_threads.source(x), add_threads.source(x, out)):
        assert "reqd_work_group_size(64, 1, 1)" in text and "reqd_work_group_size(128" not in text

    @qd.kernel
    def asked(y: qd.types.ndarray(ndim=1)):
        qd.loop_config(block_dim=128)
        for i in y:
            y[i] = 1

    with pytest.raises(qd.QuadrantsCompilationError, match="block_dim=128, .* has no block of more than 64 threads"):
        asked(x)


def test_blocks_share_no_more_than_those_of_the_device(small_blocks, nothing_compiles):
    @qd.kernel
    def exchanged(y: qd.types.ndarray(ndim=1), count: qd.template()):
        for i in y:
            mine = qd.simt.block.SharedArray((count,), qd.i32)
            mine[i % 64] = i
            qd.simt.block.sync()
            y[i] = mine[63 - i % 64]

    text = "Requested dynamic shared memory size of 1040 bytes, .*capacity of 1024 bytes.*'mine' on arch opencl on "
    with pytest.raises(RuntimeError, match=text) as caught:
        exchanged(np.zeros(64, np.int32), 257)
    assert "for i in y:" in str(caught.value)
    with pytest.raises(AssertionError, match="went to the driver"):
        exchanged(np.zeros(64, np.int32), 256)


@pytest.mark.parametrize(("version", "wanted"), [("OpenCL 3.0 PoCL 5.0-debian", "0"), ("OpenCL 3.0 PoCL 3.1", None)])
def test_what_pocl_5_needs_is_set(monkeypatch, version, wanted):
    """Its variants for sizes of launches end the process; a user who sets the variable knows better."""
    from types import SimpleNamespace

    platform = SimpleNamespace(name="Portable Computing Language", version=version)
    monkeypatch.delenv("POCL_WORK_GROUP_SPECIALIZATION", raising=False)
    compiler._settle(SimpleNamespace(platform=platform))
    assert os.environ.pop("POCL_WORK_GROUP_SPECIALIZATION", None) == wanted
    monkeypatch.setenv("POCL_WORK_GROUP_SPECIALIZATION", "1")
    compiler._settle(SimpleNamespace(platform=platform))
    assert os.environ["POCL_WORK_GROUP_SPECIALIZATION"] == "1"
