"""Kernels that use a value of every kind in every wrong way, to see what they are told."""

from __future__ import annotations

import linecache
import warnings

import quadrants as qd

# What a kernel may have in its hands: a name of its parameters or of PRELUDE, or an expression.
VALUES = {
    "scalar": "n",
    "real": "r",
    "vector": "v",
    "matrix": "m",
    "struct": "s",
    "dataclass": "d",
    "dataclass member": "d.a",
    "field": "f",
    "vector field": "vf",
    "struct field": "sf",
    "cell": "sf[0]",
    "array": "x",
    "view": "w",
    "object": "o",
    "object array": "o.a",
    "list": "[n, 1]",
    "tuple": "(n, 1)",
    "dict": "{'a': n}",
    "string": "'text'",
    "none": "None",
    "func": "g",
    "kernel": "k0",
    "module": "qd",
    "class": "C",
    "dtype": "qd.i32",
    "vector type": "qd.math.vec3",
    "host matrix": "hm",
    "numpy": "na",
    "method": "v.sum",
    "formatted text": "f'{n}'",
    "range": "range(3)",
    "ndrange": "qd.ndrange(3)",
    "snode": "f.parent()",
    "bound method": "o.meth",
    "struct type": "S",
    "host struct": "hs",
    "shared array": "qd.simt.block.SharedArray((4,), qd.f32)",
    "enum": "E.A",
    "lambda": "len",
    "grad": "f.grad",
    "tensor": "t",
    "slice": "v[0:2]",
    "formatted by a method": "'{}'.format(n)",
    "static range": "qd.static(range(2))",
    "register tile": "qd.simt.Tile16x16(qd.f32)",
}

# Expressions and statements with a hole for the value.
EXPRESSIONS = [
    "{} + 1",
    "1 - {}",
    "{} * {}",
    "-{}",
    "~{}",
    "not {}",
    "{} < 1",
    "{} and 1",
    "{} if n else 1",
    "1 if {} else 2",
    "{}[0]",
    "{}[0, 0, 0]",
    "{}[n]",
    "{}['a']",
    "{}[1.5]",
    "{}[0:n]",
    "{}.nothing",
    "{}.shape",
    "{}()",
    "{}(1)",
    "len({})",
    "int({})",
    "float({})",
    "abs({})",
    "max({}, 1)",
    "sum({})",
    "qd.sin({})",
    "qd.cast({}, qd.f32)",
    "qd.select({}, 1, 2)",
    "qd.select(n, {}, 2)",
    "qd.Vector({})",
    "qd.Vector([{}])",
    "qd.static({})",
    "qd.atomic_add({}, 1)",
    "qd.atomic_add(n, {})",
    "{} @ {}",
    "[*{}]",
    "g({})",
    "g(*{})",
    "h({}, {})",
    "qd.math.dot({}, {})",
    "qd.i32({})",
    "qd.bit_cast({}, qd.f32)",
    "round({})",
    "{} in [1]",
    "{} is None",
    "{} ** 2",
    "{} << 1",
    "(lambda: {})()",
    "print({})",
    "f'{{{}}}'",
    "range({})",
    "zip({}, {})",
    "enumerate({})",
    "qd.length({})",
    "qd.is_active({}, 0)",
    "pf({})",
    "tuple({})",
    "list({})",
    "str({})",
    "{}.append(1)",
    "qd.append({}, 0, 1)",
    "qd.grouped({})",
    "qd.ndrange({})",
    "x[{}]",
    "f[{}]",
    "v[{}]",
    "o.a[{}]",
    "S(a={})",
    "qd.math.vec3({})",
    "qd.math.mat2({})",
    "qd.stop_grad({})",
    "qd.loop_config(block_dim={})",
    "C({})",
    "{}.sum()",
    "{}.fill(0)",
    "{}.x",
    "{}.a",
    "rf({})",
    "isinstance({}, int)",
    "min({})",
    "np.sin({})",
    "math.sqrt({})",
    "qd.volatile_load({})",
    "qd.simt.subgroup.shuffle({}, {})",
    "qd.simt.block.sync({})",
    "qd.outer({}, {})",
    "arrf({})",
    "scf({})",
    "vecf({})",
    "dcf({})",
    "tplf({})",
    "any({})",
    "sorted({})",
    "type({})",
    "iter({})",
    "dict({})",
    "qd.BufferView({}, 0, 1)",
]
STATEMENTS = [
    "y = {}",
    "y: qd.i32 = {}",
    "{} = 1",
    "{} += 1",
    "a, b = {}",
    "for i in {}:\n        pass",
    "for i in range({}):\n        pass",
    "for i in qd.static({}):\n        pass",
    "for i in qd.grouped({}):\n        pass",
    "for i in qd.ndrange({}):\n        pass",
    "while {}:\n        break",
    "if {}:\n        pass",
    "assert {}",
    "return {}",
    "f[0] = {}",
    "v[0] = {}",
    "v = {}",
    "m[0, 0] = {}",
    "s.a = {}",
    "sf[0] = {}",
    "with {}:\n        pass",
    "del {}",
    "y = n\n    y = {}",
    "y = [{}]\n    y[n] = 1",
    "assert n, {}",
    "{}.a = 1",
    "{}[0] = 1",
    "{}[0] += 1",
    "y = z = {}",
    "for i, j in {}:\n        pass",
    "y = [q for q in {}]",
    "x[0] = {}",
    "w[0] = {}",
    "yield {}",
    "raise {}",
    "f[0] -= {}",
    "qd.static_print({})",
    "qd.static_assert({})",
    "y = v\n    y += {}",
    "vf[0] = {}",
    "vf[0] += {}",
    "for i in {}[0]:\n        pass",
    "for i in enumerate({}):\n        pass",
]

