"""language.md 6: what a template parameter accepts, and what makes a new specialisation."""

import enum
from typing import NamedTuple

import numpy as np
from kit import fails, specialisations


class Config:
    """An immutable configuration that is compared by value."""

    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return isinstance(other, Config) and self.n == other.n

    def __hash__(self):
        return hash(self.n)


class Pair(NamedTuple):
    first: int
    second: object


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def run(qd):
    x = qd.field(qd.i32, shape=4)
    y = qd.field(qd.f32, shape=4)

    @qd.kernel
    def fill(f: qd.template(), v: qd.template()):
        for i in f:
            f[i] = v + i

    @qd.kernel
    def by_config(c: qd.template()) -> qd.i32:
        s = 0
        for k in qd.static(range(c.n)):
            s += k
        return s

    @qd.kernel
    def by_tuple(p: qd.template()) -> qd.i32:
        return p.first * 10 + p.second[1]

    @qd.kernel
    def by_enum(c: qd.template()) -> qd.i32:
        r = 0
        if qd.static(c == Color.RED):
            r = 1
        return r

    @qd.kernel
    def by_string(name: qd.template()) -> qd.i32:
        r = 0
        if qd.static(name == "left"):
            r = 5
        return r

    @qd.kernel
    def by_dtype(dt: qd.template(), v: qd.i32) -> qd.f32:
        return qd.cast(v, dt)

    @qd.func
    def add(a, b):
        return a + b

    @qd.func
    def mul(a, b):
        return a * b

    @qd.kernel
    def by_func(op: qd.template(), a: qd.i32) -> qd.i32:
        return op(a, 5)

    @qd.kernel
    def by_none(f: qd.Template) -> qd.i32:
        r = -1
        if qd.static(f is not None):
            r = 1
        return r

    @qd.kernel
    def scalar(a: qd.i32, b: qd.f32) -> qd.f32:
        return a + b

    @qd.kernel
    def array(a: qd.types.ndarray()) -> qd.f32:
        return a[0]

    fill(x, 3)
    fill(y, 4)
    fill(x, 3)
    after_three = specialisations(fill)
    fill(x, 5)
    configs = [by_config(Config(3)), by_config(Config(3)), by_config(Config(4))]
    scalars = [scalar(1, 2.0), scalar(3, 4.5), scalar(True, 1)]
    arrays = [array(np.ones(3, np.float32)), array(np.ones(9, np.float32)), array(np.ones(3, np.float64))]
    arrays.append(array(qd.ndarray(qd.f32, shape=(2,))))
    return {
        "x": x.to_numpy(),
        "y": y.to_numpy(),
        "fill_specialisations": [after_three, specialisations(fill)],
        "configs": configs,
        "config_specialisations": specialisations(by_config),
        "tuples": [by_tuple(Pair(1, (2, 3))), by_tuple(Pair(1, (2, 4)))],
        "tuple_specialisations": specialisations(by_tuple),
        "enums": [by_enum(Color.RED), by_enum(Color.BLUE)],
        "strings": [by_string("left"), by_string("right")],
        "dtypes": [by_dtype(qd.i8, 300), by_dtype(qd.u8, 300), by_dtype(qd.f32, 300)],
        "funcs": [by_func(add, 6), by_func(mul, 6)],
        "none": [by_none(None), by_none(x)],
        "scalars": scalars,
        "scalar_specialisations": specialisations(scalar),
        "arrays": arrays,
        "list": fails(lambda: by_string(["left"]), ""),
        "ndarray": fails(lambda: by_none(qd.ndarray(qd.i32, shape=(2,))), "Ndarray shouldn't be passed in via"),
    }
