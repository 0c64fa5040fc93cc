"""Arrays of CUDA devices, carried by NCCL through CuPy. Another engine connects the ranks and carries the rest."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, cast

import numpy as np

from quadrants.distributed.engines import nccl_graph, places
from quadrants.distributed.engines.carrier import Carrier, Silent
from quadrants.distributed.engines.cupy_space import CupySpace
from quadrants.distributed.engines.interface import Engine, Move
from quadrants.distributed.engines.nccl_messages import Messages
from quadrants.distributed.engines.nccl_watch import Watch
from quadrants.distributed.engines.places import Place

_NO_PACKAGE = "CuPy and NCCL are not there ({error}): pip install cupy-cuda13x nvidia-nccl-cu13"
# Numbers of NCCL for element types and operations. It sums no others.
_TYPES = {"i1": 0, "u1": 1, "i4": 2, "u4": 3, "i8": 4, "u8": 5, "f2": 6, "f4": 7, "f8": 8}
_OPERATIONS = {"sum": 0, "prod": 1, "max": 2, "min": 3}

# Communicators by the devices of all ranks: they outlive runtimes, as it takes a second to make one.
_communicators: dict[tuple[Any, ...], Any] = {}


class Nccl(Carrier):
    """The engine of ranks that have a device each."""

    package = "cupy"

    def __init__(self, control: Engine, cupy: Any, communicator: Any, watch: Watch | None) -> None:
        super().__init__(control)
        self._cupy, self._communicator, self._watch = cupy, communicator, watch
        self.space = CupySpace(cupy)
        self.name = control.name if communicator is None else "nccl"

    def _messages(self, moves: Sequence[Move]) -> Callable[[], None]:
        return Messages(self._cupy, self._communicator, moves, self._watch)

    def record(self, function: Callable[[], object]) -> Callable[[], None]:
        """As `World.record`, by a graph of CUDA."""
        graph = nccl_graph.recorded(self._cupy, function, self._recording())

        def run() -> None:
            with self.space.in_order():
                stream = self._cupy.cuda.get_current_stream()
                graph.launch(stream)
                if self._watch is not None:
                    self._watch.posted(stream)

        return run

    @contextmanager
    def _recording(self) -> Iterator[None]:
        """Nothing goes by the host, and marks are left by replays alone."""
        kept, self.control = self.control, cast(Engine, Silent())
        try:
            with nullcontext() if self._watch is None else self._watch.paused():
                yield
        finally:
            self.control = kept

    def allreduce(self, array: Any, op: str, stream: Any = None) -> None:
        """In the order that NCCL has for these ranks. Integers that it does not know are summed as i64."""
        if isinstance(array, np.ndarray):
            return self.control.allreduce(array, op)
        if self._communicator is None:  # one rank
            return None
        values = array if array.dtype.str[1:] in _TYPES else array.astype(np.int64)
        kind = _TYPES[values.dtype.str[1:]]
        stream, at = self._cupy.cuda.get_current_stream(), values.data.ptr
        self._communicator.allReduce(at, at, values.size, kind, _OPERATIONS[op], stream.ptr)
        if self._watch is not None:
            self._watch.posted(stream)
        if values is not array:
            array[...] = values


def join(control: Engine, ordinal: int | None, timeout: float) -> tuple[Engine, str]:
    """As `devices.on_device`, by way of CuPy."""
    found, why = places.compared(control, _place(ordinal))
    if why:
        return control, why
    import cupy

    if control.size == 1:
        return Nccl(control, cupy, None, None), ""
    if found not in _communicators:
        assert ordinal is not None
        number = control.bcast(cupy.cuda.nccl.get_unique_id() if control.rank == 0 else None)
        communicator = cupy.cuda.nccl.NcclCommunicator(control.size, number, control.rank)
        _communicators[found] = communicator, Watch(cupy, communicator, ordinal, timeout, control)
    return Nccl(control, cupy, *_communicators[found]), ""


def _place(ordinal: int | None) -> Place:
    """That of the device, which CuPy uses from now on."""
    if ordinal is None:
        return Place.without_device()
    try:
        import cupy
        from cupy.cuda import nccl
    except ImportError as error:
        return Place("", "", _NO_PACKAGE.format(error=error))
    if not nccl.available:
        return Place("", "", _NO_PACKAGE.format(error="cupy.cuda.nccl.available is False"))
    cupy.cuda.Device(ordinal).use()
    return Place(socket.gethostname(), cupy.cuda.runtime.deviceGetPCIBusId(ordinal), "")
