"""What a function launches and exchanges, as one graph that a device runs by itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any

import quadrants as qd
from quadrants._ext import core
from quadrants.backends import exchange
from quadrants.errors import QuadrantsRuntimeError
from quadrants.runtime.streams import is_orphan


class Graph:
    """Keeps the function, whose arrays it uses, and the stream that it was recorded of, whose buffers it uses."""

    def __init__(self, graph: Any, function: Callable[[], object], stream: qd.Stream) -> None:
        self._graph, self._function, self._stream = graph, function, stream

    def launch(self, stream: Any) -> None:
        """On a stream of CuPy. QuadrantsRuntimeError when the runtime of its arrays is gone."""
        if is_orphan(self._stream):
            raise QuadrantsRuntimeError(
                "what world.record returned uses arrays that qd.init() or qd.reset() ended: record it again"
            )
        self._graph.launch(stream)


def recorded(cupy: Any, function: Callable[[], object], aside: AbstractContextManager[Any]) -> Graph:
    """Call `function`, which counts, and again to record it. aside: a context for the second call."""
    kept = qd.create_stream()
    stream = cupy.cuda.ExternalStream(kept.handle)
    exchange.wait(0, kept.handle)
    before = core.set_stream(kept.handle)
    try:
        function()  # compiles, compares, and makes buffers
        kept.synchronize()
        with aside:
            return Graph(_captured(cupy, stream, function), function, kept)
    finally:
        core.set_stream(before)


def _captured(cupy: Any, stream: Any, function: Callable[[], object]) -> Any:
    stream.begin_capture()
    try:
        function()
    except BaseException:
        with suppress(cupy.cuda.runtime.CUDARuntimeError):  # what was recorded so far is of no use
            stream.end_capture()
        raise
    return stream.end_capture()
