"""Who hears of launches: at most one tape or forward-mode manager at a time, in the whole process.

The launch core asks a hook before each launch only while somebody listens; without a listener launches cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from quadrants import session
from quadrants._ext import core
from quadrants.errors import QuadrantsRuntimeError

_STREAM_REFUSAL = (
    "qd_stream is not compatible with autograd Tape or FwdMode. "
    "Launch the kernel outside the context, or omit qd_stream."
)

# The object that listens and what it is told; None outside all contexts.
_listener: Any = None
_on_launch: Callable[[Any, tuple], Any] | None = None
_pauses = 0


def active():
    """The tape or forward-mode manager that listens, or None; also None while recording is paused."""
    return None if _pauses else _listener


def start(listener, on_launch: Callable[[Any, tuple], Any]) -> None:
    """Call `on_launch(kernel, args)` before every launch of a kernel, with complete positional arguments.

    It returns None, or the launcher or another function to call instead. `RuntimeError` while somebody else listens.
    """
    global _listener, _on_launch
    check_free(listener)
    _listener, _on_launch = listener, on_launch
    core.set_on_launch(_hear, stream_refusal=_STREAM_REFUSAL)


def stop(listener) -> None:
    """Undo `start`. Nothing happens if `listener` does not listen any more."""
    if _listener is listener:
        _forget()


def check_free(listener) -> None:
    """`RuntimeError` while somebody listens: contexts cannot be nested."""
    if _listener is not None:
        raise QuadrantsRuntimeError(
            f"A {type(listener).__name__} cannot be entered inside a {type(_listener).__name__}: leave the outer one "
            "first. Two losses need two forward passes, or one loss that is their sum."
        )


@contextmanager
def paused() -> Iterator[None]:
    """Launches in the body are not heard: work of the package itself, and functions with gradients of their own."""
    global _pauses
    _pauses += 1
    try:
        yield
    finally:
        _pauses -= 1


def _hear(kernel, args: tuple):
    # Derivatives that the user launches are no part of the forward pass.
    if _pauses or _on_launch is None or kernel._primal is not kernel:
        return None
    return _on_launch(kernel, args)


def _forget() -> None:
    global _listener, _on_launch
    _listener = _on_launch = None
    core.set_on_launch(None)


session.on_clear(_forget)
