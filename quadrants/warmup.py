"""What `qd.init` does for the first kernel: it looks for a compiler, and loads its parts where one surely compiles."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

from quadrants import _logging, session, targets
from quadrants.backends import registry

if TYPE_CHECKING:
    from quadrants.targets.record import Target


def nothing_kept(cfg) -> bool:
    """Whether no kernel can come from the disk: the cache is off, or its folder is missing or empty."""
    if not cfg.offline_cache or not cfg.offline_cache_file_path:
        return True
    try:
        with os.scandir(cfg.offline_cache_file_path) as entries:
            return next(entries, None) is None
    except OSError:
        return True


def _target_of_host(cfg) -> Target | None:
    """The target of the kernels, if they run on the host."""
    target = targets.of_arch(cfg.arch.name)
    return target if target is not None and target.host_memory and target.backend else None


@session.on_init
def look_for_compiler(cfg) -> None:
    """Say at once what the first kernel would fail for. Fields can be used without a compiler."""
    if _target_of_host(cfg) is None:
        return
    from quadrants.toolchain import compiler

    trouble = compiler.trouble()
    if trouble:
        _logging.warn(f"No kernel can be compiled. {trouble}")


@session.on_init
def load_compiler(cfg) -> None:
    """Have it ready when kernels must be compiled; once in a process."""
    target = _target_of_host(cfg)
    if target is not None and nothing_kept(cfg):
        _load()
        for name in (target.backend, target.printing, "quadrants.toolchain.library", "subprocess"):
            importlib.import_module(name)


def load_beside_driver(cfg) -> None:
    """A driver takes about as long to start as this, and who needs a module of it first waits for that one alone."""
    if not cfg.emulate:
        _load()


registry.beside_start(load_beside_driver)


def _load() -> None:
    """Import the frontend, the passes and codegen."""
    import quadrants.compile  # noqa: F401
    import quadrants.emit.render  # noqa: F401
    import quadrants.frontend.trace  # noqa: F401
    import quadrants.lang.kernel_functions  # noqa: F401
    import quadrants.passes.pipeline  # noqa: F401
    from quadrants.emit import environment

    environment.environment()
