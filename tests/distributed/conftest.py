from ranks_kit import launcher, mpi  # noqa: F401
