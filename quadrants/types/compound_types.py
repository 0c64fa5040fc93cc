"""Vector, matrix and struct types."""

from quadrants.lang.compound import CompoundType, matrix, struct, vector

__all__ = ["CompoundType", "matrix", "struct", "vector"]