PRELUDE = """
import enum, dataclasses, math
import numpy as np
import quadrants as qd
f = qd.field(qd.f32, shape=4, needs_grad=True)
vf = qd.Vector.field(3, qd.f32, shape=4)
S = qd.types.struct(a=qd.f32, b=qd.i32)
sf = S.field(shape=4)
class E(enum.IntEnum):
    A = 1
class C:
    pass
@qd.data_oriented
class O:
    def __init__(self):
        self.a = qd.ndarray(qd.f32, 4)
        self.f = f
    @qd.func
    def meth(self, p):
        return p
@dataclasses.dataclass
class D:
    a: qd.types.NDArray[qd.f32, 1]
    b: qd.i32
hm = qd.Vector([1.0, 2.0])
hs = S(a=1.0, b=2)
na = np.arange(3)
@qd.func
def g(p):
    return p + 1
@qd.func
def h(p, q: qd.template()):
    return p
@qd.real_func
def rf(p: qd.f32) -> qd.f32:
    return p
@qd.func
def arrf(p: qd.types.ndarray()):
    return p[0]
@qd.func
def scf(p: qd.i32):
    return p
@qd.func
def vecf(p: qd.math.vec3):
    return p
@qd.func
def dcf(p: D):
    return p.a[0]
@qd.func
def tplf(p: qd.template()):
    return p
def pf(p):
    return p + 1 if p else p[0]
@qd.kernel
def k0():
    pass
"""

HEADER = """@qd.kernel
def run(
    n: qd.i32, r: qd.f32, v: qd.math.vec3, m: qd.math.mat2, s: S, d: D, x: qd.types.NDArray[qd.f32, 1],
    w: qd.BufferView[qd.f32], o: qd.template(), t: qd.Tensor,
):
    """


class Provocation:
    """Modules with the names of PRELUDE, and arguments for `run`. Needs `qd.init`."""

    def __init__(self) -> None:
        self.names = self.load("<prelude>", PRELUDE, {})
        array = qd.ndarray(qd.f32, 4)
        vector, matrix = qd.math.vec3(1, 2, 3), qd.math.mat2([[1, 2], [3, 4]])
        members = self.names["D"](qd.ndarray(qd.f32, 4), 1)
        self.arguments = (
            1, 1.0, vector, matrix, self.names["hs"], members, array, qd.ndarray(qd.f32, 4)[0:2], self.names["O"](),
            qd.tensor(qd.f32, shape=4),
        )  # fmt: skip

    def told(self, form: str, value: str) -> str:
        """The error of a kernel that has `value` in the hole of `form`; "" if it may."""
        # Braces of Python are doubled in the forms, as in those of str.format.
        statement = form.replace("{{", "\0").replace("}}", "\1").replace("{}", value)
        statement = statement.replace("\0", "{").replace("\1", "}")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                names = self.load(f"<{statement}>", f"{HEADER}{statement}\n", dict(self.names))
                names["run"].source(*self.arguments)
        except Exception as error:  # of whatever class: the test looks at that, too
            return "" if type(error) is SyntaxError else f"{type(error).__name__}: {error}"
        return ""

    @staticmethod
    def load(name: str, text: str, names: dict) -> dict:
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        exec(compile(text, name, "exec", dont_inherit=True), names)  # noqa: S102
        return names
