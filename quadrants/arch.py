"""Archs, the register of backends, and the choice of one at init.

A backend registers itself by name with a probe that says whether it can run here. Nothing in this file knows what a
backend does.
"""

from __future__ import annotations

import enum
import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from quadrants import _logging, spelling, targets
from quadrants.errors import QuadrantsRuntimeError, WrongVariable


class Arch:
    """A target to run on. One object per name: compare with `is` or `==`; `.name` is also its name in the package.

    qd.simt.warp.Arch("cuda") is qd.cuda  # True
    """

    __slots__ = ("name",)
    name: str
    _known: dict = {}

    def __new__(cls, name: str) -> Arch:
        found = cls._known.get(name)
        if found is None:
            found = cls._known[name] = object.__new__(cls)
            object.__setattr__(found, "name", name)
        return found

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("an Arch is immutable")

    def __repr__(self) -> str:
        return f"Arch.{self.name}"

    def __reduce__(self):
        return (Arch, (self.name,))

    def __copy__(self) -> Arch:
        return self

    def __deepcopy__(self, memo) -> Arch:
        return self


class Extension(enum.Enum):
    """Optional abilities of an arch; see `qd.is_extension_enabled`.

    qd.extension.data64.name  # "data64"
    """

    sparse = 1
    quant = 2
    mesh = 3
    quant_basic = 4
    data64 = 5
    adstack = 6
    bls = 7
    assertion = 8
    extfunc = 9

    def __repr__(self) -> str:
        return f"Extension.{self.name}"

    __str__ = __repr__


extension = Extension


def host_arch_name() -> str:
    """Either "x64" or "arm64". Any other processor runs the same portable C and goes under "x64"."""
    machine = os.uname().machine if hasattr(os, "uname") else os.environ.get("PROCESSOR_ARCHITECTURE", "")
    return "arm64" if machine.lower() in ("arm64", "aarch64") else "x64"


x64 = x86_64 = Arch("x64")
arm64 = Arch("arm64")
cuda = Arch("cuda")
metal = Arch("metal")
vulkan = Arch("vulkan")
amdgpu = Arch("amdgpu")
opencl = Arch("opencl")
python = Arch("python")
cpu = Arch(host_arch_name())
gpu = [cuda, metal, vulkan, amdgpu, opencl]


class Backend(NamedTuple):
    """What is registered for an arch: `probe()` is true where it can run; it must be cheap and may raise.

    emulator: the same for the arch's text run on the CPU, None where there is no emulator. lacking(): what is missing
    here, each with what provides it; asked only where `probe` was not true. among(): `probe` where the arch is one of
    `gpu`, which nobody named by itself; None for the same. of_target: the extensions of its target are its own, too;
    the record is read when somebody asks.
    """

    probe: Callable[[], bool]
    extensions: set
    emulator: Callable[[], bool] | None = None
    lacking: Callable[[], Sequence[str]] = list
    among: Callable[[], bool] | None = None
    of_target: bool = False


_backends: dict[str, Backend] = {}


def register_backend(
    name: str,
    probe: Callable[[], bool],
    extensions: Iterable[Extension] = (),
    emulator: Callable[[], bool] | None = None,
    lacking: Callable[[], Sequence[str]] = list,
    among: Callable[[], bool] | None = None,
    of_target: bool = False,
) -> Arch:
    """Make `name` selectable (again, to replace an earlier probe). Returns its Arch."""
    _backends[name] = Backend(probe, set(extensions), emulator, lacking, among, of_target)
    return Arch(name)


def add_extensions(name: str, *extensions: Extension) -> None:
    """Declare abilities of a registered backend; called by the layer that implements them."""
    _backends[name].extensions.update(extensions)


def _is_host(name: str) -> Callable[[], bool]:
    return lambda: cpu.name == name


