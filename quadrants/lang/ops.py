"""Operations under the module name that programs import them from: those of `qd`, and operators as functions.

Every function works in kernels and in Python scope as the operator or the function of `qd` does.
"""

from __future__ import annotations

from operator import (
    add,
    floordiv,
    mod,
    mul,
    neg,
    sub,
    truediv,
)
from operator import and_ as bit_and
from operator import eq as cmp_eq
from operator import ge as cmp_ge
from operator import gt as cmp_gt
from operator import invert as bit_not
from operator import le as cmp_le
from operator import lshift as bit_shl
from operator import lt as cmp_lt
from operator import ne as cmp_ne
from operator import or_ as bit_or
from operator import rshift as bit_sar
from operator import xor as bit_xor

from quadrants.lang._public import names_of
from quadrants.lang.math_primitives import clz, ffs, popcnt

_PUBLIC = (
    "abs acos asin atan2 atomic_add atomic_and atomic_cas atomic_exchange atomic_max atomic_min atomic_mul atomic_or "
    "atomic_sub atomic_xor bit_cast bit_shr cast ceil cos exp floor frexp log max min pow random raw_div raw_mod round "
    "rsqrt select sin sqrt tan tanh volatile_load"
).split()

__all__ = [
    "add", "bit_and", "bit_not", "bit_or", "bit_sar", "bit_shl", "bit_xor", "clz", "cmp_eq", "cmp_ge", "cmp_gt",
    "cmp_le", "cmp_lt", "cmp_ne", "ffs", "floordiv", "mod", "mul", "neg", "popcnt", "sub", "truediv",
]  # fmt: skip

__getattr__ = names_of(__name__, _PUBLIC, __all__)
