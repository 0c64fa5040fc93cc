"""What a user writes inside kernels, and what the same names mean in Python scope."""
