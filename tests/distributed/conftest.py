from ranks_kit import any_mpi, launcher, mpi  # noqa: F401
