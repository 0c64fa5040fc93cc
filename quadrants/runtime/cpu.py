"""The CPU backend: C text through the system compiler, called in process by the launch core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quadrants import profiler, session
from quadrants._ext import core
from quadrants.backends import registry
from quadrants.launch.recipe import Recipe
from quadrants.runtime import bindings
from quadrants.runtime.backend import Backend
from quadrants.toolchain import build, cc

if TYPE_CHECKING:
    from quadrants.runtime.interface import Kernel
    from quadrants.toolchain.library import Library

# Texts of more characters are of kernels with thousands of statements, most of them in branches. With -O2 gcc needs
# little more than half the time of -O3 for them, and what it makes runs as fast.
LARGE_TEXT = 96 * 1024


class CpuBackend(Backend):
    """Kernels as functions of this process. A subclass may print them in a dialect of its own."""

    dialect_name = "c"

    def __init__(self) -> None:
        super().__init__(self.dialect_name)
        cfg = session.cfg_in_force()
        if self.cache.root is None:
            # Nothing is on disk, so the kernel about to be traced will need a compiler. With a cache, a process that
            # finds all its kernels there starts none.
            build.prepare(compiler_options({"fast_math": cfg.fast_math, "opt_level": cfg.opt_level}))

    def close(self) -> None:
        """The runtime ends: let go of the memory of stacks, and bring the disk cache back under its limit."""
        core.release_heaps()
        super().close()

    def identity(self, options: dict[str, Any]) -> str:
        """What decides the machine code of a text."""
        return f"{cc.identity(cc.find_compiler(self.cache), compiler_options(options))}\n{LARGE_TEXT}"

    def artifact(self, recipe: Recipe, text: str, options: dict[str, Any]) -> str:
        """The key under which the disk cache has the code of a text."""
        return build.key_c(text, compiler_options(options, text), self.cache)

    def build(
        self, kernel: Kernel, args: tuple[Any, ...], recipe: Recipe, text: str, options: dict[str, Any]
    ) -> core.Plan:
        """Compile or load the text and describe to the launch core how to call it."""
        with profiler.scope("compile C"):
            chosen = compiler_options(options, text)
            library = build.load_c(text, recipe.name, chosen, self.cache, units=recipe.units)
        return self._plan(kernel, args, recipe, library)

    def load(self, kernel: Kernel, args: tuple[Any, ...], recipe: Recipe, artifact: str) -> core.Plan | None:
        """The same from what the disk cache has; None when it has it no more."""
        library = build.load_kept(artifact, recipe.name, self.cache)
        return None if library is None else self._plan(kernel, args, recipe, library)

    @staticmethod
    def _plan(kernel: Kernel, args: tuple[Any, ...], recipe: Recipe, library: Library) -> core.Plan:
        return bindings.make_plan(kernel, args, recipe, library.address(recipe.entry), keepalive=library)


def compiler_options(options: dict[str, Any], text: str = "") -> cc.CcOptions:
    """What the compiler is asked for, for a kernel of this text."""
    most = 2 if len(text) > LARGE_TEXT else 3
    return cc.CcOptions(bool(options["fast_math"]), 0 if options["opt_level"] == 0 else most)


registry.register(("x64", "arm64"), CpuBackend)
