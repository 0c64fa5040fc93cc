"""The Vulkan backend: GLSL through glslang, launched through the loader of the system."""

from __future__ import annotations

import os
import struct
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from quadrants import _logging, session
from quadrants._ext import vulkan as native
from quadrants._ext.core import Plan, device_of_table, refuse_fork
from quadrants.backends import registry
from quadrants.emit import environment
from quadrants.emit.dialects import glsl as dialect
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.lacks import Lacks, all_atomics
from quadrants.lang.impl import register_device_query
from quadrants.launch.recipe import Recipe
from quadrants.runtime.device import BinaryBackend, visible_device
from quadrants.toolchain import build, glslang, spirv
from quadrants.toolchain.errors import CompilerNotFound
from quadrants.toolchain.pipelines import Pipelines

if TYPE_CHECKING:
    from quadrants.launch.tasks import TaskLaunch
    from quadrants.runtime.interface import Kernel

# Kinds of devices, the best one first: discrete, integrated, virtual, anything else, a processor like the host's.
_KINDS = (2, 1, 3, 0, 4)
_CPU = 4
# What names of devices begin with whose driver ends loops without a word, a thread may do 65535 rounds in one task, and
# has threads wait for each other where they only order their memory, and takes products with a constant zero for zero.
_CUTS_LOOPS = "llvmpipe"
# The number of a maker whose driver (580) at times takes the other one of the two places that `x[(i & 1) * 8]` may be.
_NVIDIA = 0x10DE
# Blocks of such a device, so that few rounds are those of grids.
_BLOCKS_OF_CPU = 4096
_BLOCKS_OF_ANY = 1024  # where only the device knows how many iterations there are
# Blocks of a grid that strides: those along one axis, on every device.
_MOST_BLOCKS = 65535
# Features of types, besides the one that arithmetic needs.
_TYPES = {
    "f64": ("shaderFloat64",),
    "f16": ("shaderFloat16", "storageBuffer16BitAccess", "storagePushConstant16"),
    "i16": ("shaderInt16", "storageBuffer16BitAccess", "storagePushConstant16"),
    "u16": ("shaderInt16", "storageBuffer16BitAccess", "storagePushConstant16"),
}
_WIDE = ("shaderBufferInt64Atomics", "shaderSharedInt64Atomics")
_REAL = (
    "shaderBufferFloat32Atomics", "shaderBufferFloat32AtomicAdd", "shaderSharedFloat32Atomics",
    "shaderSharedFloat32AtomicAdd",
)  # fmt: skip
_LEAST_THREADS, _LEAST_SHARED = 1024, 32 << 10
# All that the validation layer has said in this process.
heard: list[str] = []


class Found(NamedTuple):
    """A device. about: as `native.devices` tells it. number: as QD_VISIBLE_DEVICE has it."""

    number: int
    about: dict[str, Any]

    @property
    def is_cpu(self) -> bool:
        return bool(self.about["kind"] == _CPU)

    @property
    def chip(self) -> str:
        """What texts and code depend on."""
        on = sorted(name for name, has in self.about["features"].items() if has)
        about = self.about
        return f"{about['name']}, {about['api']:#x}, {about['driver']:#x}, {about['subgroup']} lanes, {' '.join(on)}"


@cache
def devices() -> tuple[tuple[Found, ...], str]:
    """The devices that can run kernels, the best one first, and what else there is to say."""
    found, why = native.devices()
    unfit = [f"{one['name']} lacks {one['lacking']}" for one in found if one["lacking"]]
    able = [Found(k, one) for k, one in enumerate(found) if not one["lacking"]]
    able.sort(key=lambda one: _KINDS.index(one.about["kind"]) if one.about["kind"] in _KINDS else len(_KINDS))
    return tuple(able), why or "; ".join(unfit)


def _chosen() -> Found:
    able, why = devices()
    number = session.cfg_in_force().device
    if number < 0:
        number = visible_device()
    if number >= 0:
        able = tuple(one for one in able if one.number == number)
        why = why or f"there is no device {number}"
    if not able:
        raise QuadrantsRuntimeError(f"there is no Vulkan device that can run kernels: {why}")
    return able[0]


def probe() -> bool:
    """Whether there is a device that can run kernels, and a compiler."""
    try:
        glslang.find()
    except CompilerNotFound:
        return False
    return bool(devices()[0])


def probe_among() -> bool:
    """The same where Vulkan is one of several archs that would do: a processor like the host's then only counts if it
    was asked for."""
    return probe() and (not devices()[0][0].is_cpu or bool(os.environ.get("QD_VISIBLE_DEVICE")))


def lacking() -> list[str]:
    """What keeps `probe` from being true, each with what provides it."""
    out = []
    able, why = devices()
    if not able:
        out.append(
            f"a device ({why}): install the driver of its maker, or `apt install mesa-vulkan-drivers libvulkan1`"
        )
    try:
        glslang.find()
    except CompilerNotFound as error:
        out.append(error.short)
    return out or ["a GPU: its devices are processors, for which write arch=qd.vulkan"]


