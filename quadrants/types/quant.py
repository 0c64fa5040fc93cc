"""`qd.types.quant`: integers, fixed-point and floating-point numbers of few bits, for bit-packed fields."""

from quadrants import absent
from quadrants.lang.quant_types import QuantFixed, QuantFloat, QuantInt, QuantType, fixed, float, int

__all__ = ["QuantFixed", "QuantFloat", "QuantInt", "QuantType", "fixed", "float", "int"]

__getattr__ = absent.names_of("types.quant", globals())
