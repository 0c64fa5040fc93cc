"""Start-up functions and arch constants, under the module name that programs import them from."""

from __future__ import annotations

import sys
from typing import Any

from quadrants.arch import (
    Extension,
    amdgpu,
    arm64,
    cpu,
    cuda,
    extension,
    get_host_arch_list,
    gpu,
    is_arch_supported,
    is_extension_supported,
    metal,
    opencl,
    python,
    vulkan,
    x64,
    x86_64,
)
from quadrants.lang.control import loop_unique
from quadrants.profiler.timeline import timeline_clear, timeline_save
from quadrants.session import (
    check_require_version,
    dump_compile_config,
    get_runtime,
    init,
    is_extension_enabled,
    reset,
)

__all__ = [
    "Extension",
    "amdgpu",
    "arm64",
    "check_require_version",
    "cpu",
    "cuda",
    "dump_compile_config",
    "extension",
    "get_host_arch_list",
    "get_runtime",
    "gpu",
    "init",
    "is_arch_supported",
    "is_extension_enabled",
    "is_extension_supported",
    "metal",
    "loop_unique",
    "opencl",
    "python",
    "reset",
    "timeline_clear",
    "timeline_save",
    "vulkan",
    "x64",
    "x86_64",
]

_PUBLIC = frozenset(
    "GraphStatus assume_in_range axes block_local cache_read_only global_thread_idx i ij ijk ijkl ijl ik ikl il j jk "
    "jkl jl k kl l loop_config mesh_local mesh_patch_idx no_activate".split()
)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        # The package is above this layer, and whole when anybody asks.
        return getattr(sys.modules["quadrants"], name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
