"""What the runtime counts, and the waiting for its work: the object `get_runtime().prog`."""

from __future__ import annotations

from collections.abc import Callable, Collection

from quadrants import _logging, targets
from quadrants.config import CompileConfig
from quadrants.errors import QuadrantsRuntimeError


class Program:
    """Counters and synchronisation of one runtime. Layers write the plain attributes; readers use the methods."""

    def __init__(self, cfg: CompileConfig, waiters: list, ndarrays: Collection = ()):
        self._cfg = cfg
        self._waiters = waiters
        self._ndarrays = ndarrays
        self.compile_seconds = 0.0
        self.graph_checkpoints = 0
        self._builds_before = 0
        self.graph_last_yield = -1
        self._maxima_before = 0
        self.device_name = ""
        target = targets.of_arch(getattr(cfg.arch, "name", ""))
        self.subgroup_width: int | None = target.subgroup or None if target is not None else None

    def config(self) -> CompileConfig:
        """The live configuration."""
        return self._cfg

    def synchronize(self) -> None:
        """Wait for all work and raise the first pending failure."""
        for wait in self._waiters:
            wait()

    def drain(self) -> None:
        """Wait for all work; pending failures of a runtime that ends have no caller left and are dropped."""
        for wait in self._waiters:
            dropping_failures(wait)

    def get_total_compilation_time(self) -> float:
        """Seconds spent compiling kernels since init."""
        return self.compile_seconds

    def get_graph_cache_size(self) -> int:
        """Graphs of device tasks that there are."""
        return _graph_counts()[0]

    def get_graph_cache_used_on_last_call(self) -> bool:
        """Whether the last launch was one of a graph that was there before it."""
        _, _, tasks, was_built = _graph_counts()
        return tasks > 0 and was_built

    def get_graph_num_nodes_on_last_call(self) -> int:
        """Tasks of the graph that the last launch was; 0 where it was none."""
        return _graph_counts()[2]

    def get_graph_total_builds(self) -> int:
        """Graphs made since the runtime began."""
        return _graph_counts()[1] - self._builds_before

    def get_graph_num_checkpoints_on_last_call(self) -> int:
        return self.graph_checkpoints

    def get_graph_last_yield_cp_id_on_last_call(self) -> int:
        return self.graph_last_yield

    def get_num_offloaded_tasks_on_last_call(self) -> int:
        from quadrants._ext import core

        return core.last_task_count()

    def subgroup_size(self) -> int:
        """Lanes of a subgroup. RuntimeError where the arch has none."""
        if self.subgroup_width is None:
            raise QuadrantsRuntimeError(f"{self._cfg.arch} has no subgroups")
        return self.subgroup_width

    def _get_num_ndarrays(self) -> int:
        return len(self._ndarrays)

    def _get_max_reducer_dispatch_count(self) -> int:
        """Maxima over arrays that tasks of a device have worked out for the depths of stacks; 0 on a CPU."""
        return _maxima() - self._maxima_before

    def _count_graphs_from_here(self) -> None:
        self._builds_before = _graph_counts()[1]

    def _reset_max_reducer_dispatch_count(self) -> None:
        self._maxima_before = _maxima()


def _graph_counts() -> tuple[int, int, int, bool]:
    from quadrants._ext import core

    counts: tuple[int, int, int, bool] = core.graph_counts()
    return counts


def _maxima() -> int:
    from quadrants._ext import core

    return core.maxima_count()


def dropping_failures(step: Callable[[], object]) -> None:
    """Run `step` for a runtime that ends: nobody is left to catch its failure, so that is only a debug line."""
    try:
        step()
    except Exception as error:
        if _logging.is_logging_effective(_logging.DEBUG):
            _logging.debug(f"Dropped with its runtime: {type(error).__name__}: {error}")
