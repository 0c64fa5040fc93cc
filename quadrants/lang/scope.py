"""Which scope this thread is in: Python scope, or the tracing of a kernel body."""

from __future__ import annotations

import threading

from quadrants.errors import QuadrantsCompilationError
from quadrants.ir.types import f32, i32

_state = threading.local()


def current():
    """The tracer at work in this thread, or None in Python scope."""
    return getattr(_state, "tracer", None)


def in_kernel() -> bool:
    return current() is not None


def require():
    """The tracer at work; raises outside a kernel."""
    tracer = current()
    if tracer is None:
        raise QuadrantsCompilationError("A run-time value was used outside the kernel that made it.")
    return tracer


def enter(tracer):
    """Make `tracer` the current one; returns the previous one for `leave`."""
    previous = current()
    _state.tracer = tracer
    return previous


def leave(previous) -> None:
    _state.tracer = previous


def default_fp():
    tracer = current()
    return tracer.default_fp if tracer is not None else f32


def default_ip():
    tracer = current()
    return tracer.default_ip if tracer is not None else i32
