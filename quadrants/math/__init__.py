"""`qd.math`: shading-language functions, transforms, complex numbers and bit counting.

The first group of names is the very objects of the top-level package and works in both scopes; the functions defined in
this package are kernel scope only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadrants import absent, acos, asin, atan2, ceil, cos, exp, floor, log, max, min, pow, round, sin, sqrt, tan, tanh
from quadrants.lang.math_primitives import clz, e, ffs, inf, isinf, isnan, nan, pi, popcnt

from .bits import fns
from .complex import cconj, cdiv, cexp, cinv, clog, cmul, cpow, csqrt
from .geometry import cross, determinant, distance, dot, eye, inverse, length, normalize, reflect, refract
from .scalar import clamp, degrees, fract, log2, mix, mod, radians, sign, smoothstep, step
from .transform import rot_by_axis, rot_yaw_pitch_roll, rotation2d, rotation3d, scale, translate, vdir

if TYPE_CHECKING:
    from quadrants.typing_extensions import ivec2, ivec3, ivec4, mat2, mat3, mat4, uvec2, uvec3, uvec4, vec2, vec3, vec4
else:
    from quadrants.lang.math_primitives import (
        ivec2,
        ivec3,
        ivec4,
        mat2,
        mat3,
        mat4,
        uvec2,
        uvec3,
        uvec4,
        vec2,
        vec3,
        vec4,
    )

if not TYPE_CHECKING:  # else checkers would take any misspelt name
    __getattr__ = absent.names_of("math", globals())

__all__ = [
    "acos", "asin", "atan2", "cconj", "cdiv", "ceil", "cexp", "cinv", "clamp", "clog", "clz", "cmul", "cos", "cpow",
    "cross", "csqrt", "degrees", "determinant", "distance", "dot", "e", "exp", "eye", "ffs", "floor", "fns", "fract",
    "inf", "inverse", "isinf", "isnan", "ivec2", "ivec3", "ivec4", "length", "log", "log2", "mat2", "mat3", "mat4",
    "max", "min", "mix", "mod", "nan", "normalize", "pi", "popcnt", "pow", "radians", "reflect", "refract",
    "rot_by_axis", "rot_yaw_pitch_roll", "rotation2d", "rotation3d", "round", "scale", "sign", "sin", "smoothstep",
    "sqrt", "step", "tan", "tanh", "translate", "uvec2", "uvec3", "uvec4", "vdir", "vec2", "vec3", "vec4",
]  # fmt: skip
