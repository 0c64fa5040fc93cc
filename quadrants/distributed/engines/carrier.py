"""What engines of devices have in common: they carry arrays of theirs, and another one connects the ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quadrants.distributed.engines.interface import Engine, Move
from quadrants.errors import QuadrantsRuntimeError


class Silent:
    """In place of the engine that connects the ranks, while a graph is recorded."""

    def __getattr__(self, name: str) -> Any:
        raise QuadrantsRuntimeError(
            "world.record: what ranks tell each other by the host, as sums of Python numbers, `gather` and `migrate` "
            "do, cannot be recorded: do it before or after."
        )


class Carrier:
    """An engine by way of another. Arrays of NumPy and objects go by `control`.

    package: that by which it reaches the devices.
    """

    name: str
    package: str

    def __init__(self, control: Engine) -> None:
        self.control = control
        self.rank, self.size = control.rank, control.size
        self.local_rank, self.local_size = control.local_rank, control.local_size

    def exchange(self, moves: Sequence[Move], stream: Any = None) -> None:
        """Of a device: behind the launches so far; the host does not wait."""
        if _of_host(moves):
            self.control.exchange(moves)
        else:
            self._messages(moves)()

    def prepare(self, moves: Sequence[Move]) -> Callable[[], None]:
        """One group of messages, run many times."""
        return self.control.prepare(moves) if _of_host(moves) else self._messages(moves)

    def _messages(self, moves: Sequence[Move]) -> Callable[[], None]:
        """Of arrays of the device."""
        raise NotImplementedError

    def alltoall(self, send: np.ndarray[Any, Any], recv: np.ndarray[Any, Any], stream: Any = None) -> None:
        """Of the host."""
        self.control.alltoall(send, recv)

    def bcast(self, value: Any, root: int = 0) -> Any:
        """By the other engine, as all objects."""
        return self.control.bcast(value, root)

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        """By the other engine."""
        return self.control.gather(value, root)

    def allgather(self, value: Any) -> list[Any]:
        """By the other engine."""
        return self.control.allgather(value)

    def barrier(self) -> None:
        """Of the hosts; what devices still do is not waited for."""
        self.control.barrier()

    def abort(self, code: int) -> None:
        """By the other engine."""
        self.control.abort(code)

    def close(self) -> None:
        """The communicator is kept for the next runtime."""
        self.control.close()


def _of_host(moves: Sequence[Move]) -> bool:
    return all(array is None or isinstance(array, np.ndarray) for _, *both in moves for array in both)
