"""Which device each rank has."""

from __future__ import annotations

from typing import NamedTuple

from quadrants.distributed.engines.interface import Engine

_NO_DEVICE = "NCCL is for arch=qd.cuda on a device"
_SHARED = "ranks {first} and {second} are on one GPU, {device} of {host}, and NCCL takes one rank a GPU"


class Place(NamedTuple):
    """The device of one rank, by a name that only it has on its host; or why NCCL cannot carry its arrays."""

    host: str
    device: str
    why: str

    @classmethod
    def without_device(cls) -> Place:
        """Of a rank that computes on something else."""
        return cls("", "", _NO_DEVICE)


def compared(control: Engine, mine: Place) -> tuple[tuple[Place, ...], str]:
    """The places of all ranks, and why NCCL cannot carry arrays between them, "" where it can: the same on each."""
    found = tuple(Place(*place) for place in control.allgather(tuple(mine)))
    return found, next((place.why for place in found if place.why), "") or _shared(found)


def _shared(found: tuple[Place, ...]) -> str:
    for rank, (host, device, _) in enumerate(found):
        first = next(k for k, place in enumerate(found) if place[:2] == (host, device))
        if first != rank:
            return _SHARED.format(first=first, second=rank, device=device, host=host)
    return ""
