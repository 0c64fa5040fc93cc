"""What an engine does for the layer: carry arrays and small objects between ranks. It knows no field and no grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from quadrants.errors import QuadrantsRuntimeError
from quadrants.launched import Launch

OPERATIONS = ("sum", "min", "max", "prod")
# A rank to talk to, the array that goes there and the one that comes from there; None for a direction without a
# message. Messages between two ranks are matched in the order of the moves.
Move = tuple[int, Any, Any]


class Asked(NamedTuple):
    """What an engine is started with. timeout: seconds after which a rank that stopped silently is an error."""

    launch: Launch | None
    timeout: float


class Engine(Protocol):
    """One engine, connected to the other ranks. Arrays are NumPy's, of any strides in `exchange`, else contiguous.

    stream: what orders the work of engines of a device; those of the host wait for their messages, and ignore it.
    An engine that also takes arrays of a device has an attribute `space` (`quadrants.distributed.spaces`).
    """

    name: str
    rank: int
    size: int
    local_rank: int
    local_size: int

    def exchange(self, moves: Sequence[Move], stream: Any = None) -> None:
        """Send and receive all of the moves at once, and wait. Sizes that differ are a QuadrantsRuntimeError."""
        ...

    def prepare(self, moves: Sequence[Move]) -> Callable[[], None]:
        """A function that runs `exchange(moves)`, as often as it is called; the arrays stay where they are.

        Where it has methods `start` and `finish`, of which the first does not wait, exchanges go on beside kernels.
        """
        ...

    def allreduce(self, array: np.ndarray[Any, Any], op: str, stream: Any = None) -> None:
        """Replace the array on every rank by the element-wise sum, min, max or product over the ranks."""
        ...

    def alltoall(self, send: np.ndarray[Any, Any], recv: np.ndarray[Any, Any], stream: Any = None) -> None:
        """Row r of `send` becomes row `rank` of `recv` on rank r."""
        ...

    def bcast(self, value: Any, root: int = 0) -> Any:
        """The object of rank `root`, on every rank."""
        ...

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        """The objects of all ranks in their order on rank `root`; None on the others."""
        ...

    def allgather(self, value: Any) -> list[Any]:
        """The objects of all ranks in their order, on every rank."""
        ...

    def barrier(self) -> None:
        """Wait until every rank is here."""
        ...

    def abort(self, code: int) -> None:
        """End all ranks."""
        ...

    def close(self) -> None:
        """Let go of the other ranks."""
        ...


Start = Callable[[Asked], Engine]


def other_length(got: int, expected: int, peer: int) -> QuadrantsRuntimeError:
    """The error of a message that is not as long as its receiver was told."""
    return QuadrantsRuntimeError(
        f"Rank {peer} sent {got} bytes where {expected} are expected: the ranks are not at the same exchange, or their "
        "arrays differ. qdist.init(debug=True) compares what they exchange and says where."
    )
