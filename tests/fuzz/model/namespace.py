"""`qd` as a program sees it."""

from __future__ import annotations

import math
import types

from . import operations as ops
from .containers import Field, Node, View, check_layout, container
from .errors import Undefined, Unmodelled
from .functions import ArrayAnnotation, Func, Kernel, Ref, Template, ViewAnnotation
from .numbers import DTYPES, Defaults, Num, convert, f32, f64, literal, promote, rounded, u1
from .values import StructType, Tensor, TensorType, is_constant


class _Vector:
    """`qd.Vector`, `qd.Matrix`."""

    def __call__(self, rows, dt=None):
        return Tensor.of(rows, None if dt is None else ops.scalar_type(dt))

    @staticmethod
    def zero(dt, n, m=None):
        shape = (n,) if m is None else (n, m)
        return TensorType(shape, dt)(0)

    @staticmethod
    def one(dt, n, m=None):
        shape = (n,) if m is None else (n, m)
        return TensorType(shape, dt)(1)

    @staticmethod
    def identity(dt, n):
        return TensorType((n, n), dt)(*[int(i == k) for i in range(n) for k in range(n)])

    @staticmethod
    def unit(n, i, dt=int):
        return TensorType((n,), dt)(*[int(k == literal(i).value) for k in range(n)])

    @staticmethod
    def rows(vectors):
        return Tensor.of([list(v.items) for v in vectors])

    @staticmethod
    def cols(vectors):
        return Tensor.of([list(row) for row in zip(*(v.items for v in vectors))])


class _VectorFactory(_Vector):
    def field(self, n, dtype, shape=None, **options):
        return Field(dtype, (n,), shape, **options)

    def ndarray(self, n, dtype, shape, **options):
        return Field(dtype, (n,), shape)


class _MatrixFactory(_Vector):
    def field(self, n, m, dtype, shape=None, **options):
        return Field(dtype, (n, m), shape, **options)

    def ndarray(self, n, m, dtype, shape, **options):
        return Field(dtype, (n, m), shape)


def field(dtype, shape=None, order=None, offset=None, **options):
    check_layout(options)
    return container(dtype, shape, offset)


def ndarray(dtype, shape, **options):
    return container(dtype, shape)


def struct_type(cls) -> StructType:
    """`qd.dataclass`."""
    methods = {k: v for k, v in vars(cls).items() if isinstance(v, Func)}
    return StructType(cls.__name__, dict(cls.__annotations__), methods)


def template(*_):
    return Template()


def static(*values):
    return values[0] if len(values) == 1 else list(values)


def ndrange(*entries, axes=None):
    raise Unmodelled("ndrange outside of a loop header")


def sign(x):
    def of(e):
        dtype = e.dtype if e.dtype.real else Defaults.fp
        value = e.value
        return Num(dtype, 0.0 if value != value or value == 0 else math.copysign(1.0, value))

    return ops.elementwise(of, x)


def real_function(fn):
    """A function of reals, in double precision; its results are compared with a tolerance."""

    def applied(x):
        if is_constant(x):
            raise Unmodelled("a function of literals alone")

        def of(e):
            dtype = e.dtype if e.dtype.real else Defaults.fp
            value = float(e.value)
            try:
                return Num(dtype, rounded(fn(value), dtype) if value == value else value)
            except (ValueError, OverflowError):
                raise Undefined("a function outside of its domain") from None

        return ops.elementwise(of, x)

    return applied


def atan2(y, x):
    def of(a, b):
        dtype = f64 if f64 in (a.dtype, b.dtype) else f32
        if a.value != a.value or b.value != b.value:
            return Num(dtype, math.nan)
        return Num(dtype, rounded(math.atan2(a.value, b.value), dtype))

    return ops.elementwise(of, y, x)


def pow_(a, b):
    if isinstance(b, float) and not is_constant(a):
        exponent = b

        def of(e):
            dtype = promote(e.dtype, Defaults.fp)
            value = convert(e, dtype).value
            return Num(dtype, rounded(math.pow(value, exponent), dtype) if value == value else value)

        return ops.elementwise(of, a)
    return ops.binary("**", a, b)


def clamp(x, low, high):
    return ops.extremum("min", high, ops.extremum("max", low, x))


def zero(x):
    return ops.elementwise(lambda e: convert(Num(u1, 0), e.dtype), x)


def one(x):
    return ops.elementwise(lambda e: convert(Num(u1, 1), e.dtype), x)


class _View:
    def __call__(self, base, offset, size):
        return View(base, offset, size)

    def __getitem__(self, dtype):
        return ViewAnnotation()


def _kernel(fn=None, **options):
    return (lambda f: Kernel(f)) if fn is None else Kernel(fn)


def _func(fn=None, *, is_real_function=False, **options):
    return (lambda f: Func(f, is_real_function)) if fn is None else Func(fn)


def _data_oriented(cls=None, *, template_primitives=True, stable_members=False):
    def marked(c):
        c.numbers_at_run_time = not template_primitives
        return c

    return marked if cls is None else marked(cls)


def make() -> types.ModuleType:
    qd = types.ModuleType("qd")
    vars(qd).update(DTYPES)
    types_ = types.SimpleNamespace(
        vector=lambda n=None, dtype=None: TensorType((n,), dtype),
        matrix=lambda n=None, m=None, dtype=None: TensorType((n, m), dtype),
        struct=lambda **members: StructType("struct", members, {}),
        ndarray=ArrayAnnotation,
        NDArray=ArrayAnnotation(),
    )
    axes = {"i": (0,), "j": (1,), "k": (2,), "ij": (0, 1), "ijk": (0, 1, 2)}
    maths = types.SimpleNamespace(
        isnan=ops.is_nan, isinf=ops.is_inf, sign=sign, clamp=clamp,
        popcnt=lambda x: ops.bits_of("popcnt", x), clz=lambda x: ops.bits_of("clz", x),
        ffs=lambda x: ops.bits_of("ffs", x),
    )  # fmt: skip
    vars(qd).update(
        axes, field=field, ndarray=ndarray, Vector=_VectorFactory(), Matrix=_MatrixFactory(), types=types_, math=maths,
        root=Node({}), kernel=_kernel, func=_func, real_func=lambda f: Func(f, True), data_oriented=_data_oriented,
        dataclass=struct_type, template=template, Template=Template, static=static, ndrange=ndrange, ref=Ref,
        cast=ops.cast, select=ops.select, bit_cast=ops.bit_cast, bit_shr=ops.logical_right, zero=zero, one=one,
        raw_div=lambda a, b: ops.truncated("raw_div", a, b), raw_mod=lambda a, b: ops.truncated("raw_mod", a, b),
        abs=ops.absolute, sqrt=ops.square_root, pow=pow_, BufferView=_View(),
        floor=lambda x, dtype=None: ops.rounding("floor", x, dtype),
        ceil=lambda x, dtype=None: ops.rounding("ceil", x, dtype),
        round=lambda x, dtype=None: ops.rounding("round", x, dtype),
        Layout=types.SimpleNamespace(AOS="aos", SOA="soa"), sync=lambda: None, Tensor=object,
    )  # fmt: skip
    functions = ("sin", "cos", "tan", "asin", "acos", "tanh", "exp", "log")
    vars(qd).update({name: real_function(getattr(math, name)) for name in functions}, atan2=atan2)
    qd.rsqrt = real_function(lambda x: 1 / math.sqrt(x))
    return qd
