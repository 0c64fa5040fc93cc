"""Archs, probes, QD_ARCH, QD_ENABLE_*, fallback, extensions."""

import copy
import importlib
import pickle
import threading
import time

import pytest

from quadrants import arch, session, startup
from quadrants.arch import Arch, Extension
from quadrants.cli import probes
from quadrants.errors import WrongVariable
from quadrants.toolchain import hiprtc, nvrtc
from quadrants.toolchain.errors import CompilerNotFound

pytestmark = pytest.mark.cpu_only


@pytest.fixture
def backends(monkeypatch):
    """Backends registered by a test are gone after it."""
    monkeypatch.setattr(arch, "_backends", dict(arch._backends))
    return arch


def _start(**options):
    session.init(**options)
    return session.current_cfg().arch


def _warnings(capfd):
    return [line for line in capfd.readouterr().err.splitlines() if not line.startswith("[Quadrants]")]


def test_constants():
    assert arch.cpu in (arch.x64, arch.arm64)
    assert arch.x86_64 is arch.x64
    assert arch.gpu == [arch.cuda, arch.metal, arch.vulkan, arch.amdgpu, arch.opencl]
    assert repr(arch.x64) == "Arch.x64"
    assert arch.cuda.name == "cuda"
    assert len({arch.x64, arch.arm64, arch.cuda, arch.cuda}) == 3
    assert all(getattr(arch, a.name) is a for a in (*arch.gpu, arch.cpu, arch.python))
    assert bool(arch.x64), "no arch may be falsy"


def test_an_arch_survives_copies_and_pickling_as_itself():
    for twin in (copy.copy(arch.cuda), copy.deepcopy(arch.cuda), pickle.loads(pickle.dumps(arch.cuda)), Arch("cuda")):
        assert twin is arch.cuda
    with pytest.raises(AttributeError):
        arch.cuda.name = "other"


@pytest.mark.parametrize("wanted", [None, arch.cpu, [arch.cpu], (arch.cuda, arch.cpu), [arch.cuda, arch.cpu]])
def test_the_cpu_starts_without_a_warning(wanted, capfd, backends):
    backends.register_backend("cuda", lambda: False)
    assert _start(arch=wanted) is arch.cpu
    assert _warnings(capfd) == []


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        (arch.metal, "[Arch.metal]"),
        ([arch.metal, arch.amdgpu], "[Arch.metal, Arch.amdgpu]"),
        ([], "[]"),
        ("cpu", "['cpu']"),
        (3, "[3]"),
    ],
)
def test_nothing_supported_falls_back_or_raises(wanted, shown, capfd, backends):
    for name in ("metal", "amdgpu"):
        backends.register_backend(name, lambda: False)
    assert _start(arch=wanted) is arch.cpu
    assert f"Arch={shown} is not supported, falling back to CPU" in capfd.readouterr().err
    with pytest.raises(RuntimeError, match="is not supported"):
        session.init(arch=wanted, enable_fallback=False)
    assert session.current_cfg() is None


def test_what_an_arch_lacks_is_in_the_warning_and_in_the_error(backends, capfd, monkeypatch):
    backends.register_backend("cuda", lambda: False, lacking=lambda: ["a driver: install it", "a device"])
    backends.register_backend("amdgpu", lambda: False)
    backends.register_backend("vulkan", lambda: False)
    other = next(a for a in (arch.x64, arch.arm64) if a is not arch.cpu)
    monkeypatch.setenv("QD_ENABLE_PYTHON", "0")
    expected = {
        arch.cuda: "cuda lacks a driver: install it; a device",
        arch.amdgpu: "amdgpu does not run here",
        arch.vulkan: "vulkan does not run here",
        arch.python: "python is hidden: unset QD_ENABLE_PYTHON",
        other: f"{other.name} is another processor than this one ({arch.cpu.name}): write qd.cpu",
        Arch("cudda"): "No package here has the arch 'cudda' (did you mean 'cuda'?)",
        "metl": "'metl' is not an arch: write qd.metal",
        3: "3 is not an arch: write qd.cpu",
    }
    for wanted, reason in expected.items():
        session.init(arch=wanted)
        assert f"is not supported, falling back to CPU. {reason}\n" in capfd.readouterr().err
        with pytest.raises(RuntimeError) as caught:
            session.init(arch=wanted, enable_fallback=False)
        assert str(caught.value).endswith(f"is not supported. {reason}")
    session.init(arch=[arch.cuda, arch.vulkan])
    assert ". cuda lacks a driver: install it; a device. vulkan does not run here\n" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["cuda", "amdgpu"])
