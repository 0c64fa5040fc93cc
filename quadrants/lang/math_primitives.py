"""Constants, types and single-instruction functions of `qd.math`."""

from __future__ import annotations

import math
from typing import Any

from quadrants.lang.compound import MatrixType, VectorType
from quadrants.lang.function_table import kernel_only
from quadrants.lang.primitive_types import DEFAULT_FP, DEFAULT_IP, DEFAULT_UP

__all__ = [
    "clz", "e", "ffs", "inf", "isinf", "isnan", "ivec2", "ivec3", "ivec4", "mat2", "mat3", "mat4", "nan", "pi",
    "popcnt", "uvec2", "uvec3", "uvec4", "vec2", "vec3", "vec4",
]  # fmt: skip

e = math.e
pi = math.pi
inf = math.inf
nan = math.nan

# One object each for ever; their dtype follows the last qd.init.
vec2, vec3, vec4 = (VectorType(n, DEFAULT_FP) for n in (2, 3, 4))
ivec2, ivec3, ivec4 = (VectorType(n, DEFAULT_IP) for n in (2, 3, 4))
uvec2, uvec3, uvec4 = (VectorType(n, DEFAULT_UP) for n in (2, 3, 4))
mat2, mat3, mat4 = (MatrixType(n, n, DEFAULT_FP) for n in (2, 3, 4))


@kernel_only
def popcnt(x) -> Any:
    """Number of set bits (i32) of the two's-complement pattern of the integer x. Kernel scope only, elementwise.

    y = qd.math.popcnt(x)
    """


@kernel_only
def clz(x) -> Any:
    """Number of leading zero bits (i32) of the integer x; its width for 0. Kernel scope only, elementwise.

    y = qd.math.clz(x)
    """


@kernel_only
def ffs(x) -> Any:
    """1 + index of the lowest set bit (i32) of the integer x; 0 for 0. Kernel scope only, elementwise.

    y = qd.math.ffs(x)
    """


@kernel_only
def isnan(x) -> Any:
    """u1: is x not a number? Tests bits, so that it holds under fast_math. Kernel scope only, elementwise.

    y = qd.math.isnan(x)
    """


@kernel_only
def isinf(x) -> Any:
    """u1: is x plus or minus infinity? Tests bits, so that it holds under fast_math. Kernel scope only, elementwise.

    y = qd.math.isinf(x)
    """
