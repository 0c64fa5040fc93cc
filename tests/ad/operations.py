"""Every operation with a derivative, as a func of one or two numbers, beside the same in NumPy."""

from __future__ import annotations

import numpy as np

import quadrants as qd


def _unary():
    @qd.func
    def neg(x):
        return -x

    @qd.func
    def abs_(x):
        return abs(x)

    @qd.func
    def sin(x):
        return qd.sin(x)

    @qd.func
    def cos(x):
        return qd.cos(x)

    @qd.func
    def tan(x):
        return qd.tan(x)

    @qd.func
    def asin(x):
        return qd.asin(x)

    @qd.func
    def acos(x):
        return qd.acos(x)

    @qd.func
    def tanh(x):
        return qd.tanh(x)

    @qd.func
    def exp(x):
        return qd.exp(x)

    @qd.func
    def log(x):
        return qd.log(x)

    @qd.func
    def sqrt(x):
        return qd.sqrt(x)

    @qd.func
    def rsqrt(x):
        return qd.rsqrt(x)

    @qd.func
    def floor(x):
        return qd.floor(x)

    @qd.func
    def ceil(x):
        return qd.ceil(x)

    @qd.func
    def round_(x):
        return qd.round(x)

    @qd.func
    def square(x):
        return x**2

    @qd.func
    def cube(x):
        return x**3

    @qd.func
    def seventh(x):
        return x**7

    @qd.func
    def inverse_square(x):
        return x**-2

    @qd.func
    def zeroth(x):
        return x**0

    @qd.func
    def power(x):
        return x**1.7

    @qd.func
    def cast(x):
        return qd.cast(qd.cast(x, qd.f64), qd.f64) * 2.0

    return [
        (neg, lambda x: -x), (abs_, np.abs), (sin, np.sin), (cos, np.cos), (tan, np.tan), (asin, np.arcsin),
        (acos, np.arccos), (tanh, np.tanh), (exp, np.exp), (log, np.log), (sqrt, np.sqrt), (rsqrt, lambda x: x**-0.5),
        (floor, np.floor), (ceil, np.ceil), (round_, np.round), (square, lambda x: x**2), (cube, lambda x: x**3),
        (seventh, lambda x: x**7), (inverse_square, lambda x: x**-2.0), (zeroth, lambda x: 1 + 0 * x),
        (power, lambda x: x**1.7), (cast, lambda x: 2 * x),
    ]  # fmt: skip


def _binary():
    @qd.func
    def add(x, y):
        return x + y

    @qd.func
    def sub(x, y):
        return x - y

    @qd.func
    def mul(x, y):
        return x * y

    @qd.func
    def div(x, y):
        return x / y

    @qd.func
    def raw_div(x, y):
        return qd.raw_div(x, y)

    @qd.func
    def floordiv(x, y):
        return x // y

    @qd.func
    def mod(x, y):
        return x % y

    @qd.func
    def raw_mod(x, y):
        return qd.raw_mod(x, y)

    @qd.func
    def pow_(x, y):
        return x**y

    @qd.func
    def atan2(x, y):
        return qd.atan2(x, y)

    @qd.func
    def min_(x, y):
        return qd.min(x, y)

    @qd.func
    def max_(x, y):
        return qd.max(x, y)

    @qd.func
    def select(x, y):
        return qd.select(x < y, x * x, y * x)

    @qd.func
    def conditional(x, y):
        return x * x if x < y else y * x

    return [
        (add, np.add), (sub, np.subtract), (mul, np.multiply), (div, np.divide), (raw_div, np.divide),
        (floordiv, np.floor_divide), (mod, np.mod), (raw_mod, np.fmod), (pow_, np.power), (atan2, np.arctan2),
        (min_, np.minimum), (max_, np.maximum), (select, lambda x, y: np.where(x < y, x * x, y * x)),
        (conditional, lambda x, y: np.where(x < y, x * x, y * x)),
    ]  # fmt: skip


UNARY = _unary()
BINARY = _binary()


def name(pair) -> str:
    return pair[0].fn.__name__.strip("_")