def test_init_says_what_doctor_says(name, monkeypatch, capfd):
    """Where there is no device. Where there is one, nothing of it is missing."""
    missing = probes.examine(name).missing
    if Arch(name) is _start(arch=Arch(name)):
        assert missing == []
    else:
        reason = capfd.readouterr().err.partition(f"{name} lacks ")[2].partition("\n")[0]
        assert reason and set(reason.split("; ")) <= set(missing)


@pytest.mark.parametrize(
    "name, compiler, kept, command",
    [
        ("cuda", nvrtc, "_library", "pip install nvidia-cuda-nvrtc"),
        ("amdgpu", hiprtc, "_found", "apt-get install libamdhip64-dev"),
    ],
)
def test_a_device_without_its_compiler_is_an_error_of_init(name, compiler, kept, command, monkeypatch):
    """Not one of the first kernel; the device is not even opened."""
    module = importlib.import_module(f"quadrants.runtime.{name}")
    monkeypatch.setattr(module, "probe", lambda: True)
    monkeypatch.setattr(module, "Device", None)
    monkeypatch.setattr(compiler, kept, None)
    monkeypatch.setattr(compiler, "_identity", None)
    monkeypatch.setattr(compiler, "_candidates", lambda: iter(()))
    with pytest.raises(CompilerNotFound, match=command):
        session.init(arch=Arch(name))
    assert _start(arch=arch.cpu) is arch.cpu


def test_the_first_supported_arch_of_a_list_wins(backends):
    tried = []
    backends.register_backend("cuda", lambda: tried.append("cuda"))
    backends.register_backend("own", lambda: tried.append("own") or True)
    backends.register_backend("vulkan", lambda: tried.append("vulkan") or True)
    assert _start(arch=[arch.cuda, Arch("own"), arch.vulkan]).name == "own"
    assert tried == ["cuda", "own"]


def test_only_the_collective_gpu_leaves_out_what_is_no_gpu(backends):
    for name in ("cuda", "metal", "vulkan", "amdgpu"):
        backends.register_backend(name, lambda: False)
    backends.register_backend("opencl", lambda: True, among=lambda: False)
    assert startup.choose_arch([arch.opencl, arch.cpu], True, False) is arch.opencl
    assert startup.choose_arch([arch.cuda, arch.opencl], True, False) is arch.opencl
    assert startup.choose_arch(arch.gpu, True, False) is arch.cpu
    assert startup.choose_arch([*arch.gpu, arch.cpu], True, False) is arch.cpu


def test_a_variable_with_a_wrong_value_is_an_error_of_init(backends):
    def wrong():
        raise WrongVariable("Invalid QD_SOMETHING=9")

    backends.register_backend("opencl", wrong)
    with pytest.raises(ValueError, match="Invalid QD_SOMETHING=9"):
        _start(arch=[arch.opencl, arch.cpu])


def test_a_probe_that_raises_counts_as_unsupported(backends, capfd):
    def broken():
        raise OSError("driver on fire")

    backends.register_backend("cuda", broken)
    assert not arch.is_arch_supported(arch.cuda)
    err = capfd.readouterr().err
    assert "driver on fire" in err
    assert "QD_ENABLE_CUDA=0" in err
    assert _start(arch=[arch.cuda, arch.cpu]) is arch.cpu


@pytest.mark.parametrize("name", ["cuda", "vulkan", "metal", "amdgpu", "opencl", "python", "own"])
def test_every_backend_can_be_hidden(name, backends, monkeypatch):
    backends.register_backend(name, lambda: True)
    assert arch.is_arch_supported(Arch(name))
    monkeypatch.setenv(f"QD_ENABLE_{name.upper()}", "0")
    assert not arch.is_arch_supported(Arch(name))
    monkeypatch.setenv(f"QD_ENABLE_{name.upper()}", "")
    assert arch.is_arch_supported(Arch(name))
    monkeypatch.setenv(f"QD_ENABLE_{name.upper()}", "no")
    with pytest.raises(ValueError, match="0 or 1"):
        arch.is_arch_supported(Arch(name))


