"""Who hears of launches: at most one tape or forward-mode manager at a time, in the whole process.

The launch core asks a hook before each launch only while somebody listens; without a listener launches cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quadrants import session
from quadrants._ext import core
from quadrants.errors import QuadrantsRuntimeError

_STREAM_REFUSAL = (
    "qd_stream is not compatible with autograd Tape or FwdMode. "
    "Launch the kernel outside the context, or omit qd_stream."
)


def active() -> Any:
    """The tape or forward-mode manager that listens, or None; also None while recording is paused."""
    return None if core.is_paused() else core.listener()


def is_tape(listener: Any) -> bool:
    """Whether it goes back over what it recorded, as a tape does, and forward mode does not. False for None."""
    return hasattr(listener, "grad")


def start(listener, on_launch: Callable[[Any, tuple], Any]) -> None:
    """Call `on_launch(kernel, args)` before every launch of a kernel, with complete positional arguments.

    It returns None, or the launcher or another function to call instead. `RuntimeError` while somebody else listens.
    """

    def hear(kernel, args: tuple):
        # Derivatives that the user launches are no part of the forward pass.
        return None if core.is_paused() or kernel._primal is not kernel else on_launch(kernel, args)

    check_free(listener)
    core.start_listening(listener, hear, _STREAM_REFUSAL)


def check_free(listener) -> None:
    """`RuntimeError` while somebody listens: contexts cannot be nested."""
    other = core.listener()
    if other is not None:
        raise QuadrantsRuntimeError(
            f"A {type(listener).__name__} cannot be entered inside a {type(other).__name__}: leave the outer one "
            "first. Two losses need two forward passes, or one loss that is their sum."
        )


# Undoes `start`; nothing happens if another one listens.
stop = core.stop_listening

# Launches in the body of `with paused():` are not heard: work of the package itself, and functions with gradients of
# their own.
paused = core.Pause

session.on_clear(lambda: stop(core.listener()))
