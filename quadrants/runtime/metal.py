"""The Metal backend: MSL through the compiler of the system, launched by Metal on the GPU of a Mac.

Device and libraries are pyobjc's; memory, streams and launches are the launch core's. Written against the documented
interface: driven by tests through a stand-in of the driver, never run on an Apple GPU.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from quadrants import session
from quadrants._ext.core import device_of_table
from quadrants.backends import registry
from quadrants.errors import QuadrantsRuntimeError
from quadrants.lang.impl import register_device_query
from quadrants.launch.recipe import Recipe
from quadrants.runtime import emulated
from quadrants.runtime.device import BinaryBackend
from quadrants.toolchain import metal

if TYPE_CHECKING:
    from quadrants.launch.tasks import TaskLaunch


def probe() -> bool:
    """Whether there is a device that this process can use."""
    return not lacking()


def lacking() -> list[str]:
    """What keeps `probe` from being true, each with what provides it."""
    return metal.missing()


class MetalBackend(BinaryBackend):
    """Kernels as libraries of a device of Metal."""

    compiler = metal
    dlpack_device = None
    polls = False  # a kernel has no address of memory that is the host's alone

    def __init__(self) -> None:
        from quadrants._ext import metal as native

        cfg = session.cfg_in_force()
        found = metal.chosen(cfg.device)
        if found is None or found.lacking:
            raise QuadrantsRuntimeError("there is no Metal device that can run kernels: " + "; ".join(lacking()))
        objc, framework = map(os.fsencode, metal.LIBRARIES)
        queue, timing = cfg.external_metal_command_queue, bool(cfg.kernel_profiler)
        self.native = native
        self.arch = found.chip
        self.default_stream = queue
        self.opened = native.opened(objc, framework, metal.pointer(found.device), queue, timing)
        super().__init__("metal", device_of_table("metal", native.table_address(), self.opened))

    def flags(self, options: dict[str, Any]) -> tuple[str, ...]:
        return metal.flags()

    def functions(self, code: bytes, recipe: Recipe) -> tuple[list[int], Any]:
        library = metal.library(code, recipe.name, self.arch)
        by_value = 0 if recipe.in_memory else recipe.size
        module = self.device.load(self.native.image(metal.pointer(library), by_value))
        return [module.function(launch.name) for launch in recipe.launches], module

    def _task(self, launch: TaskLaunch, handle: int) -> tuple[Any, ...]:
        most = self.native.most_threads(handle)
        if most < launch.block_dim:
            fits = 1 << most.bit_length() - 1  # blocks have a power of two
            raise QuadrantsRuntimeError(
                f"Task {launch.name} is to run in blocks of {launch.block_dim} threads, and what Metal made of it has "
                f"{most} at most, for it needs many registers: write qd.loop_config(block_dim={fits}) before its loop, "
                "or do less in it"
            )
        return super()._task(launch, handle)


registry.register(("metal",), emulated.unless_wanted("metal", MetalBackend))
register_device_query("metal", "max_shared_memory_bytes", lambda: registry.device().attribute("max_shared_bytes"))