def test_a_hidden_cpu_is_no_fallback(monkeypatch):
    monkeypatch.setenv("QD_ENABLE_CPU", "0")
    with pytest.raises(RuntimeError, match="is not supported"):
        session.init()


@pytest.mark.parametrize("text", ["cpu", arch.cpu.name])
def test_qd_arch_chooses_when_no_argument_does(text, monkeypatch, capfd):
    monkeypatch.setenv("QD_ARCH", text)
    assert _start() is arch.cpu
    assert f"Following QD_ARCH setting up for arch={text}" in capfd.readouterr().err


def test_qd_arch_takes_gpu_and_obeys_enable_fallback(monkeypatch, backends):
    monkeypatch.setenv("QD_ARCH", "gpu")
    for one in arch.gpu:
        backends.register_backend(one.name, lambda: False)
    with pytest.raises(RuntimeError, match="is not supported"):
        session.init(enable_fallback=False)
    backends.register_backend("vulkan", lambda: True)
    assert _start() is arch.vulkan


def test_qd_arch_loses_against_the_argument(monkeypatch, capfd):
    monkeypatch.setenv("QD_ARCH", "cuda")
    assert _start(arch=arch.cpu) is arch.cpu
    expected = 'Environment variable QD_ARCH=cuda overridden by qd.init argument "arch"'
    assert expected in capfd.readouterr().err


def test_qd_arch_junk(monkeypatch, capfd):
    monkeypatch.setenv("QD_ARCH", "")
    assert _start() is arch.cpu
    assert _warnings(capfd) == []
    monkeypatch.setenv("QD_ARCH", "cdua")
    with pytest.raises(ValueError, match="QD_ARCH=cdua.*did you mean 'cuda'"):
        session.init()
    monkeypatch.setenv("QD_ARCH", "quantum")
    with pytest.raises(ValueError, match="QD_ARCH=quantum.*cpu, gpu"):
        session.init()


def test_python_arch_needs_torch(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if name == "torch" else None)
    assert arch.is_arch_supported(arch.python)
    monkeypatch.setenv("QD_ENABLE_TORCH", "0")
    assert not arch.is_arch_supported(arch.python)


def test_only_an_arch_is_supported():
    assert not arch.is_arch_supported("cuda")
    assert not arch.is_arch_supported(Arch("unheard_of"))
    assert arch.get_host_arch_list() == [arch.cpu]


def test_extensions(backends):
    assert [e.name for e in Extension] == ("sparse quant mesh quant_basic data64 adstack bls assertion extfunc".split())
    assert repr(Extension.sparse) == str(Extension.sparse) == "Extension.sparse"
    backends.register_backend("own", lambda: True, (Extension.data64,))
    own = Arch("own")
    assert arch.is_extension_supported(own, Extension.data64)
    assert not arch.is_extension_supported(own, Extension.sparse)
    backends.add_extensions("own", Extension.sparse)
    assert arch.is_extension_supported(own, Extension.sparse)
    assert not arch.is_extension_supported(Arch("unheard_of"), Extension.sparse)


def test_adstack_needs_its_option():
    session.init()
    assert session.is_extension_enabled(Extension.data64)
    assert not session.is_extension_enabled(Extension.adstack)
    session.init(ad_stack_experimental_enabled=True)
    assert session.is_extension_enabled(Extension.adstack)


def test_a_driver_begins_while_the_module_that_asks_it_is_imported(tmp_path, monkeypatch):
    (tmp_path / "probed_beside_driver.py").write_text(
        "from quadrants import arch\n"
        "assert arch.begun.wait(30)\n"  # for ever where the driver begins after the import
        "arch.imported.set()\n"
        "def probe():\n"
        "    return arch.ended.is_set()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("begun", "imported", "ended"):
        monkeypatch.setattr(arch, name, threading.Event(), raising=False)

    def begin():
        arch.begun.set()
        assert arch.imported.wait(30)
        arch.ended.set()

    assert arch._begin_beside(begin, "probed_beside_driver")()


def test_a_module_that_does_not_import_leaves_no_driver_behind(tmp_path, monkeypatch):
    (tmp_path / "broken_beside_driver.py").write_text("raise OSError('no such library')")
    monkeypatch.syspath_prepend(tmp_path)
    ended = []
    probe = arch._begin_beside(lambda: (time.sleep(0.1), ended.append(1)), "broken_beside_driver")
    with pytest.raises(OSError, match="no such library"):
        probe()
    assert ended == [1]
