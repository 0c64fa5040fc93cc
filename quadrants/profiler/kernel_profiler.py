"""Tables and queries over the recorded task times."""

from __future__ import annotations

from contextlib import contextmanager
from typing import NamedTuple

from quadrants import _logging, session
from quadrants.profiler.kernel_metrics import CuptiMetric, default_cupti_metrics
from quadrants.profiler.records import Launch, StatisticalResult, kernel_records

__all__ = [
    "KernelProfiler",
    "StatisticalResult",
    "clear_kernel_profiler_info",
    "collect_kernel_profiler_metrics",
    "get_default_kernel_profiler",
    "get_kernel_profiler_total_time",
    "print_kernel_profiler_info",
    "query_kernel_profiler_info",
    "set_kernel_profiler_metrics",
    "set_kernel_profiler_toolkit",
]

_COUNT_HEADER = "[      %     total   count |      min       avg       max   ] Kernel name"
# Columns of a trace that only devices fill: key of `Launch.attributes`, header, format.
_DEVICE_COLUMNS = (
    ("registers", "  regs ", "{:6d} "),
    ("shared_bytes", "   shared ", "{:8d}B "),
    ("grid", " grid size ", "{:10d} "),
    ("block", " block size ", "{:11d} "),
    ("occupancy", " occupancy ", "{:8.0f} % "),
)


class QueryResult(NamedTuple):
    """Times of the tasks of a kernel, in milliseconds. One launch of the kernel is the sum of its tasks."""

    counter: int
    min: float
    max: float
    avg: float


class KernelProfiler:
    """The one object behind the functions of this module. Its mode is the option `kernel_profiler`."""

    def __init__(self) -> None:
        self._toolkit = "default"
        self._metrics: list[CuptiMetric] = list(default_cupti_metrics)

    def get_kernel_profiler_mode(self) -> bool:
        """Whether a runtime is up that records times."""
        cfg = session.current_cfg()
        return cfg is not None and cfg.kernel_profiler

    def set_kernel_profiler_mode(self, mode: bool = False) -> None:
        """Set the option of the running session; kernels compiled from now on follow it. TypeError unless bool."""
        session.require_runtime().options.kernel_profiler = mode

    def _ready(self) -> bool:
        if self.get_kernel_profiler_mode():
            session.get_runtime().prog.synchronize()
            return True
        _logging.warn("use 'qd.init(kernel_profiler = True)' to turn on KernelProfiler.")
        return False

    def get_total_time(self) -> float:
        """Seconds of all recorded launches; 0.0 when off."""
        return kernel_records.total_seconds() if self._ready() else 0.0

    def clear_info(self) -> None:
        """Forget all records."""
        if self._ready():
            kernel_records.clear()

    def query_info(self, name: str) -> QueryResult | None:
        """Sums over the tasks whose names start with `name`, zeros if there are none; None when off."""
        if not self._ready():
            return None
        found = [result for result in kernel_records.statistics() if result.name.startswith(name)]
        return QueryResult(
            counter=max((result.counter for result in found), default=0),
            min=sum(result.min_time for result in found),
            max=sum(result.max_time for result in found),
            avg=sum(result.average for result in found),
        )

    def set_metrics(self, metric_list=default_cupti_metrics) -> None:
        """Choose the hardware counters to collect. They need the "cupti" toolkit; without it this has no effect."""
        if self._ready():
            self._metrics = list(metric_list)

    @contextmanager
    def collect_metrics_in_context(self, metric_list=default_cupti_metrics):
        """`set_metrics` for the duration of a `with` block."""
        before = list(self._metrics)
        self.set_metrics(metric_list)
        try:
            yield self
        finally:
            self.set_metrics(before)

    def set_toolkit(self, toolkit_name: str = "default") -> bool:
        """Choose who measures. Only "default" is available; any other name is refused with a warning and False."""
        if not self._ready():
            return False
        if toolkit_name == "default":
            return True
        _logging.warn(f"Failed to set kernel profiler toolkit ({toolkit_name}), keep using ({self._toolkit}).")
        return False

    def print_info(self, mode: str = "count") -> None:
        """Print the table of one row per task ("count") or per launch ("trace"). Else ValueError."""
        if not self._ready():
            return
        if mode not in ("count", "trace"):
            raise ValueError(f"mode must be 'count' or 'trace', not {mode!r}")
        lines = self._count_table() if mode == "count" else self._trace_table()
        print("\n".join(lines))

    def _title(self, mode: str) -> str:
        program = session.get_runtime().prog
        device = f"on {program.device_name}" if program.device_name else ""
        return f"Kernel Profiler({mode}, {self._toolkit}) @ {program.config().arch.name.upper()} {device}"

    def _count_table(self) -> list[str]:
        results = kernel_records.statistics()
        total = sum(result.total_time for result in results)
        rows = []
        for r in results:
            share = 100 * r.total_time / total if total else 0.0
            rows.append(
                f"[{share:6.2f}% {r.total_time / 1e3:7.3f} s {r.counter:6d}x |"
                f"{r.min_time:9.3f} {r.average:9.3f} {r.max_time:9.3f} ms] {r.name}"
            )
        footer = f"[100.00%] Total execution time: {total / 1e3:7.3f} s   number of results: {len(results)}"
        return _framed(self._title("count"), _COUNT_HEADER, rows, footer)

    def _trace_table(self) -> list[str]:
        launches = list(kernel_records)
        begin = min((launch.start for launch in launches), default=0.0)
        columns = [c for c in _DEVICE_COLUMNS if any(c[0] in (launch.attributes or {}) for launch in launches)]
        header = "[  start.time | kernel.time |" + "".join(head + "|" for _, head, _ in columns)
        rows = [_trace_row(launch, begin, columns) for launch in launches]
        return _framed(
            self._title("trace"), header[:-1] + "] Kernel name", rows, f"Number of records:  {len(launches)}"
        )


