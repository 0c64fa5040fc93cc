"""Arrays of the host, carried by torch.distributed and gloo: for programs that torchrun started."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from quadrants.distributed.engines.interface import Asked, Move, other_length
from quadrants.errors import QuadrantsRuntimeError

_NO_PACKAGE = "Engine 'torch' is for programs of torchrun, and torch is not there ({error}): `pip install torch`."
_FAILED = (
    "torch.distributed says of {what}: {error}. If it is about lengths, arrays or exchanges of the ranks differ; "
    "if about time, a rank did not come. qdist.init(debug=True) compares what they exchange."
)
_TURN = -(1 << 63)
_HEAD = 8  # bytes in front of a message
# gloo sums no others.
_KINDS = ("f2", "f4", "f8", "i1", "u1", "i4", "i8")


class Torch:
    """The engine over the process group of this program."""

    name = "torch"

    def __init__(self, torch: Any, local_rank: int, local_size: int) -> None:
        self._torch, self._dist, self.local_rank, self.local_size = torch, torch.distributed, local_rank, local_size
        self.rank, self.size = self._dist.get_rank(), self._dist.get_world_size()

    def exchange(self, moves: Sequence[Move], stream: Any = None) -> None:
        """Messages are copies with their length in front, as gloo takes shorter ones for whole. Tags count them."""
        sent, got, works, rooms = [0] * self.size, [0] * self.size, [], []
        with _told("an exchange"):
            for peer, send, recv in moves:
                if recv is not None:
                    room = np.empty(_HEAD + recv.nbytes, np.uint8)
                    works.append(self._dist.irecv(self._torch.from_numpy(room), peer, tag=got[peer]))
                    rooms.append((peer, recv, room))
                    got[peer] += 1
                if send is not None:
                    works.append(self._dist.isend(self._torch.from_numpy(_message(send)), peer, tag=sent[peer]))
                    sent[peer] += 1
            for work in works:
                work.wait()
        for peer, recv, room in rooms:
            if (length := int(room[:_HEAD].view(np.int64)[0])) != recv.nbytes:
                raise other_length(length, recv.nbytes, peer)
            recv[...] = room[_HEAD:].view(recv.dtype).reshape(recv.shape)

    def prepare(self, moves: Sequence[Move]) -> Callable[[], None]:
        """Nothing is kept between runs."""
        return lambda: self.exchange(moves)

    def allreduce(self, array: np.ndarray[Any, Any], op: str, stream: Any = None) -> None:
        """Integers that gloo does not know are combined as i64, which order u64 with the highest bit turned."""
        turned = np.int64(_TURN if array.dtype.str[1:] == "u8" and op in ("min", "max") else 0)
        values = array if array.dtype.str[1:] in _KINDS else array.astype(np.int64) ^ turned
        operation = getattr(self._dist.ReduceOp, "PRODUCT" if op == "prod" else op.upper())
        with _told(f"an allreduce, {op!r} of {array.dtype} {array.shape}"):
            self._dist.all_reduce(self._torch.from_numpy(values), operation)
        if values is not array:
            array[...] = values ^ turned

    def alltoall(self, send: np.ndarray[Any, Any], recv: np.ndarray[Any, Any], stream: Any = None) -> None:
        """As exchanges of rows."""
        recv[self.rank] = send[self.rank]
        self.exchange([(p, send[p : p + 1], recv[p : p + 1]) for p in range(self.size) if p != self.rank])

    def bcast(self, value: Any, root: int = 0) -> Any:
        """By pickle."""
        found = [value]
        with _told("a bcast"):
            self._dist.broadcast_object_list(found, root)
        return found[0]

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        """By pickle."""
        found: list[Any] | None = [None] * self.size if self.rank == root else None
        with _told("a gather"):
            self._dist.gather_object(value, found, root)
        return found

    def allgather(self, value: Any) -> list[Any]:
        """By pickle."""
        with _told("an allgather"):
            self._dist.all_gather_object(found := [None] * self.size, value)
        return found

    def barrier(self) -> None:
        """That of the group."""
        with _told("a barrier"):
            self._dist.barrier()

    def abort(self, code: int) -> None:
        """torchrun ends the others."""
        os._exit(code)

    def close(self) -> None:
        """Leave the group."""
        self._dist.destroy_process_group()


@contextmanager
def _told(what: str) -> Iterator[None]:
    """gloo's errors say nothing of what was under way."""
    try:
        yield
    except RuntimeError as error:
        raise QuadrantsRuntimeError(_FAILED.format(what=what, error=error)) from error


def _message(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return np.concatenate([np.array([array.nbytes], np.int64).view(np.uint8), content])


def start(asked: Asked) -> Torch:
    """Join the group of the launcher, or take the one that the program has made."""
    launch = asked.launch
    try:
        import torch
    except ImportError as error:
        raise QuadrantsRuntimeError(_NO_PACKAGE.format(error=error)) from error
    if not torch.distributed.is_initialized():
        if launch is None or launch.launcher != "torchrun":
            raise QuadrantsRuntimeError("engine='torch' is for programs that torchrun starts: torchrun run.py")
        torch.distributed.init_process_group("gloo", timeout=datetime.timedelta(seconds=asked.timeout))
    return Torch(torch, (launch and launch.local_rank) or 0, (launch and launch.local_size) or 1)
