"""language.md 8, matrix-math.md 18.1: every type a kernel may return, its conversions, and the errors."""

from typing import Tuple  # noqa: UP035

import numpy as np
from kit import fails


def run(qd):
    inner = qd.types.struct(a=qd.i32, v=qd.types.vector(2, qd.f32))
    outer = qd.types.struct(x=qd.f64, s=inner)
    results = {}
    values = {
        "i8": -128, "i16": -32768, "i32": -(2**31), "i64": -(2**63), "u8": 255, "u16": 65535,
        "u32": 2**32 - 1, "u64": 2**64 - 1, "u1": 1, "f16": 0.5, "f32": 1.25, "f64": 0.1,
    }  # fmt: skip

    def echo(dtype):
        @qd.kernel
        def back(x: dtype) -> dtype:
            return x

        return back

    for name, value in values.items():
        got = echo(getattr(qd, name))(value)
        results[f"echo_{name}"] = [type(got).__name__, got]
    for annotation, value in ((int, 2**31 - 1), (float, 0.5), (bool, True)):
        got = echo(annotation)(value)
        results[f"echo_{annotation.__name__}"] = [type(got).__name__, got]

    @qd.kernel
    def converts() -> qd.i32:
        return 2.7

    @qd.kernel
    def division() -> float:
        return 1 / 3

    @qd.kernel
    def vector() -> qd.types.vector(3, qd.f32):
        return qd.Vector([1, 2, 3]) * 0.5

    @qd.kernel
    def matrix() -> qd.types.matrix(2, 3, qd.i64):
        return qd.Matrix([[1, 2, 3], [4, 5, 6]])

    @qd.kernel
    def listed() -> qd.types.matrix(2, 2, qd.f64):
        return [[1, 2], [3, 4]]

    @qd.kernel
    def big() -> qd.types.vector(49, qd.i32):
        v = qd.Vector([0] * 49)
        for i in range(49):
            v[i] = i * i
        return v

    @qd.kernel
    def booleans(v: qd.types.vector(3, qd.f32)) -> qd.types.vector(3, qd.u1):
        return v > 1.0

    @qd.kernel
    def pair() -> tuple[qd.i32, qd.f32]:
        return 3, 4.5

    @qd.kernel
    def mixed() -> Tuple[qd.types.vector(2, qd.f32), qd.u64, bool]:  # noqa: UP006
        return qd.Vector([1.0, 2.0]), qd.u64(1) << 63, True

    @qd.kernel
    def struct() -> outer:
        return outer(x=0.1, s=inner(a=7, v=[1.0, 2.0]))

    @qd.kernel
    def nothing() -> None:
        pass

    @qd.kernel
    def no_annotation():
        return 1

    @qd.kernel
    def wrong_shape() -> qd.types.vector(3, qd.f32):
        return qd.Vector([1.0, 2.0])

    @qd.kernel
    def wrong_dim() -> qd.types.vector(3, qd.f32):
        return qd.Matrix([[1.0, 2.0], [3.0, 4.0]])

    @qd.kernel
    def real_to_int() -> qd.types.vector(2, qd.i32):
        return qd.Vector([1.5, 2.0])

    @qd.kernel
    def under_if(n: qd.i32) -> qd.i32:
        if n > 0:
            return 1
        return 2

    @qd.func
    def tuple_func(a):
        return a, a * 2.5, [a, a]

    @qd.func
    def cast_func(a) -> bool:
        return a

    @qd.kernel
    def through_funcs(a: qd.i32) -> qd.f32:
        x, y, z = tuple_func(a)
        return x + y + z[1] + cast_func(a) * 1000

    def tensor(value):
        return [type(value).__name__ in ("Vector", "Matrix"), value.n, value.to_numpy()]

    s = struct()
    m = mixed()
    results |= {
        "converts": converts(),
        "division": division(),
        "vector": tensor(vector()),
        "matrix": tensor(matrix()),
        "listed": tensor(listed()),
        "big": tensor(big()),
        "booleans": tensor(booleans(qd.Vector([0.5, 1.5, 1.0]))),
        "pair": list(pair()),
        "mixed": [np.array(m[0].to_list(), np.float32), m[1], m[2]],
        "struct": [s.x, s.s.a, np.array(s.s.v.to_list(), np.float32)],
        "nothing": nothing(),
        "through_funcs": through_funcs(4),
        "no_annotation": fails(no_annotation, "must be annotated with a return type"),
        "wrong_shape": fails(wrong_shape, "Return matrix shape mismatch, expecting=(3,), got=(2,)"),
        "wrong_dim": fails(wrong_dim, "Return matrix ndim mismatch, expecting=1, got=2"),
        "real_to_int": fails(real_to_int, "cannot be converted into required type i32"),
        "under_if": fails(lambda: under_if(1), "Return inside non-static if/for is not supported"),
    }
    return results
