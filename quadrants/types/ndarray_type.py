"""Annotation of array parameters."""

from quadrants.lang.annotations import NDArray, NdarrayType, OptionalNdarray, ndarray

__all__ = ["NDArray", "NdarrayType", "OptionalNdarray", "ndarray"]
