"""Every operator and scalar function of the language as a `qd.func`, beside what NumPy says it must give.

A table row is (name, func, reference): `reference` takes NumPy arrays of the operands' dtype and gives an array.
"""

from __future__ import annotations

import numpy as np

import quadrants as qd


@qd.func
def add(a, b):
    return a + b


@qd.func
def sub(a, b):
    return a - b


@qd.func
def mul(a, b):
    return a * b


@qd.func
def true_div(a, b):
    return a / b


@qd.func
def floor_div(a, b):
    return a // b


@qd.func
def modulo(a, b):
    return a % b


@qd.func
def raw_div(a, b):
    return qd.raw_div(a, b)


@qd.func
def raw_mod(a, b):
    return qd.raw_mod(a, b)


@qd.func
def power(a, b):
    return a**b


@qd.func
def bit_and(a, b):
    return a & b


@qd.func
def bit_or(a, b):
    return a | b


@qd.func
def bit_xor(a, b):
    return a ^ b


@qd.func
def shift_left(a, b):
    return a << b


@qd.func
def shift_right(a, b):
    return a >> b


@qd.func
def logical_right(a, b):
    return qd.bit_shr(a, b)


@qd.func
def maximum(a, b):
    return max(a, b)


@qd.func
def minimum(a, b):
    return min(a, b)


@qd.func
def less(a, b):
    return a < b


@qd.func
def less_equal(a, b):
    return a <= b


@qd.func
def greater(a, b):
    return a > b


@qd.func
def greater_equal(a, b):
    return a >= b


@qd.func
def equal(a, b):
    return a == b


@qd.func
def not_equal(a, b):
    return a != b


@qd.func
def both(a, b):
    return a and b


@qd.func
def either(a, b):
    return a or b


@qd.func
def select_left(a, b):
    return qd.select(a == a, a, b)


@qd.func
def choose_right(a, b):
    return a if a > a else b


@qd.func
def atan2(a, b):
    return qd.atan2(a, b)


@qd.func
def negate(a):
    return -a


@qd.func
def invert(a):
    return ~a


@qd.func
def logical_not(a):
    return not a


@qd.func
def absolute(a):
    return abs(a)


@qd.func
def sine(a):
    return qd.sin(a)


@qd.func
def cosine(a):
    return qd.cos(a)


@qd.func
def tangent(a):
    return qd.tan(a)


@qd.func
def arc_sine(a):
    return qd.asin(a)


@qd.func
def arc_cosine(a):
    return qd.acos(a)


@qd.func
def hyperbolic_tangent(a):
    return qd.tanh(a)


@qd.func
def exponential(a):
    return qd.exp(a)


@qd.func
def logarithm(a):
    return qd.log(a)


@qd.func
def square_root(a):
    return qd.sqrt(a)


@qd.func
def reciprocal_root(a):
    return qd.rsqrt(a)


@qd.func
def floor(a):
    return qd.floor(a)


@qd.func
def ceiling(a):
    return qd.ceil(a)


@qd.func
def rounded(a):
    return qd.round(a)


def _unsigned(x):
    return x.view(np.dtype(f"uint{8 * x.dtype.itemsize}"))


def _truncated(a, b):
    quotient = np.abs(a.astype(object)) // np.abs(b.astype(object))
    sign = np.where((a < 0) != (b < 0), -1, 1).astype(object)
    return (quotient * sign).astype(a.dtype)


def _remainder(a, b):
    return (a.astype(object) - b.astype(object) * _truncated(a, b).astype(object)).astype(a.dtype)


def _half_away(a):
    whole = np.floor(np.abs(a))
    return np.copysign(whole + (np.abs(a) - whole >= 0.5), a).astype(a.dtype)


def _floor_quotient(a, b):
    return np.floor(a / b)


def _real_modulo(a, b):
    return a - b * np.floor(a / b)


INT_BINARY = [
    ("add", add, np.add),
    ("sub", sub, np.subtract),
    ("mul", mul, np.multiply),
    ("bit_and", bit_and, np.bitwise_and),
    ("bit_or", bit_or, np.bitwise_or),
    ("bit_xor", bit_xor, np.bitwise_xor),
    ("maximum", maximum, np.maximum),
    ("minimum", minimum, np.minimum),
    ("and", both, lambda a, b: np.where(a == 0, a, b)),
    ("or", either, lambda a, b: np.where(a != 0, a, b)),
    ("select_left", select_left, lambda a, b: a),
    ("choose_right", choose_right, lambda a, b: b),
]
INT_DIVISION = [
    ("floor_div", floor_div, np.floor_divide),
    ("modulo", modulo, np.mod),
    ("raw_div", raw_div, _truncated),
    ("raw_mod", raw_mod, _remainder),
]
INT_SHIFT = [
    ("shift_left", shift_left, np.left_shift),
    ("shift_right", shift_right, np.right_shift),
    ("logical_right", logical_right, lambda a, b: (_unsigned(a) >> _unsigned(b)).view(a.dtype)),
]
INT_UNARY = [
    ("negate", negate, np.negative),
    ("invert", invert, np.invert),
    ("absolute", absolute, np.abs),
    ("logical_not", logical_not, lambda a: (a == 0).astype(a.dtype)),
]
COMPARISON = [
    ("less", less, np.less),
    ("less_equal", less_equal, np.less_equal),
    ("greater", greater, np.greater),
    ("greater_equal", greater_equal, np.greater_equal),
    ("equal", equal, np.equal),
    ("not_equal", not_equal, np.not_equal),
]
REAL_BINARY = [
    ("add", add, np.add),
    ("sub", sub, np.subtract),
    ("mul", mul, np.multiply),
    ("true_div", true_div, np.divide),
    ("raw_div", raw_div, np.divide),
    ("maximum", maximum, np.fmax),
    ("minimum", minimum, np.fmin),
    ("choose_right", choose_right, lambda a, b: b),
]
REAL_FLOOR = [
    ("floor_div", floor_div, _floor_quotient),
    ("modulo", modulo, _real_modulo),
    ("raw_mod", raw_mod, np.fmod),
]
REAL_EXACT_UNARY = [
    ("negate", negate, np.negative),
    ("absolute", absolute, np.abs),
    ("floor", floor, np.floor),
    ("ceiling", ceiling, np.ceil),
    ("rounded", rounded, _half_away),
]
# name, func, reference, sampled interval, relative tolerance in f32, absolute tolerance in f32 (matrix-math.md 17)
REAL_FUNCTIONS = [
    ("sin", sine, np.sin, (-20.0, 20.0), 1e-4, 1e-6),
    ("cos", cosine, np.cos, (-20.0, 20.0), 1e-4, 1e-6),
    ("tan", tangent, np.tan, (-1.5, 1.5), 1e-4, 1e-6),
    ("asin", arc_sine, np.arcsin, (-1.0, 1.0), 1e-3, 1e-6),
    ("acos", arc_cosine, np.arccos, (-1.0, 1.0), 1e-3, 1e-6),
    ("tanh", hyperbolic_tangent, np.tanh, (-20.0, 20.0), 1e-4, 1e-6),
    ("exp", exponential, np.exp, (-10.0, 10.0), 1e-5, 0.0),
    ("log", logarithm, np.log, (1e-3, 1e3), 1e-5, 1e-6),
    ("sqrt", square_root, np.sqrt, (0.0, 1e4), 1e-6, 0.0),
    ("rsqrt", reciprocal_root, lambda a: 1 / np.sqrt(a), (1e-3, 1e4), 1e-5, 0.0),
]
ACCURACY = {"f16": (2e-3, 1e-3), "f32": None, "f64": (1e-12, 1e-12)}
