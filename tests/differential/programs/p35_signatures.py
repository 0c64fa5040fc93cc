"""language.md 2, 3: decorators, annotations, binding of arguments, value checks at a call, errors of signatures."""

import dataclasses

import numpy as np
from kit import fails

CORRECTED = {
    "nested_kernel": (
        "QuadrantsSyntaxError: Kernels cannot call other kernels",
        "language.md 2.1: the reference gives an internal error here",
    )
}


def run(qd):
    @qd.kernel
    def f(x: qd.i32, y: qd.f32) -> qd.f32:
        return x * 10 + y

    @qd.kernel
    def unsigned(x: qd.u8) -> qd.i32:
        return x

    @qd.kernel
    def quoted(x: "int", y: "int") -> qd.i32:
        return x + y

    @qd.kernel
    def empty():
        """Only a docstring."""

    @qd.kernel
    def dots(): ...

    @qd.kernel
    def tensor(t: qd.Tensor) -> qd.i32:
        r = -1
        if qd.static(t is not None):
            r = t.shape[0]
        return r

    @qd.kernel
    def optional(a: qd.types.NDArray[qd.i32, 1], b: qd.types.NDArray[qd.i32, 1] | None) -> qd.i32:
        r = a[0]
        if qd.static(b is not None):
            r += b[0]
        return r

    @qd.pyfunc
    def either(a, b):
        return a * b + 1

    @qd.kernel
    def uses_pyfunc(a: qd.i32) -> qd.i32:
        return either(a, 3)

    @qd.kernel
    def other():
        f(1, 2.0)

    @qd.func
    def only_kernel(a):
        return a

    def decorate(annotation):
        def body(x):
            pass

        body.__annotations__["x"] = annotation
        return lambda: qd.kernel(body)

    def star():
        @qd.kernel
        def k(*args):
            pass

    def no_annotation():
        @qd.kernel
        def k(x):
            pass

    def default():
        @qd.kernel
        def k(x: qd.i32 = 3):
            pass

    def keyword_only():
        @qd.kernel
        def k(*, x: qd.i32):
            pass

    @dataclasses.dataclass
    class Empty:
        pass

    one, two = qd.ndarray(qd.i32, shape=(1,)), qd.ndarray(qd.i32, shape=(2,))
    one.fill(5)
    two.fill(7)
    field = qd.field(qd.i32, shape=6)
    empty()
    dots()
    return {
        "positional": f(1, 2),
        "keyword": [f(y=2.5, x=3), f(4, y=np.float32(0.5)), f(np.int64(5), True)],
        "wraps": [unsigned(300), f(2**32 + 5, 0.0)],
        "narrows": f(0, 1e300),
        "quoted": quoted(3, 4),
        "tensor": [tensor(field), tensor(one), tensor(np.zeros(4, np.int32)), tensor(None)],
        "optional": [optional(one, two), optional(one, None)],
        "pyfunc": [either(2, 3), uses_pyfunc(2)],
        "name": [f.__name__, empty.__doc__],
        "too_many": fails(lambda: f(1, 2.0, 3), "Too many arguments"),
        "missing": fails(lambda: f(1), "Missing argument 'y'."),
        "unexpected": fails(lambda: f(1, 2.0, z=3), "Unexpected argument 'z'."),
        "multiple": fails(lambda: f(1, 2.0, x=3), "Multiple values for argument 'x'."),
        "float_for_int": fails(lambda: f(1.5, 2.0), "cannot be converted into required type"),
        "string": fails(lambda: f("1", 2.0), "cannot be converted into required type"),
        "none": fails(lambda: f(None, 2.0), "cannot be converted into required type"),
        "array": fails(lambda: f(np.array(1), 2.0), "cannot be converted into required type"),
        "negative_unsigned": fails(lambda: unsigned(-1), ""),
        "nested_kernel": fails(other, "Kernels cannot call other kernels"),
        "func_from_python": fails(lambda: only_kernel(1), "")[:5] != "no er",
        "annotations": [
            fails(decorate(a), "Invalid type annotation (argument 0)") for a in (str, list, dict, object, np.ndarray)
        ],
        "star": fails(star, ""),
        "no_annotation": fails(no_annotation, ""),
        "default": fails(default, ""),
        "keyword_only": fails(keyword_only, ""),
        "field_for_array": fails(lambda: optional(field, None), ""),
    }


BEYOND = {"quoted_return": (7.0, "language.md 3.1: a quoted return annotation is resolved too; the reference aborts")}


def beyond(qd):
    @qd.kernel
    def quoted_return(x: "int") -> "float":
        return x + 3

    return {"quoted_return": quoted_return(4)}
