"""What there is of each backend on this machine. Each probe only looks, and says what it saw."""

from __future__ import annotations

import ctypes
import glob
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import NamedTuple

from quadrants import arch
from quadrants.toolchain import build, cc, drivers, hiprtc, metal, nvrtc, opencl
from quadrants.toolchain.compiler import FOR_HALVES
from quadrants.toolchain.errors import ToolchainError

READY = "ready"
LACKING = "not usable here"
ABSENT = "not in this version"


class Finding(NamedTuple):
    """A row of the table. `missing` names what is not there together with the package that provides it."""

    backend: str
    state: str
    found: list[str]
    missing: list[str]


def examine(name: str) -> Finding:
    """Look for the backend `name`. Never raises: a probe that fails is itself a finding."""
    found: list[str] = []
    missing: list[str] = []
    try:
        BACKENDS[name](found, missing)
        state = _state(name)
    except Exception as error:
        return Finding(name, "the look failed", found, [*missing, f"{type(error).__name__}: {error}"])
    variable = arch.hidden_by(arch.cpu.name if name == "cpu" else name)
    if state == LACKING and variable:
        missing.append(f"it is hidden: unset {variable}")
    if state == READY and missing:
        state = LACKING
    return Finding(name, state, found, missing)


def _state(name: str) -> str:
    wanted = arch.cpu if name == "cpu" else arch.Arch(name)
    if not arch.is_in_this_version(wanted.name):
        return ABSENT
    return READY if arch.is_arch_supported(wanted) else LACKING


def _cpu(found: list[str], missing: list[str]) -> None:
    try:
        compiler = cc.find_compiler()
        found.append(f"{compiler.path} ({compiler.version})")
        library = build.load_c("int qd_probe(int x) { return x + 1; }", "probe")
        if ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(library.address("qd_probe"))(41) != 42:
            missing.append(f"{compiler.path} makes binaries that compute wrongly; set QD_CC to another compiler")
            return
        found.append("a trial compile runs")
        if not compiler.has_halves:
            found.append(f"no f16 in kernels: {FOR_HALVES}")
    except ToolchainError as error:
        missing.append(_short(error))


def _cuda(found: list[str], missing: list[str]) -> None:
    try:
        path, version = nvrtc.find()
        found.append(f"NVRTC {version[0]}.{version[1]} ({path})")
        cubin = nvrtc.compile('extern "C" __global__ void probe(int *x) { *x = 1; }', "probe")
        found.append(f"a trial compile for sm_90 works ({len(cubin)} bytes)")
    except ToolchainError as error:
        missing.append(_short(error))
    _add(drivers.cuda(), found, missing)


def _amdgpu(found: list[str], missing: list[str]) -> None:
    try:
        path, version = hiprtc.find()
        found.append(f"HIPRTC {version[0]}.{version[1]} ({path})")
        code = hiprtc.compile('extern "C" __global__ void probe(int *x) { *x = 1; }', "probe")
        found.append(f"a trial compile for gfx90a works ({len(code)} bytes)")
    except ToolchainError as error:
        missing.append(_short(error))
    _add(drivers.hip(), found, missing)


def _vulkan(found: list[str], missing: list[str]) -> None:
    path = drivers.library("vulkan")
    if path:
        found.append(f"loader ({path})")
    else:
        missing.append("the Vulkan loader: `apt install libvulkan1`")
    icds = [
        os.path.basename(manifest)
        for folder in ("/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d")
        for manifest in sorted(glob.glob(os.path.join(folder, "*.json")))
    ]
    if icds:
        found.append("drivers: " + ", ".join(icds))
    else:
        missing.append("a Vulkan driver: that of the GPU's maker, or `apt install mesa-vulkan-drivers`")
    from quadrants.toolchain import glslang

    try:
        found.append(f"GLSL compiler ({glslang.find()[0]})")
    except ToolchainError as error:
        missing.append(_short(error))


def _metal(found: list[str], missing: list[str]) -> None:
    missing += metal.missing()
    if metal.on_mac() and importlib.util.find_spec("Metal") is not None:
        found += [f"device {at}: {one.chip}" for at, one in enumerate(metal.devices())]


def _opencl(found: list[str], missing: list[str]) -> None:
    _module("pyopencl", "pyopencl", found, missing)
    if missing:
        return
    for one in opencl.devices():  # by the loader that pyopencl brings, or is linked to
        lacking = f", which lacks {one.lacking}" if one.lacking else ""
        found.append(f"device {one.place}: {one.device.name.strip()}{lacking}")
    if opencl.chosen() is None:
        missing.append("an OpenCL driver: that of the device's maker, or `apt install pocl-opencl-icd`")


def _python(found: list[str], missing: list[str]) -> None:
    found.append(f"Python {sys.version.split()[0]}")
    _module("torch", "torch", found, missing)


def _module(name: str, package: str, found: list[str], missing: list[str]) -> None:
    if importlib.util.find_spec(name) is not None:
        found.append(name)
    else:
        missing.append(f"{name}: `pip install {package}`")


def _add(look: drivers.Look, found: list[str], missing: list[str]) -> None:
    found += look.found
    missing += look.missing


def _short(error: ToolchainError) -> str:
    return getattr(error, "short", "") or str(error).splitlines()[0]


BACKENDS: dict[str, Callable[[list[str], list[str]], None]] = {
    "cpu": _cpu,
    "cuda": _cuda,
    "amdgpu": _amdgpu,
    "vulkan": _vulkan,
    "metal": _metal,
    "opencl": _opencl,
    "python": _python,
}