def _probe_of(module: str, function: str = "probe") -> Callable[[], bool]:
    """The function `probe` of a module that is imported only when somebody asks for its arch."""

    def probe() -> bool:
        return getattr(importlib.import_module(module), function)()

    return probe


def _begin_beside(begin: Callable[[], object], module: str) -> Callable[[], bool]:
    """The same, where `begin()` runs in another thread until the module is there: a driver takes long to start."""
    probe = _probe_of(module)

    def probe_begun() -> bool:
        if module in sys.modules:
            return probe()
        thread = threading.Thread(target=begin, name="quadrants-driver")
        thread.start()
        try:
            importlib.import_module(module)
        finally:
            thread.join()
        return probe()

    return probe_begun


def _begin_cuda() -> object:
    """Have NVIDIA's driver look for devices, without the interpreter's lock."""
    return importlib.import_module("quadrants._ext.core").device_count("cuda")


def _lacking_of(module: str) -> Callable[[], Sequence[str]]:
    """The function `lacking` of a module, if it has one."""
    return lambda: getattr(importlib.import_module(module), "lacking", list)()


def _has_torch() -> bool:
    if os.environ.get("QD_ENABLE_TORCH") == "0":
        return False
    if "torch" in sys.modules:
        return True
    from importlib.util import find_spec  # only the python arch needs it

    return find_spec("torch") is not None


def _of_other_packages(name: str) -> bool:
    """Whether the arch of that name is known, now that packages were asked for one."""
    target = targets.of_arch(name)
    if target is not None and name not in _backends:
        abilities = [Extension[e] for e in target.extensions]
        register_backend(name, _probe_of(target.backend), abilities, lacking=_lacking_of(target.backend))
    return target is not None


for _name in ("x64", "arm64"):
    register_backend(_name, _is_host(_name), of_target=True)
for _name, _probe in (
    ("cuda", _begin_beside(_begin_cuda, "quadrants.runtime.cuda")),
    ("amdgpu", _probe_of("quadrants.runtime.amdgpu")),
    ("metal", _probe_of("quadrants.runtime.metal")),
):
    register_backend(
        _name,
        _probe,
        emulator=_probe_of("quadrants.runtime.emulated"),
        lacking=_lacking_of(f"quadrants.runtime.{_name}"),
        of_target=True,
    )
for _name in ("vulkan", "opencl"):
    register_backend(
        _name,
        _probe_of(f"quadrants.runtime.{_name}"),
        lacking=_lacking_of(f"quadrants.runtime.{_name}"),
        among=_probe_of(f"quadrants.runtime.{_name}", "probe_among"),
        of_target=True,
    )
register_backend("python", _has_torch, lacking=lambda: ["torch: `pip install torch`"])


def hidden_by(name: str) -> str:
    """The variable that hides the arch of that name, "" if none does."""
    names = {name, "cpu"} if name == cpu.name else {name}
    for variable in ("QD_ENABLE_" + n.upper() for n in sorted(names)):
        text = os.environ.get(variable)
        if text:
            try:
                on = int(text) != 0
            except ValueError:
                raise ValueError(f"Invalid {variable}={text}, should be 0 or 1") from None
            if not on:
                return variable
    return ""


def is_arch_supported(arch: object, emulate: bool = False, among: bool = False) -> bool:
    """Whether `qd.init(arch, emulate=emulate)` would run on it here. Anything but an Arch is not supported. Never
    raises for a backend in trouble: a probe that raises is logged and counts as unsupported; a WrongVariable is
    raised. among: it is one of
    the collective `gpu`, and nobody named it.
    """
    if not isinstance(arch, Arch) or not (arch.name in _backends or _of_other_packages(arch.name)):
        return False
    if hidden_by(arch.name):
        return False
    backend = _backends[arch.name]
    probe = backend.among if among and backend.among is not None else backend.probe
    try:
        return bool(backend.emulator() if emulate and backend.emulator is not None else probe())
    except WrongVariable:
        raise
    except Exception as error:  # a broken driver must not keep the other archs from starting
        _logging.warn(
            f"Looking for {arch} failed ({type(error).__name__}: {error}). "
            f"Set QD_ENABLE_{arch.name.upper()}=0 to skip this backend."
        )
        return False


