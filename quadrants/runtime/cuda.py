"""The CUDA backend: CUDA C++ through NVRTC, launched by the driver on the first visible device."""

from __future__ import annotations

import sys

from quadrants import profiler, session
from quadrants._ext.core import Device, DeviceBuffer, device_count
from quadrants.errors import QuadrantsRuntimeError
from quadrants.lang.impl import register_device_query
from quadrants.runtime import emulated, registry
from quadrants.runtime.device import DeviceBackend
from quadrants.runtime.recipe import Recipe
from quadrants.toolchain import build, nvrtc

# What a function may use without asking.
_STATIC_SHARED = 48 * 1024


def probe() -> bool:
    """Whether there is a CUDA device that this process can use."""
    return device_count("cuda") > 0


class CudaBackend(DeviceBackend):
    """Kernels as modules of the driver, in the device's primary context, which torch and cupy use too."""

    dlpack_device = (2, 0)

    def __init__(self):
        if session.current_cfg().offline_cache is False:
            # Nothing is on disk, so a kernel will be compiled soon: the compiler starts while the device does.
            nvrtc.prepare()
        super().__init__("cuda", Device("cuda"))
        self.arch = f"sm_{self.device.attribute('compute_capability')}"

    def allocate(self, nbytes: int) -> DeviceBuffer:
        """Zeroed memory: out of cupy's pool in programs that use cupy, so that the two do not hoard apart."""
        cupy = sys.modules.get("cupy")
        if cupy is None or nbytes == 0:
            return super().allocate(nbytes)
        try:
            with cupy.cuda.Device(0), cupy.cuda.Stream.null:
                taken = cupy.get_default_memory_pool().malloc(nbytes)
        except cupy.cuda.memory.OutOfMemoryError as error:
            raise QuadrantsRuntimeError(
                f"cannot allocate {nbytes} bytes of cuda device memory: {error}; use smaller fields or free some that "
                "are not needed"
            ) from None
        return DeviceBuffer(self.device, nbytes, taken.ptr, taken)

    def identity(self, options: dict) -> str:
        """What decides the machine code of a text."""
        return "\n".join((nvrtc.identity(), self.arch, *nvrtc.flags(options)))

    def artifact(self, recipe: Recipe, text: str, options: dict) -> str:
        """The key under which the disk cache has the code of a text."""
        return build.key_cuda(text, self.arch, nvrtc.flags(options))

    def build(self, kernel, args: tuple, recipe: Recipe, text: str, options: dict):
        """Compile or load the text and describe to the launch core how to launch it."""
        with profiler.scope("compile CUDA"):
            flags = nvrtc.flags(options)
            code = build.build_cuda(text, recipe.name, self.arch, flags, self.cache)
        return self.plan(kernel, args, recipe, code)

    def load(self, kernel, args: tuple, recipe: Recipe, artifact: str):
        """The same from what the disk cache has; None when it has it no more."""
        code = build.kept_binary(artifact, ".cubin", self.cache)
        return None if code is None else self.plan(kernel, args, recipe, code)

    def functions(self, code: bytes, recipe: Recipe):
        module = self.device.load(code)
        handles = [module.function(launch.name) for launch in recipe.launches]
        for launch, handle in zip(recipe.launches, handles, strict=True):
            if launch.shared_bytes > _STATIC_SHARED:
                self.device.allow_shared(handle, launch.shared_bytes)
        return handles, module


def _make():
    cfg = session.current_cfg()
    return emulated.EmulatedBackend("cuda") if cfg.emulate else CudaBackend()


def _attribute(name: str):
    return lambda: registry.current().device.attribute(name)


registry.register(("cuda",), _make)
register_device_query("cuda", "max_shared_memory_bytes", _attribute("max_shared_bytes"))
register_device_query("cuda", "compute_capability", _attribute("compute_capability"))
register_device_query("cuda", "clock_freq_hz", lambda: 1000 * _attribute("clock_khz")())
