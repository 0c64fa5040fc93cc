"""Questions about primitive types."""

from quadrants.lang.primitive_types import is_integral, is_real, is_signed, is_tensor

__all__ = ["is_integral", "is_real", "is_signed", "is_tensor"]
