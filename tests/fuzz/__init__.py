"""Programs drawn at random, run as kernels and as plain Python: see `hunt`."""
