"""Draws programs: `program.draw(seed, size)` gives the text of a module with kernels, funcs and a `main`."""
