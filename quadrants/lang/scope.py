"""Which scope this thread is in: Python scope, or the tracing of a kernel body."""

from __future__ import annotations

import inspect
import os
import sys
import threading
import types
from typing import TYPE_CHECKING

from quadrants import caller
from quadrants.errors import QuadrantsCompilationError
from quadrants.ir.types import f32, i32

if TYPE_CHECKING:
    from quadrants.lang.kernel_tracer import KernelTracer

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep

_state = threading.local()


def current() -> KernelTracer | None:
    """The tracer at work in this thread, or None in Python scope."""
    return getattr(_state, "tracer", None)


def in_kernel() -> bool:
    """Whether the caller is part of what this thread traces. A signal handler that came in between is not."""
    return current() is not None and _serves_tracer(sys._getframe(1))


def _serves_tracer(frame: types.FrameType | None) -> bool:
    while frame is not None and not _comes_between(frame):
        if frame.f_code is _state.entry:
            return True
        frame = frame.f_back
    return False


def _comes_between(frame: types.FrameType) -> bool:
    """Whether Python itself called this function, amid another one: as a signal handler, which gets the frame that it
    interrupts, or as a finalizer.
    """
    code = frame.f_code
    if code.co_filename.startswith(_PACKAGE):  # nearly all of them, and locals take time
        return False
    if code.co_name == "__del__":
        return True
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
    values = frame.f_locals
    given = [values.get(name) for name in code.co_varnames[:count]]
    return any(x is frame.f_back for arg in given for x in (arg if isinstance(arg, tuple) else (arg,)))


def require() -> KernelTracer:
    """The tracer at work; raises outside a kernel."""
    tracer = current()
    if tracer is None:
        raise QuadrantsCompilationError("A run-time value was used outside the kernel that made it.")
    return tracer


def enter(tracer: KernelTracer) -> KernelTracer | None:
    """Make `tracer` the current one; returns the previous one for `leave`."""
    previous = current()
    _state.entry = sys._getframe(1).f_code
    _state.tracer = tracer
    return previous


def leave(previous: KernelTracer | None) -> None:
    _state.tracer = previous


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """A Python warning at the line of the user: that of the kernel under translation, if there is one."""
    tracer = current()
    if tracer is not None:
        tracer.warn(text, category)
    else:
        caller.warn(text, category)


def default_fp():
    tracer = current()
    return tracer.default_fp if tracer is not None else f32


def default_ip():
    tracer = current()
    return tracer.default_ip if tracer is not None else i32
