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


# Launcher; variables of rank, size, local rank, local size; those without which these mean something else. The first
# row that fits is taken: torchrun and mpiexec also run below srun.
_KNOWN: tuple[tuple[str, tuple[str, str, str, str], tuple[str, ...]], ...] = (
    ("torchrun", ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"), ("WORLD_SIZE", "LOCAL_RANK")),
    (
        "mpiexec",
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
        (),
    ),
    ("mpiexec", ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"), ()),
    # In a batch script that srun did not start, the first variable is there and means nothing.
    ("srun", ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""), ("SLURM_STEP_NUM_TASKS",)),
    ("mpiexec", ("PMIX_RANK", "", "", ""), ()),
)


def found() -> Launch | None:
    """The launch that this process is a part of; None if it was started alone."""
    for launcher, names, needed in _KNOWN:
        rank, size, local_rank, local_size = (_number(name) for name in names)
        if rank is not None and all(_number(name) is not None for name in needed):
            return Launch(launcher, rank, size, local_rank, local_size)
    return None


def is_first() -> bool:
    """Whether this process speaks for all: it was started alone, or is rank 0."""
    launch = found()
    return launch is None or launch.rank == 0


def _number(variable: str) -> int | None:
    text = os.environ.get(variable, "") if variable else ""
    return int(text) if text.isdigit() else None
