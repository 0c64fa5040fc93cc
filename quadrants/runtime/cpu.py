"""The CPU backend: C text through the system compiler, called in process by the launch core."""

from __future__ import annotations

import ctypes

from quadrants import profiler, session
from quadrants.emit import dialects
from quadrants.runtime import bindings, registry
from quadrants.runtime.recipe import Recipe
from quadrants.toolchain import build, cache, cc


class CpuBackend:
    """One for each runtime; holds the disk cache its options ask for."""

    def __init__(self):
        self.dialect = dialects.get("c")
        cfg = session.current_cfg()
        self.cache = cache.DiskCache(
            cfg.offline_cache_file_path if cfg.offline_cache else None,
            cfg.offline_cache_max_size_of_files,
            cfg.offline_cache_cleaning_policy,
            cfg.offline_cache_cleaning_factor,
        )

    def build(self, kernel, args: tuple, recipe: Recipe, text: str, options):
        """Compile or load the text and describe to the launch core how to call it."""
        level = {0: 0, 1: 3}.get(options["opt_level"], 3)
        chosen = cc.CcOptions(bool(options["fast_math"]), level)
        with profiler.scope("compile C"):
            library = build.load_c(text, kernel.fn.__name__, chosen, self.cache)
        entry = ctypes.cast(getattr(library, recipe.entry), ctypes.c_void_p).value
        return bindings.make_plan(kernel, args, recipe, entry, keepalive=library)


def clean_cache() -> None:
    """Bring the disk cache back under its limit; at reset and exit."""
    cfg = session.current_cfg()
    if cfg is not None and cfg.offline_cache and registry._current:
        for backend in registry._current.values():
            backend.cache.clean()


registry.register(("x64", "arm64"), CpuBackend)
session.on_clear(clean_cache)
