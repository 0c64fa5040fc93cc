"""What happened in the caches when a kernel was compiled last: for tests and for people who wonder."""

from __future__ import annotations

from quadrants._ext import core


class SourceCacheObservations:
    """The cache of a `fastcache=True` kernel: a key was made, an entry was found and holds, its code was loaded; or an
    entry was written."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Another specialisation is wanted."""
        self.cache_key_generated = False
        self.cache_validated = False
        self.cache_loaded = False
        self.cache_stored = False


class CompileCacheObservations:
    """cache_hit: the kernel was traced, and its text was found compiled on disk."""

    def __init__(self) -> None:
        self.cache_hit = False


class LaunchObservations:
    """The last call of the kernel."""

    def __init__(self) -> None:
        self._compiled_at: int | None = None
        self._loaded = False

    def compiled(self, loaded: bool) -> None:
        """A call that is about to launch needed a plan; `loaded` says that it was not traced for it."""
        self._compiled_at, self._loaded = core.launch_count(), loaded

    @property
    def found_kernel_in_materialize_cache(self) -> bool:
        """Whether that call found its specialisation ready, in this process or through fastcache."""
        return self._compiled_at is not None and (self._loaded or core.launch_count() > self._compiled_at + 1)
