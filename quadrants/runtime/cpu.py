"""The CPU backend: C text through the system compiler, called in process by the launch core."""

from __future__ import annotations

from quadrants import profiler, session
from quadrants._ext import core
from quadrants.runtime import bindings, registry
from quadrants.runtime.backend import Backend
from quadrants.runtime.recipe import Recipe
from quadrants.toolchain import build, cc


class CpuBackend(Backend):
    """Kernels as functions of this process."""

    def __init__(self):
        super().__init__("c")
        cfg = session.current_cfg()
        if self.cache.root is None:
            # Nothing is on disk, so the kernel about to be traced will need a compiler. With a cache, a process that
            # finds all its kernels there starts none.
            build.prepare(_compiler_options({"fast_math": cfg.fast_math, "opt_level": cfg.opt_level}))

    def close(self) -> None:
        """The runtime ends: let go of the memory of stacks, and bring the disk cache back under its limit."""
        core.release_heaps()
        super().close()

    def identity(self, options: dict) -> str:
        """What decides the machine code of a text."""
        return cc.identity(cc.find_compiler(self.cache), _compiler_options(options))

    def artifact(self, recipe: Recipe, text: str, options: dict) -> str:
        """The key under which the disk cache has the code of a text."""
        return build.key_c(text, _compiler_options(options), self.cache)

    def build(self, kernel, args: tuple, recipe: Recipe, text: str, options: dict):
        """Compile or load the text and describe to the launch core how to call it."""
        with profiler.scope("compile C"):
            library = build.load_c(text, recipe.name, _compiler_options(options), self.cache)
        return self._plan(kernel, args, recipe, library)

    def load(self, kernel, args: tuple, recipe: Recipe, artifact: str):
        """The same from what the disk cache has; None when it has it no more."""
        library = build.load_kept(artifact, recipe.name, self.cache)
        return None if library is None else self._plan(kernel, args, recipe, library)

    @staticmethod
    def _plan(kernel, args: tuple, recipe: Recipe, library):
        return bindings.make_plan(kernel, args, recipe, library.address(recipe.entry), keepalive=library)


def _compiler_options(options: dict) -> cc.CcOptions:
    return cc.CcOptions(bool(options["fast_math"]), {0: 0, 1: 3}.get(options["opt_level"], 3))


registry.register(("x64", "arm64"), CpuBackend)