def _trace_row(launch: Launch, begin: float, columns: list) -> str:
    text = f"[{(launch.start - begin) * 1e3:9.3f} ms |{launch.seconds * 1e3:9.3f} ms |"
    for key, head, form in columns:
        value = (launch.attributes or {}).get(key)
        text += (" " * len(head) if value is None else form.format(value)) + "|"
    return text[:-1] + f"] {launch.name}"


def _framed(title: str, header: str, rows: list[str], footer: str) -> list[str]:
    double, single = "=" * len(header), "-" * len(header)
    return [double, title, double, header, single, *rows, single, footer, double]


_profiler = KernelProfiler()


def get_default_kernel_profiler() -> KernelProfiler:
    """The process-wide profiler object."""
    return _profiler


def print_kernel_profiler_info(mode: str = "count") -> None:
    """Print task times: mode "count" gives one row per task, "trace" one per launch. Needs kernel_profiler=True.

    qd.profiler.print_kernel_profiler_info()
    """
    _profiler.print_info(mode)


def query_kernel_profiler_info(name: str) -> QueryResult | None:
    """`min, max, avg` (ms), each summed over the tasks whose names start with `name`, and the largest `counter`.

    Tasks are named for their kernel: "step" also takes those of `step_fast`; "step_0" takes one task. Zeros where none
    has the name; None when the profiler is off.

        qd.profiler.query_kernel_profiler_info("step").avg
    """
    return _profiler.query_info(name)


def clear_kernel_profiler_info() -> None:
    """Forget the recorded times.

    qd.profiler.clear_kernel_profiler_info()
    """
    _profiler.clear_info()


def get_kernel_profiler_total_time() -> float:
    """Seconds of all recorded launches; 0.0 when the profiler is off.

    seconds = qd.profiler.get_kernel_profiler_total_time()
    """
    return _profiler.get_total_time()


def set_kernel_profiler_toolkit(toolkit_name: str = "default") -> bool:
    """Choose who measures; False, with a warning, when that toolkit is not available.

    qd.profiler.set_kernel_profiler_toolkit("cupti")
    """
    return _profiler.set_toolkit(toolkit_name)


def set_kernel_profiler_metrics(metric_list=default_cupti_metrics) -> None:
    """Choose the hardware counters to collect.

    qd.profiler.set_kernel_profiler_metrics([dram])
    """
    _profiler.set_metrics(metric_list)


def collect_kernel_profiler_metrics(metric_list=default_cupti_metrics):
    """Context manager: collect these hardware counters inside the `with` block.

    with qd.profiler.collect_kernel_profiler_metrics([dram]):
        step()
    """
    return _profiler.collect_metrics_in_context(metric_list)
