"""What all backends share: the disk cache that the options ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadrants import _logging, session
from quadrants.arch import Extension
from quadrants.emit import dialects, environment
from quadrants.errors import QuadrantsTypeError
from quadrants.ir.lacks import NARROWER, Lacks
from quadrants.toolchain import cache

if TYPE_CHECKING:
    from quadrants.backends.interface import Device

# Folders of caches, and their limits, that this process has brought under these: what it has not changed since is left
# to those who do.
_cleaned: set[tuple[object, ...]] = set()


class Backend:
    """One for each runtime.

    A subclass offers `identity(options)`, what besides the text decides the code; `artifact(recipe, text, options)`,
    the key of the code in the disk cache; `build(kernel, args, recipe, text, options) -> Plan`; and `load(kernel, args,
    recipe, artifact) -> Plan | None`, the same from the disk cache alone. `device` is None where kernels run in host
    memory; `dlpack_device` is DLPack's (type, number) of its memory, None where no other package can address that.
    """

    device: Device | None = None
    dlpack_device: tuple[int, int] | None = (1, 0)

    def __init__(self, dialect: str):
        self.dialect = dialects.get(dialect)
        if self.dialect.lacks:
            self.do_without(self.dialect.lacks)
        cfg = session.cfg_in_force()
        if cfg.offline_cache and not cfg.offline_cache_file_path:
            _logging.warn(
                "There is no kernel cache, as no home folder is known: kernels are compiled again in every process. "
                "Set HOME, or name a folder with qd.init(offline_cache_file_path=...)."
            )
        self.cache = cache.DiskCache(
            cfg.offline_cache_file_path if cfg.offline_cache else None,
            cfg.offline_cache_max_size_of_files,
            cfg.offline_cache_cleaning_policy,
            cfg.offline_cache_cleaning_factor,
        )
        environment.keep_in(self.cache)

    def do_without(self, lacks: Lacks) -> None:
        """Refuse kernels that need what the device lacks. QuadrantsTypeError where the default types are among it."""
        for option in ("default_fp", "default_ip"):
            name = getattr(session.cfg_in_force(), option).name
            if name in lacks.types:
                advice = f" Write qd.init({option}=qd.{NARROWER[name]}), or take another arch, such as qd.cpu."
                raise QuadrantsTypeError(f"{option}=qd.{name}: {lacks.no_type(name)}.{advice}")
        if "f64" in lacks.types:
            session.require_runtime().missing.add(Extension.data64)
        self.dialect = self.dialect.without(lacks)

    def synchronize(self) -> None:
        """Wait for the work of the default stream; a launch on the CPU has ended when it returns."""

    def close(self) -> None:
        """The runtime ends: bring the disk cache back under its limit."""
        environment.keep_in(None)
        kept = self.cache
        limits = (kept.root, kept.max_bytes, kept.policy, kept.factor)
        if kept.root is not None and (kept.changed or limits not in _cleaned):
            kept.clean()
            _cleaned.add(limits)
