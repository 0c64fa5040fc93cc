"""Which launcher started this process as one of several, by the variables that it sets."""

from __future__ import annotations

import os
from typing import NamedTuple


class Launch(NamedTuple):
    """What the environment says of this process. `size` and the local numbers are None where it does not say."""

    launcher: str
    rank: int
    size: int | None
    local_rank: int | None
    local_size: int | None


class _Variables(NamedTuple):
    launcher: str
    names: tuple[str, str, str, str]  # rank, size, local rank, local size
    needed: tuple[str, ...] = ()  # others, without which the names mean something else


# The first row that fits is taken: torchrun and mpiexec also run below srun.
_KNOWN = (
    _Variables("torchrun", ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"), ("WORLD_SIZE", "LOCAL_RANK")),
    _Variables(
        "mpiexec",
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ),
    _Variables("mpiexec", ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS")),
    # In a batch script that srun did not start, the first variable is there and means nothing.
    _Variables("srun", ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""), ("SLURM_STEP_NUM_TASKS",)),
    _Variables("mpiexec", ("PMIX_RANK", "", "", "")),
)


def found() -> Launch | None:
    """The launch that this process is a part of; None if it was started alone."""
    for row in _KNOWN:
        rank, size, local_rank, local_size = (_number(name) for name in row.names)
        if rank is not None and all(_number(name) is not None for name in row.needed):
            return Launch(row.launcher, rank, size, local_rank, local_size)
    return None


def is_first() -> bool:
    """Whether this process speaks for all: it was started alone, or is rank 0."""
    launch = found()
    return launch is None or launch.rank == 0


def _number(variable: str) -> int | None:
    text = os.environ.get(variable, "") if variable else ""
    return int(text) if text.isdigit() else None
