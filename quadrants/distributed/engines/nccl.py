"""Arrays of CUDA devices, carried by NCCL through CuPy. Another engine connects the ranks and carries the rest."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quadrants.distributed.engines.cupy_space import CupySpace
from quadrants.distributed.engines.interface import Engine, Move
from quadrants.distributed.engines.nccl_messages import Messages
from quadrants.distributed.engines.nccl_watch import Watch

_NO_PACKAGE = "CuPy and NCCL are not there ({error}): pip install cupy-cuda13x nvidia-nccl-cu13"
_NO_DEVICE = "NCCL is for arch=qd.cuda on a device"
_SHARED = "ranks {first} and {second} are on one GPU, {bus} of {host}, and NCCL takes one rank a GPU"
# Numbers of NCCL for element types and operations. It sums no others.
_TYPES = {"i1": 0, "u1": 1, "i4": 2, "u4": 3, "i8": 4, "u8": 5, "f2": 6, "f4": 7, "f8": 8}
_OPERATIONS = {"sum": 0, "prod": 1, "max": 2, "min": 3}

# Communicators by the devices of all ranks: they outlive runtimes, as it takes a second to make one.
_communicators: dict[tuple[Any, ...], Any] = {}


class Nccl:
    """The engine of ranks that have a device each. Arrays of NumPy and objects go by `control`."""

    def __init__(self, control: Engine, cupy: Any, communicator: Any, watch: Watch | None) -> None:
        self._control, self._cupy, self._communicator, self._watch = control, cupy, communicator, watch
        self.space = CupySpace(cupy)
        self.rank, self.size = control.rank, control.size
        self.local_rank, self.local_size = control.local_rank, control.local_size
        self.name = control.name if communicator is None else "nccl"

    @property
    def control(self) -> Engine:
        """What connects the ranks."""
        return self._control

    def exchange(self, moves: Sequence[Move], stream: Any = None) -> None:
        """Of a device: behind the launches so far; the host does not wait."""
        self.prepare(moves)()

    def prepare(self, moves: Sequence[Move]) -> Callable[[], None]:
        """One group of NCCL, run many times."""
        given = [array for _, *both in moves for array in both if array is not None]
        if all(isinstance(array, np.ndarray) for array in given):
            return self._control.prepare(moves)
        return Messages(self._cupy, self._communicator, moves, self._watch)

    def allreduce(self, array: Any, op: str, stream: Any = None) -> None:
        """In the order that NCCL has for these ranks. Integers that it does not know are summed as i64."""
        if isinstance(array, np.ndarray) or self._communicator is None:
            return self._control.allreduce(array, op)
        values = array if array.dtype.str[1:] in _TYPES else array.astype(np.int64)
        kind = _TYPES[values.dtype.str[1:]]
        stream, at = self._cupy.cuda.get_current_stream(), values.data.ptr
        self._communicator.allReduce(at, at, values.size, kind, _OPERATIONS[op], stream.ptr)
        if self._watch is not None:
            self._watch.posted(stream)
        if values is not array:
            array[...] = values

    def alltoall(self, send: np.ndarray[Any, Any], recv: np.ndarray[Any, Any], stream: Any = None) -> None:
        """Of the host."""
        self._control.alltoall(send, recv)

    def bcast(self, value: Any, root: int = 0) -> Any:
        """By the other engine, as all objects."""
        return self._control.bcast(value, root)

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        """By the other engine."""
        return self._control.gather(value, root)

    def allgather(self, value: Any) -> list[Any]:
        """By the other engine."""
        return self._control.allgather(value)

    def barrier(self) -> None:
        """Of the hosts; what devices still do is not waited for."""
        self._control.barrier()

    def abort(self, code: int) -> None:
        """By the other engine."""
        self._control.abort(code)

    def close(self) -> None:
        """The communicator is kept for the next runtime."""
        self._control.close()


def on_device(control: Engine, ordinal: int | None, timeout: float) -> tuple[Engine, str]:
    """The engine for the CUDA device of this process, and "". Where any rank has no NCCL, `control` and the reason.

    All ranks call it. ordinal: None without a device of CUDA. timeout: seconds after which what devices wait for is
    given up.
    """
    mine = "", "", _NO_DEVICE
    if ordinal is not None:
        mine = _place(ordinal)
    places = control.allgather(mine)
    why = next((why for *_, why in places if why), "") or _shared(places)
    if why:
        return control, why
    import cupy

    if control.size == 1:
        return Nccl(control, cupy, None, None), ""
    key = tuple(places)
    if key not in _communicators:
        assert ordinal is not None
        number = control.bcast(cupy.cuda.nccl.get_unique_id() if control.rank == 0 else None)
        communicator = cupy.cuda.nccl.NcclCommunicator(control.size, number, control.rank)
        _communicators[key] = communicator, Watch(cupy, communicator, ordinal, timeout, control)
    return Nccl(control, cupy, *_communicators[key]), ""


def _place(ordinal: int) -> tuple[str, str, str]:
    """Host and bus of a device, which CuPy uses from now on; or why there is no NCCL."""
    try:
        import cupy
        from cupy.cuda import nccl
    except ImportError as error:
        return "", "", _NO_PACKAGE.format(error=error)
    if not nccl.available:
        return "", "", _NO_PACKAGE.format(error="cupy.cuda.nccl.available is False")
    cupy.cuda.Device(ordinal).use()
    return socket.gethostname(), cupy.cuda.runtime.deviceGetPCIBusId(ordinal), ""


def _shared(places: list[tuple[str, str, str]]) -> str:
    for rank, (host, bus, _) in enumerate(places):
        first = next(k for k, place in enumerate(places) if place[:2] == (host, bus))
        if first != rank:
            return _SHARED.format(first=first, second=rank, bus=bus, host=host)
    return ""
