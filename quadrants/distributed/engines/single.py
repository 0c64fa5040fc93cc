"""One rank that is alone: nothing has to be carried."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quadrants.distributed.engines.interface import Asked, Move
from quadrants.errors import QuadrantsRuntimeError


class Single:
    """The engine of a program that was started as one process."""

    name = "single"
    rank, size, local_rank, local_size = 0, 1, 0, 1

    def exchange(self, moves: Sequence[Move], stream: Any = None) -> None:
        """There is nobody: what a rank sends itself is copied by the layer."""
        if moves:
            raise QuadrantsRuntimeError(
                f"one rank has nobody to exchange with, and was asked to with rank {moves[0][0]}"
            )

    def prepare(self, moves: Sequence[Move]) -> Callable[[], None]:
        """The same, later."""
        return lambda: self.exchange(moves)

    def allreduce(self, array: np.ndarray[Any, Any], op: str, stream: Any = None) -> None:
        """The array is its own sum."""

    def alltoall(self, send: np.ndarray[Any, Any], recv: np.ndarray[Any, Any], stream: Any = None) -> None:
        """The only row stays."""
        recv[...] = send

    def bcast(self, value: Any, root: int = 0) -> Any:
        """The object itself."""
        return value

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        """A list of the object."""
        return [value]

    def allgather(self, value: Any) -> list[Any]:
        """A list of the object."""
        return [value]

    def barrier(self) -> None:
        """Everybody is here."""

    def abort(self, code: int) -> None:
        """End this process."""
        os._exit(code)

    def close(self) -> None:
        """There is nobody to let go of."""


def start(asked: Asked) -> Single:
    """The engine, for one process. QuadrantsRuntimeError where a launcher started several."""
    if asked.launch is not None and (asked.launch.size or 1) > 1:
        raise QuadrantsRuntimeError(
            f"engine='single' is for one process, and {asked.launch.launcher} started {asked.launch.size}. "
            "Leave `engine` out, and the layer takes the one that fits."
        )
    return Single()