def has_emulator(arch: Arch) -> bool:
    """Whether the arch's text can run on the CPU, given a compiler."""
    return arch.name in _backends and _backends[arch.name].emulator is not None


def is_in_this_version(name: str) -> bool:
    """Whether there is anything here that could run kernels on the arch of that name."""
    return name in _backends


def why_not(arch: object, emulate: bool = False) -> str:
    """What keeps an arch that is not supported from running here, with what would mend it."""
    if not isinstance(arch, Arch):
        return f"{arch!r} is not an arch: write qd.{spelling.nearest(str(arch), _names()) or 'cpu'}"
    if arch.name not in _backends:
        return f"No package here has the arch {arch.name!r}{spelling.hint(arch.name, _names())}"
    if hidden_by(arch.name):
        return f"{arch.name} is hidden: unset {hidden_by(arch.name)}"
    if arch.name in (x64.name, arm64.name):
        return f"{arch.name} is another processor than this one ({cpu.name}): write qd.cpu"
    if emulate and _backends[arch.name].emulator is not None:
        return "The emulator needs a C++ compiler: `apt install g++`, or set QD_CXX to the path of one"
    lacking = "; ".join(_backends[arch.name].lacking())
    return f"{arch.name} lacks {lacking}" if lacking else f"{arch.name} does not run here"


def _names() -> list[str]:
    return ["cpu", "gpu", *sorted(_backends)]


def get_host_arch_list() -> list:
    """The archs that run in this process, without a device."""
    return [cpu]


def is_extension_supported(arch: Arch | None, ext: Extension) -> bool:
    """Whether this implementation offers `ext` on `arch`."""
    backend = _backends.get(arch.name) if arch is not None else None
    if arch is None or backend is None:
        return False
    target = targets.of_arch(arch.name) if backend.of_target else None
    return ext in backend.extensions or target is not None and ext.name in target.extensions


def by_name(text: str) -> Arch | list:
    """The arch, or the list `gpu`, of that name. Raises ValueError naming the valid ones."""
    if text == "cpu":
        return cpu
    if text == "gpu":
        return gpu
    if text == "x86_64":
        return x64
    if text not in _backends and not _of_other_packages(text):
        hint = spelling.hint(text, _names())
        raise ValueError(f"Unknown arch {text!r}{hint}, should be one of {', '.join(_names())}")
    return Arch(text)


def from_environment() -> Arch | list | None:
    """What QD_ARCH asks for, None when it is unset or empty. Raises ValueError for an unknown name."""
    text = os.environ.get("QD_ARCH")
    if not text:
        return None
    try:
        return by_name(text)
    except ValueError as error:
        raise ValueError(f"Invalid QD_ARCH={text}: {error}") from None


def select(wanted: object, enable_fallback: bool = True, emulate: bool = False) -> Arch:
    """The first supported arch of `wanted`: an Arch, a list or tuple of them, or None for the CPU.

    emulate: devices that can be emulated count as supported. If none is supported, the CPU with a warning, or
    RuntimeError.
    """
    candidates = [cpu] if wanted is None else wanted if isinstance(wanted, (list, tuple)) else [wanted]
    collective = all(arch in candidates for arch in gpu)
    for arch in candidates:
        if isinstance(arch, Arch) and is_arch_supported(arch, emulate, among=collective):
            return arch
    reasons = "".join(f". {why_not(arch, emulate)}" for arch in candidates)
    if not enable_fallback or not is_arch_supported(cpu):
        raise QuadrantsRuntimeError(f"Arch={candidates} is not supported{reasons}")
    _logging.warn(f"Arch={candidates} is not supported, falling back to CPU{reasons}")
    return cpu
