"""Algorithms over whole arrays, called at the top level of kernels."""

from quadrants import absent
from quadrants.algorithms.scratch import sort_scratch_slots
from quadrants.algorithms.sorting import sort

__all__ = ["sort", "sort_scratch_slots"]

__getattr__ = absent.names_of("algorithms", globals())
