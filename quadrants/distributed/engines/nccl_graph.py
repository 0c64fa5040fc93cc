"""What a function launches and exchanges, as one graph that a device runs by itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any

import quadrants as qd
from quadrants._ext import core
from quadrants.backends import exchange


def recorded(cupy: Any, function: Callable[[], object], aside: AbstractContextManager[Any]) -> Callable[[Any], None]:
    """Call `function`, which counts, and again to record it. aside: a context for the second call. Returns what replays
    it on a stream of CuPy.
    """
    kept = qd.create_stream()
    stream = cupy.cuda.ExternalStream(kept.handle)
    exchange.wait(0, kept.handle)
    before = core.set_stream(kept.handle)
    try:
        function()  # compiles, compares, and makes buffers
        kept.synchronize()
        with aside:
            graph = _graph(cupy, stream, function)
    finally:
        core.set_stream(before)

    def replay(now: Any) -> None:
        graph.launch(now)

    replay.__dict__["kept"] = kept  # whose buffers the graph uses
    return replay


def _graph(cupy: Any, stream: Any, function: Callable[[], object]) -> Any:
    stream.begin_capture()
    try:
        function()
    except BaseException:
        with suppress(cupy.cuda.runtime.CUDARuntimeError):  # what was recorded so far is of no use
            stream.end_capture()
        raise
    return stream.end_capture()
