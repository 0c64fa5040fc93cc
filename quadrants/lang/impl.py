"""The runtime under the name that programs written for the Taichi family look for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from quadrants import arch as _arch
from quadrants import targets
from quadrants.errors import QuadrantsRuntimeError
from quadrants.session import (
    PyQuadrants,
    current_cfg,
    get_runtime,
    is_python_backend,
    on_reset,
    require_runtime,
    reset,
)

__all__ = [
    "PyQuadrants",
    "current_cfg",
    "get_cuda_compute_capability",
    "get_max_shared_memory_bytes",
    "get_runtime",
    "inside_kernel",
    "is_python_backend",
    "on_reset",
    "pyquadrants",
    "register_device_query",
    "reset",
]

pyquadrants = get_runtime()

_queries: dict[tuple, Callable[[], int]] = {}
_load_backend = importlib.import_module
_PUBLIC = frozenset(
    "Field Matrix MatrixField MatrixNdarray Ndarray ScalarField ScalarNdarray Struct StructField Vector VectorNdarray "
    "deactivate_all_snodes field grouped ndarray one root static static_assert static_print stop_grad zero".split()
)


def register_device_query(arch_name: str, what: str, query: Callable[[], int]) -> None:
    """A backend tells how to ask its device for `what`: "max_shared_memory_bytes" or "compute_capability"."""
    _queries[arch_name, what] = query


def _query(arch_name: str, what: str) -> Callable[[], int] | None:
    """What a backend registered; its module is imported where nothing else has needed it yet."""
    target = targets.of_arch(arch_name)
    if (arch_name, what) not in _queries and target is not None and target.backend:
        _load_backend(target.backend)
    return _queries.get((arch_name, what))


def device_query(arch_name: str, what: str, default: int) -> int:
    """What the backend of the arch says about `what`, or `default` where it says nothing."""
    query = _query(arch_name, what)
    return default if query is None else query()


def clock_freq_hz() -> float:
    """Nominal ticks a second of `qd.clock_counter()` on the current device. NotImplementedError where it is unknown.

    seconds = ticks / qd.clock_freq_hz()
    """
    name = require_runtime().arch.name
    query = _query(name, "clock_freq_hz")
    if query is None:
        raise NotImplementedError(f"clock_freq_hz is not available for arch {name}")
    return float(query())


def get_max_shared_memory_bytes(*, is_lowerbound_ok: bool) -> int:
    """Bytes of shared memory a block may use on the current device.

    Where the device cannot be asked, a lower bound if `is_lowerbound_ok`, else RuntimeError.
    """
    name = require_runtime().prog.config().arch.name
    query = _query(name, "max_shared_memory_bytes")
    if query is not None:
        return query()
    target = targets.of_arch(name)
    if is_lowerbound_ok and target is not None and target.shared_bytes is not None:
        return target.shared_bytes
    raise QuadrantsRuntimeError(
        f"get_max_shared_memory_bytes not implemented for arch {name}; pass is_lowerbound_ok=True for a lower bound"
    )


def get_cuda_compute_capability() -> int:
    """10 * major + minor of the current CUDA device, e.g. 90. RuntimeError when the arch is not CUDA."""
    query = _query("cuda", "compute_capability") if require_runtime().arch is _arch.cuda else None
    if query is None:
        raise QuadrantsRuntimeError("get_cuda_compute_capability needs qd.init(arch=qd.cuda)")
    return query()


def inside_kernel() -> bool:
    """Whether this thread is tracing a kernel."""
    from quadrants.lang.scope import in_kernel

    return in_kernel()


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        # The package is above this layer, and whole when anybody asks.
        return getattr(sys.modules["quadrants"], name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
