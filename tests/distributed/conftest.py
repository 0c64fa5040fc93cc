from ranks_kit import mpi  # noqa: F401