class VulkanBackend(BinaryBackend):
    """Kernels as pipelines, one for each task."""

    compiler = glslang
    dlpack_device = None  # no other package can address this memory

    def __init__(self) -> None:
        refuse_fork("vulkan")
        self.found = _chosen()
        about = self.found.about
        glslang.prepare()
        timing = bool(session.cfg_in_force().kernel_profiler)
        staged = os.environ.get("QD_VULKAN_STAGING", "0") not in ("", "0")
        threads = max(1, session.cfg_in_force().num_compile_threads)
        # Processors copy as fast as they can by themselves.
        moves = os.environ.get("QD_VULKAN_MOVES", "0" if self.is_cpu else "1") not in ("", "0")
        opened = native.opened(self.found.number, timing, staged, threads, self._movers if moves else None)
        super().__init__("glsl", device_of_table("vulkan", native.table_address(), opened))
        self.pipelines = Pipelines(self.cache, about, partial(native.pipeline_cache, opened))
        self.do_without(_lacks(about))
        if not all(about["features"][name] for name in _REAL):
            self.dialect = replace(self.dialect, spelling=dialect.WITHOUT_REAL_ATOMICS)
        if self.is_cpu:  # which walks through memory in order best
            self.dialect = replace(self.dialect, batches=False)
        if about["name"].startswith(_CUTS_LOOPS):
            self.dialect = replace(self.dialect, long_loops=False, known_zeros=False, typed_bits=False)
        if about["vendor"] == _NVIDIA:
            self.dialect = replace(self.dialect, known_bits=False, idle_loops=False)
        self.arch = self.found.chip

    @property
    def is_cpu(self) -> bool:
        return self.found.is_cpu

    def _movers(self) -> list[bytes]:
        text = environment.environment().get_template("glsl/move.comp.j2").render()
        return spirv.unpacked(build.build_binary("glsl", text, "move", self.arch, (), self.cache))

    def synchronize(self) -> None:
        super().synchronize()
        hear()

    def close(self) -> None:
        """The runtime ends: what the driver made of its kernels is kept for the next process."""
        self.pipelines.keep()
        hear()
        super().close()

    def flags(self, options: dict[str, Any]) -> tuple[str, ...]:
        features = self.found.about["features"]
        defines = [f"QD_PRESERVES_{t.upper()}" for t in ("f32", "f64") if features[f"preserves_{t}"]]
        if not self.dialect.long_loops:
            defines.append("QD_NO_FENCES")
        # What is not marked as exact forgets NaNs there, as `x - x`, whatever the module says of them.
        fast = bool(options["fast_math"]) and self.dialect.known_zeros
        return glslang.flags(fast_math=fast, defines=defines)

    def load(self, kernel: Kernel, args: tuple[Any, ...], recipe: Recipe, artifact: str) -> Plan | None:
        try:
            return super().load(kernel, args, recipe, artifact)
        except ValueError:  # no modules of ours: they are made again
            return None

    def functions(self, code: bytes, recipe: Recipe) -> tuple[list[int], Any]:
        modules = spirv.unpacked(code)
        parts = [struct.pack("<2I", len(modules), 0 if recipe.in_memory else recipe.size)]
        for launch, module in zip(recipe.launches, modules, strict=True):
            name = launch.name.encode()
            parts += [struct.pack("<2I", len(name), len(module)), name + bytes(-len(name) % 4), module]
        loaded = self.device.load(b"".join(parts))
        return [loaded.function(launch.name) for launch in recipe.launches], loaded

    def _most_blocks(self, launch: TaskLaunch, handle: int) -> int:
        if self.is_cpu and session.cfg_in_force().saturating_grid_dim <= 0:
            return _BLOCKS_OF_CPU if launch.count is not None else _BLOCKS_OF_ANY
        return min(super()._most_blocks(launch, handle), _MOST_BLOCKS)


def hear() -> None:
    """Tell what the validation layer has said, where QD_VULKAN_VALIDATION asks for it."""
    for text in native.messages():
        heard.append(text)
        _logging.warn(f"Vulkan validation: {text}")


def _lacks(about: dict[str, Any]) -> Lacks:
    has = about["features"]
    types = {name: missing for name, wanted in _TYPES.items() if (missing := _missing(has, wanted))}
    wide = _missing(has, _WIDE)
    atomics = all_atomics(("i64", "u64", "f64"), wide) if wide else {}
    threads, shared = about["block_threads"], about["shared_bytes"]
    return Lacks(
        f"arch vulkan on {about['name']}",
        types,
        atomics,
        threads if threads < _LEAST_THREADS else 0,
        shared if shared < _LEAST_SHARED else 0,
    )


def _missing(has: dict[str, bool], wanted: tuple[str, ...]) -> str:
    return next((name for name in wanted if not has[name]), "")


def _subgroup_size() -> int:
    backend = registry.current()
    return int(backend.found.about["subgroup"]) if isinstance(backend, VulkanBackend) else 32


registry.register(("vulkan",), VulkanBackend)
register_device_query("vulkan", "max_shared_memory_bytes", lambda: registry.device().attribute("max_shared_bytes"))
register_device_query("vulkan", "subgroup_size", _subgroup_size)
