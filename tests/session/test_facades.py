"""The internal names that programs reach for, and the handles shared with other packages."""

import builtins
import ctypes
import importlib

import pytest

from quadrants import arch, errors, interop, session
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.types import f32

pytestmark = pytest.mark.cpu_only


@pytest.fixture
def impl():
    return importlib.import_module("quadrants.lang.impl")


def test_impl_is_the_session(impl):
    assert impl.PyQuadrants is session.PyQuadrants
    assert impl.get_runtime() is session.get_runtime() is impl.pyquadrants
    assert isinstance(impl.get_runtime(), impl.PyQuadrants)
    session.init()
    assert impl.get_runtime().default_fp is f32
    assert impl.current_cfg() is session.current_cfg()
    impl.get_runtime().prog.synchronize()


def test_reset_hooks_are_called_after_each_reset(impl, hooks):
    calls = []
    impl.on_reset(lambda: calls.append(session.current_cfg()))
    session.init()
    impl.reset()
    assert calls == [None, None]


def test_shared_memory(impl, monkeypatch):
    monkeypatch.setattr(impl, "_queries", {})
    monkeypatch.setattr(impl, "_load_backend", lambda module: None)
    with pytest.raises(QuadrantsRuntimeError):
        impl.get_max_shared_memory_bytes(is_lowerbound_ok=True)
    session.init()
    assert impl.get_max_shared_memory_bytes(is_lowerbound_ok=True) == 0
    with pytest.raises(RuntimeError, match="not implemented for arch"):
        impl.get_max_shared_memory_bytes(is_lowerbound_ok=False)
    for name, lowest in (("metal", 32768), ("vulkan", 32768), ("amdgpu", 65536)):
        session.current_cfg().arch = arch.Arch(name)
        assert impl.get_max_shared_memory_bytes(is_lowerbound_ok=True) == lowest
    session.current_cfg().arch = arch.cuda
    with pytest.raises(RuntimeError, match="not implemented"):
        impl.get_max_shared_memory_bytes(is_lowerbound_ok=True)
    impl.register_device_query("cuda", "max_shared_memory_bytes", lambda: 232448)
    assert impl.get_max_shared_memory_bytes(is_lowerbound_ok=False) == 232448


def test_compute_capability(impl, monkeypatch):
    monkeypatch.setattr(impl, "_queries", {})
    session.init()
    with pytest.raises(RuntimeError, match=r"arch=qd\.cuda"):
        impl.get_cuda_compute_capability()
    impl.register_device_query("cuda", "compute_capability", lambda: 90)
    monkeypatch.setattr(session.get_runtime(), "arch", arch.cuda)
    assert impl.get_cuda_compute_capability() == 90


def test_unknown_names_of_facades(impl):
    for module in (impl, importlib.import_module("quadrants.lang.misc")):
        with pytest.raises(AttributeError, match="nonsense"):
            _ = module.nonsense


def test_the_check_switch_is_private():
    mapper = importlib.import_module("quadrants.lang._template_mapper")
    assert mapper.argument_checks_enabled() is __debug__
    mapper.__builtins__["__debug__"] = False
    try:
        assert mapper.argument_checks_enabled() is False
        assert builtins.__debug__ is True
    finally:
        mapper.__builtins__["__debug__"] = True


def test_exception_module_has_the_classes():
    module = importlib.import_module("quadrants.lang.exception")
    for name in module.__all__:
        assert getattr(module, name) is getattr(errors, name)
    assert set(module.__all__) == {n for n in vars(errors) if n.startswith("Quadrants")}


def test_misc_module():
    misc = importlib.import_module("quadrants.lang.misc")
    assert misc.is_arch_supported(misc.cpu)
    assert misc.get_host_arch_list() == [arch.cpu]
    assert misc.init is session.init
    assert misc.is_extension_supported(misc.cpu, misc.extension.data64)


def test_fast_caching_constant():
    assert importlib.import_module("quadrants.lang._fast_caching").FIELD_METADATA_CACHE_VALUE


class _Function:
    def __init__(self, call):
        self._call = call

    def __call__(self, *args):
        return self._call(*args)


class _Library:
    def __init__(self, **functions):
        for name, call in functions.items():
            setattr(self, name, _Function(call))


def _system(size, name):
    return _Library(malloc_size=lambda p: size, object_getClassName=lambda p: name)


def test_there_is_no_metal_queue_elsewhere(monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    assert interop.get_mps_command_queue() == 0


def test_a_torch_without_metal_is_no_failure(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")

    def fail():
        raise OSError("no such library")

    monkeypatch.setattr(interop, "_torch_command_queue", fail)
    assert interop.get_mps_command_queue() == 0


@pytest.mark.parametrize(
    ("size", "name", "found"),
    [
        (64, b"AGXG13GFamilyCommandQueue", True),
        (0, b"CommandQueue", False),
        (64, b"NSString", False),
        (64, None, False),
    ],
)
def test_only_a_real_queue_is_handed_out(size, name, found):
    stream = (ctypes.c_uint64 * 4)(1, 2, 0xABC0, 4)
    torch_library = _Library(**{interop._GET_STREAM: lambda: ctypes.addressof(stream)})
    assert interop._queue_of(torch_library, _system(size, name)) == (0xABC0 if found else 0)


def test_no_stream_no_queue():
    torch_library = _Library(**{interop._GET_STREAM: lambda: None})
    assert interop._queue_of(torch_library, _system(64, b"CommandQueue")) == 0
