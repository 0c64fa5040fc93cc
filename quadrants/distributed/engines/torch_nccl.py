"""Arrays of CUDA devices, carried by the NCCL of torch.distributed, for programs of torchrun where there is no CuPy.

An exchange took 234 us on two H200 there, and 28 by way of CuPy.
"""

from __future__ import annotations

import datetime
import socket
from collections.abc import Callable, Sequence
from typing import Any

from quadrants.distributed.engines.carrier import Carrier
from quadrants.distributed.engines.interface import Engine, Move
from quadrants.distributed.engines.places import Place, compared
from quadrants.distributed.engines.torch_space import TorchSpace

_NO_PACKAGE = "torch was built without NCCL"


class TorchNccl(Carrier):
    """The engine of ranks that have a device each. What kernels have packed goes from device to device."""

    name, package = "nccl", "torch"

    def __init__(self, control: Engine, torch: Any, ordinal: int, group: Any) -> None:
        super().__init__(control)
        self._torch, self._group = torch, group
        self.space = TorchSpace(torch, ordinal)

    def _messages(self, moves: Sequence[Move]) -> Callable[[], None]:
        return _Messages(self._torch, self._group, moves)

    def allreduce(self, array: Any, op: str, stream: Any = None) -> None:
        """Of the host: it has no views of what is on the device."""
        self.control.allreduce(array, op)


class _Messages:
    """Messages that are the same every time."""

    def __init__(self, torch: Any, group: Any, moves: Sequence[Move]) -> None:
        self._dist = torch.distributed
        # Bytes, as NCCL has no numbers for some types.
        self._operations = [
            self._dist.P2POp(call, array.reshape(-1).view(torch.uint8), peer, group)
            for peer, send, recv in moves
            for call, array in ((self._dist.isend, send), (self._dist.irecv, recv))
            if array is not None
        ]
        self._under_way: list[Any] = []

    def __call__(self) -> None:
        self.start()
        self.finish()

    def start(self) -> None:
        """Begin behind what the current stream has so far, on a stream of torch's own."""
        self._under_way = self._dist.batch_isend_irecv(self._operations)

    def finish(self) -> None:
        """Later work of the current stream waits; the host does not."""
        for work in self._under_way:
            work.wait()
        self._under_way = []


_groups: list[Any] = []  # that of this process, once it is made: it outlives runtimes


def join(control: Engine, ordinal: int | None, timeout: float) -> tuple[Engine, str]:
    """As `devices.on_device`, with a `control` of torch. A rank that does not come ends the job behind `timeout`."""
    _, why = compared(control, _place(ordinal))
    if why:
        return control, why
    assert ordinal is not None
    import torch

    if not _groups:
        _groups.append(torch.distributed.new_group(backend="nccl", timeout=datetime.timedelta(seconds=timeout)))
        # Messages between two ranks must not be the first thing of a group.
        torch.distributed.all_reduce(torch.zeros(1, device=torch.device("cuda", ordinal)), group=_groups[0])
    return TorchNccl(control, torch, ordinal, _groups[0]), ""


def _place(ordinal: int | None) -> Place:
    if ordinal is None:
        return Place.without_device()
    import torch

    if not torch.distributed.is_nccl_available():
        return Place("", "", _NO_PACKAGE)
    torch.cuda.set_device(ordinal)
    return Place(socket.gethostname(), str(torch.cuda.get_device_properties(ordinal).uuid), "")
