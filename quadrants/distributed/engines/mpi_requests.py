"""Messages of MPI that are the same every time."""

from __future__ import annotations

from typing import Any

from quadrants.distributed.engines.interface import other_length
from quadrants.errors import QuadrantsRuntimeError


def failed(what: str, error: Exception) -> QuadrantsRuntimeError:
    """The error of an exchange, or of something else that all ranks do."""
    return QuadrantsRuntimeError(
        f"MPI says of an {what}: {error}. If it is about truncation, a rank sent more than is expected: the ranks are "
        f"not at the same {what}, or their arrays differ. qdist.init(debug=True) compares what they do and says where."
    )


class Repeated:
    """Requests that MPI keeps between runs of the same exchange."""

    def __init__(self, mpi: Any, receives: list[Any], sends: list[Any], expected: list[int]) -> None:
        self._mpi, self._requests, self._expected = mpi, receives + sends, expected
        self._statuses = [mpi.Status() for _ in self._requests]

    def __call__(self) -> None:
        self.start()
        self.finish()

    def start(self) -> None:
        """Begin, and return; `finish` has to follow."""
        try:
            self._mpi.Prequest.Startall(self._requests)
        except self._mpi.Exception as error:
            raise failed("exchange", error) from error

    def finish(self) -> None:
        """Wait for all of them."""
        try:
            self._mpi.Request.Waitall(self._requests, self._statuses)
        except self._mpi.Exception as error:
            raise failed("exchange", error) from error
        for status, nbytes in zip(self._statuses, self._expected):
            if status.Get_elements(self._mpi.BYTE) != nbytes:
                raise other_length(status.Get_elements(self._mpi.BYTE), nbytes, status.source)

    def __del__(self) -> None:
        if not self._mpi.Is_finalized():
            for request in self._requests:
                request.Free()
