"""Devices that are not there: the text of CUDA, HIP or Metal, compiled for the CPU and run thread by thread.

Barriers, warps, shared memory and atomics behave as on the device, so that wrong ones show; nothing else about it is
fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from quadrants import profiler, session
from quadrants._ext.core import Plan, emulated_device
from quadrants.launch.recipe import Recipe
from quadrants.runtime.device import DeviceBackend
from quadrants.toolchain import build, cc, cxx
from quadrants.toolchain.errors import ToolchainError

if TYPE_CHECKING:
    from quadrants.backends.interface import Backend
    from quadrants.runtime.interface import Kernel


def probe() -> bool:
    """Whether there is a C++ compiler."""
    try:
        cxx.find_compiler()
    except ToolchainError:
        return False
    return True


class EmulatedBackend(DeviceBackend):
    """A flavour: "cuda", "hip" or "metal". Its memory is host memory that only kernels and copies may touch."""

    dlpack_device = None

    def __init__(self, flavour: str):
        from quadrants._ext import simt

        self.flavour = flavour
        target = cxx.target_of(flavour)
        self.warp = cxx.lanes_of(flavour)
        limit, capability = target.most_shared_bytes, target.emulated_capability
        device = emulated_device(flavour, simt.launch_address(), simt.describe_address(), limit, capability)
        super().__init__(flavour, device)

    def identity(self, options: dict[str, Any]) -> str:
        """What decides the machine code of a text."""
        return cxx.identity(cxx.find_compiler(self.cache), _compiler_options(options))

    def artifact(self, recipe: Recipe, text: str, options: dict[str, Any]) -> str:
        """The key under which the disk cache has the code of a text."""
        return build.key_simt(text, _entries(recipe), self.flavour, _compiler_options(options), self.cache)

    def build(self, kernel: Kernel, args: tuple[Any, ...], recipe: Recipe, text: str, options: dict[str, Any]) -> Plan:
        """Compile or load the text and describe to the launch core how to launch it."""
        with profiler.scope("compile for the emulator"):
            library = build.load_simt(
                text, recipe.name, _entries(recipe), self.flavour, _compiler_options(options), self.cache
            )
        return self.plan(kernel, args, recipe, library)

    def load(self, kernel: Kernel, args: tuple[Any, ...], recipe: Recipe, artifact: str) -> Plan | None:
        """The same from what the disk cache has; None when it has it no more."""
        library = build.load_kept(artifact, recipe.name, self.cache)
        if library is None:
            return None
        # Whether threads wait for each other is seen in the text, which is not here: the general way is always right.
        return self.plan(kernel, args, recipe, cxx.Emulated(library, self.warp, True))

    def function_of(self, text: str, name: str) -> tuple[int, Any]:
        from quadrants._ext import simt

        code = build.load_simt(text, name, [name], self.flavour, cc.CcOptions(), self.cache)
        return simt.make_function(code.address(name), self.warp, code.cooperative, name), code

    def functions(self, code: cxx.Emulated, recipe: Recipe) -> tuple[list[int], Any]:
        from quadrants._ext import simt

        return [
            simt.make_function(code.address(launch.name), self.warp, code.cooperative, launch.name)
            for launch in recipe.launches
        ], code


def unless_wanted(flavour: str, backend: Callable[[], Backend]) -> Callable[[], Backend]:
    """What makes the backend of a flavour: `backend`, or the emulator where the options want that."""
    return lambda: EmulatedBackend(flavour) if session.cfg_in_force().emulate else backend()


def _entries(recipe: Recipe) -> list[str]:
    return [launch.name for launch in recipe.launches]


def _compiler_options(options: dict[str, Any]) -> cc.CcOptions:
    return cc.CcOptions(bool(options["fast_math"]), 0 if options["opt_level"] == 0 else 1)
