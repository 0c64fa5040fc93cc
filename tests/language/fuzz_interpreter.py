"""The meaning of the programs of `fuzz_programs` in plain Python with NumPy scalars, from left to right."""

from __future__ import annotations

import operator

import numpy as np
from fuzz_programs import ARRAYS, SIZE, Program

DTYPES = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
    "u32": np.uint32, "u64": np.uint64, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
INTEGER = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "//": operator.floordiv, "%": operator.mod, "**": operator.pow,
}  # fmt: skip
REAL = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def is_real(x) -> bool:
    return isinstance(x, np.floating)


def convert(x, dtype):
    """`x` as `dtype`; integers keep their low bits."""
    if issubclass(dtype, np.floating):
        return dtype(x)
    bits = 8 * np.dtype(dtype).itemsize
    value = int(x) & ((1 << bits) - 1)
    if issubclass(dtype, np.signedinteger) and value >> (bits - 1):
        value -= 1 << bits
    return dtype(value)


def promote(a, b):
    """The common dtype of two values (language.md 10.2)."""
    ta, tb = type(a), type(b)
    wa, wb = np.dtype(ta).itemsize, np.dtype(tb).itemsize
    if is_real(a) != is_real(b):
        return ta if is_real(a) else tb
    if wa != wb:
        return ta if wa > wb else tb
    return ta if issubclass(ta, np.unsignedinteger) else tb


def binary(op: str, a, b):
    if op in ("<<", ">>"):
        return convert(int(a) << int(b) if op == "<<" else int(a) >> int(b), type(a))
    dtype = promote(a, b)
    if op == "/" and not issubclass(dtype, np.floating):
        dtype = np.float32
    a, b = convert(a, type(a) if op == "**" else dtype), convert(b, dtype)
    if issubclass(dtype, np.floating):
        if op in ("//", "%"):
            quotient = np.floor(a / b)
            return quotient if op == "//" else a - quotient * b
        return REAL[op](a, b)
    return convert(INTEGER[op](int(a), int(b)), type(a) if op == "**" else dtype)


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class Cell:
    """A variable."""

    def __init__(self, value):
        self.value = value


class Element:
    """A cell of an array, found once."""

    def __init__(self, array, index: int):
        self.array, self.index = array, index

    @property
    def value(self):
        return self.array[self.index]

    @value.setter
    def value(self, x):
        self.array[self.index] = x


