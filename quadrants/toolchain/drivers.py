"""What of a device there is beside its compiler: the driver, and the devices that it shows. Nothing is changed."""

from __future__ import annotations

import ctypes
import glob
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple


class Look(NamedTuple):
    """`missing` names what is not there together with what provides it."""

    found: list[str]
    missing: list[str]


def cuda() -> Look:
    """NVIDIA's driver and its devices."""
    driver = _cuda_driver()
    if driver is None:
        return Look([], ["the CUDA driver: install NVIDIA's, 580 or newer (525 with nvidia-cuda-nvrtc-cu12)"])
    status = driver.cuInit(0)
    count = ctypes.c_int(0)
    if status == 0:
        status = driver.cuDeviceGetCount(ctypes.byref(count))
    if status != 0 or count.value == 0:
        return Look([], [f"a CUDA device: {_STATUS.get(status, f'the driver answers {status}')}"])
    found = []
    for index in range(count.value):
        text = ctypes.create_string_buffer(256)
        driver.cuDeviceGetName(text, 256, index)
        found.append(f"device {index}: {text.value.decode(errors='replace')}")
    return Look(found, [])


def nvrtc_wheel() -> str:
    """The package with the compiler whose code NVIDIA's driver can run; "" without that driver."""
    driver = _cuda_driver()
    version = ctypes.c_int(0)
    if driver is None or driver.cuDriverGetVersion(ctypes.byref(version)) != 0:
        return ""
    return "nvidia-cuda-nvrtc" if version.value >= 13000 else "nvidia-cuda-nvrtc-cu12"


def hip() -> Look:
    """AMD's runtime and the driver of the system."""
    look = Look([], [])
    roots = [os.environ.get("ROCM_PATH"), "/opt/rocm"]
    runtime = library("amdhip64", [os.path.join(root, "lib") for root in roots if root])
    if runtime:
        look.found.append(f"HIP runtime ({runtime})")
    else:
        look.missing.append("the HIP runtime (libamdhip64): install ROCm 5.2 or newer")
    if os.path.exists("/dev/kfd"):
        look.found.append("/dev/kfd")
    else:
        look.missing.append("an AMD device (/dev/kfd): install the amdgpu kernel driver")
    return look


def library(name: str, folders: Sequence[str] = ()) -> str:
    """A shared library of that name, in these folders or where the loader looks; "" for none."""
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, f"lib{name}.*"))):
            return path
    from ctypes import util  # with all that starts processes: some milliseconds of each qd.init

    return util.find_library(name) or ""


# The driver's codes that say what to do.
_STATUS = {
    0: "the driver shows none; look at CUDA_VISIBLE_DEVICES",
    100: "the driver finds none; look at CUDA_VISIBLE_DEVICES and `nvidia-smi`",
    803: "driver and its kernel module differ in version; restart the machine",
    999: "the driver failed to start; look at `nvidia-smi`",
}


def _cuda_driver() -> ctypes.CDLL | None:
    return _open("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def _open(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None  # it is not installed, which the caller reports
