"""Messages of NCCL that are the same every time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quadrants.distributed.engines.interface import Move
from quadrants.distributed.engines.nccl_watch import Watch

_BYTES = 1  # NCCL's number for them
_FIRST = -5  # priority of a stream; CUDA takes the nearest that a device has


class Messages:
    """A group that devices carry in the order of the stream it is put on. Arrays of a rank that is its own neighbour
    never come here.
    """

    def __init__(self, cupy: Any, communicator: Any, moves: Sequence[Move], watch: Watch | None) -> None:
        self._cuda, self._watch = cupy.cuda, watch
        self._moves = list(moves)  # keeps the arrays
        self._calls = [
            (communicator.send if array is send else communicator.recv, array.data.ptr, array.nbytes, peer)
            for peer, send, recv in moves
            for array in (send, recv)
            if array is not None
        ]
        self._beside: tuple[Any, Any, Any] | None = None

    def __call__(self) -> None:
        self._post(self._cuda.get_current_stream())

    def start(self) -> None:
        """Begin on a stream of its own, behind what the current one has so far; `finish` has to follow."""
        if self._beside is None:
            events = (self._cuda.Event(disable_timing=True) for _ in range(2))
            # Before kernels of other streams, which would fill the device and be waited for.
            self._beside = self._cuda.Stream(non_blocking=True, priority=_FIRST), *events
        stream, begun, ended = self._beside
        begun.record()
        stream.wait_event(begun)
        self._post(stream)
        ended.record(stream)

    def finish(self) -> None:
        """Later work of the current stream waits; the host does not."""
        assert self._beside is not None
        self._cuda.get_current_stream().wait_event(self._beside[2])

    def _post(self, stream: Any) -> None:
        handle = stream.ptr
        nccl = self._cuda.nccl
        nccl.groupStart()
        try:
            for call, pointer, nbytes, peer in self._calls:
                call(pointer, nbytes, _BYTES, peer, handle)
        finally:
            nccl.groupEnd()
        if self._watch is not None:
            self._watch.posted(stream)