class Interpreter:
    def __init__(self, program: Program, arrays: dict):
        self.program, self.arrays = program, arrays
        self.functions = {f.name: f for f in program.functions}
        self.env: dict = {}

    def run(self, a: int, x: float) -> None:
        self.env = {"a": Cell(np.int32(a)), "x": Cell(np.float64(x))}
        with np.errstate(all="ignore"):
            self.block(self.program.body)

    # ------------------------------------------------------------ expressions

    def place(self, e):
        if e[0] == "var":
            return self.env[e[1]]
        return Element(self.arrays[e[1]], int(binary("&", self.eval(e[2]), np.int32(7))))

    def eval(self, e):
        return getattr(self, "eval_" + e[0])(*e[1:])

    def eval_lit(self, x):
        return np.float32(x) if isinstance(x, float) else np.int32(x)

    def eval_var(self, name):
        return self.env[name].value

    def eval_elem(self, array, index):
        return self.place(("elem", array, index)).value

    def eval_bin(self, op, a, b):
        left = self.eval(a)
        return binary(op, left, self.eval(b))

    def eval_neg(self, a):
        x = self.eval(a)
        return -x if is_real(x) else convert(-int(x), type(x))

    def eval_inv(self, a):
        x = self.eval(a)
        return convert(~int(x), type(x))

    def eval_cast(self, dtype, a):
        return convert(self.eval(a), DTYPES[dtype])

    def eval_toint(self, dtype, a):
        return convert(
            self._extremum("max", self._extremum("min", self.eval(a), np.float32(100)), np.float32(-100)), DTYPES[dtype]
        )

    def eval_max(self, a, b):
        left = self.eval(a)
        return self._extremum("max", left, self.eval(b))

    def eval_min(self, a, b):
        left = self.eval(a)
        return self._extremum("min", left, self.eval(b))

    @staticmethod
    def _extremum(name, a, b):
        dtype = promote(a, b)
        a, b = convert(a, dtype), convert(b, dtype)
        if is_real(a):
            return np.fmax(a, b) if name == "max" else np.fmin(a, b)
        return max(a, b) if name == "max" else min(a, b)

    def eval_if(self, cond, a, b):
        """The chosen side, in the common type of both; the other one is evaluated on a copy to learn its type."""
        chosen, other = (a, b) if self.eval(cond) else (b, a)
        kept = {name: array.copy() for name, array in self.arrays.items()}
        values = {name: cell.value for name, cell in self.env.items()}
        unused = self.eval(other)
        for name, array in kept.items():
            self.arrays[name][:] = array
        for name, value in values.items():
            if not isinstance(self.env[name], Element):
                self.env[name].value = value
        x = self.eval(chosen)
        return convert(x, promote(x, unused))

    def eval_call(self, name, args):
        f = self.functions[name]
        env = {}
        for (param, _, mode), arg in zip(f.params, args):
            if mode == "template":
                env[param] = self.place(arg)
            else:
                x = self.eval(arg)
                env[param] = Cell(convert(x, np.int32) if mode == "i32" else x)
        saved, self.env = self.env, env
        self.block(f.body)
        result = self.eval(f.result)
        self.env = saved
        return result

    def eval_cmp(self, op, a, b):
        left = self.eval(a)
        return self._compare(op, left, self.eval(b))

    @staticmethod
    def _compare(op, a, b):
        dtype = promote(a, b)
        return bool(COMPARE[op](convert(a, dtype), convert(b, dtype)))

    def eval_chain(self, first, a, b, second, c):
        left = self.eval(a)
        middle = self.eval(b)
        return self._compare(first, left, middle) and self._compare(second, middle, self.eval(c))

    def eval_and(self, a, b):
        return self.eval(a) and self.eval(b)

    def eval_or(self, a, b):
        return self.eval(a) or self.eval(b)

    def eval_not(self, a):
        return not self.eval(a)

    def eval_test(self, a):
        return self.eval(a) != 0

    # ------------------------------------------------------------ statements

    def block(self, body) -> None:
        for s in body:
            getattr(self, "do_" + s[0])(*s[1:])

    def do_declare(self, name, value):
        self.env[name] = Cell(self.eval(value))

    def do_assign(self, target, value):
        x = self.eval(value)
        place = self.place(target)
        place.value = convert(x, type(place.value))

    def do_augment(self, op, target, value):
        place = self.place(target)
        old = place.value
        x = self.eval(value)
        if op != "*":
            # Atomic on memory: read when it is added. The right side has the type of the target.
            old = place.value if target[0] == "elem" or isinstance(place, Element) else old
            x = convert(x, type(old))
        place.value = convert(binary(op, old, x), type(old))

    def do_if(self, cond, body, orelse):
        self.block(body if self.eval(cond) else orelse)

    def do_for(self, name, bound, body):
        for k in range(int(binary("&", self.eval(bound), np.int32(3)))):
            self.env[name] = Cell(np.int32(k))
            if self._iteration(body):
                break

    def do_while(self, guard, cond, body):
        self.env[guard] = Cell(np.int32(0))
        while self.env[guard].value < 4 and self.eval(cond):
            self.env[guard].value += np.int32(1)
            if self._iteration(body):
                break

    def _iteration(self, body) -> bool:
        try:
            self.block(body)
        except _Continue:
            pass
        except _Break:
            return True
        return False

    def do_break(self, cond):
        if self.eval(cond):
            raise _Break

    def do_continue(self, cond):
        if self.eval(cond):
            raise _Continue


def start_arrays() -> dict:
    """The contents of the arrays before a program runs."""
    out = {}
    for n, (name, dtype) in enumerate(ARRAYS.items()):
        values = [(7 * k + 3 * n) % 23 - 9 for k in range(SIZE)]
        out[name] = np.array([convert(np.int64(v), DTYPES[dtype]) for v in values])
    return out
