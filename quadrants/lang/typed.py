"""Typed construction of scalar and elementwise expressions: promotion, broadcasting, casts, constant folding."""

from __future__ import annotations

import numpy as np

from quadrants.errors import QuadrantsCompilationError, QuadrantsRuntimeError, QuadrantsTypeError
from quadrants.ir.nodes import Binary, Cast, Const, Make, MatOp, Select, Unary
from quadrants.ir.ops import COMPARISONS, OPS
from quadrants.ir.types import (
    DType,
    StructType,
    TensorType,
    element_dtype,
    f32,
    f64,
    i32,
    promote,
    tensor_type,
    u1,
)
from quadrants.lang import constants, debug_checks, scope
from quadrants.lang.no_value import no_array, no_value
from quadrants.lang.value import Value


def to_expr(x):
    """The IR expression of a Value, number, list, tuple or Python-scope matrix."""
    if isinstance(x, Value):
        return x.expr
    if isinstance(x, constants.NUMBER):
        return constants.literal(x)
    if isinstance(x, (list, tuple)):
        from quadrants.lang import tensor

        return tensor.construct(x).expr
    if isinstance(x, np.ndarray):
        if x.ndim == 0:
            return constants.literal(x.item())
        raise QuadrantsTypeError(no_array(x))
    if getattr(x, "_qd_host_matrix", False):
        from quadrants.lang import tensor

        return tensor.construct(x.to_list()).expr
    if getattr(x, "_qd_host_struct", False):
        from quadrants.lang import structs

        return structs.from_host(x).expr
    if hasattr(x, "as_value"):  # a struct cell
        return x.as_value().expr
    if isinstance(x, int):  # IntEnum and friends
        return constants.literal(int(x))
    raise QuadrantsTypeError(no_value(x))


def to_value(x) -> Value:
    return x if isinstance(x, Value) else Value(to_expr(x))


def unboxed(x):
    """The number in an array of NumPy or torch without axes; anything else as it is."""
    if isinstance(x, Value) or getattr(x, "ndim", None) != 0 or not hasattr(x, "item"):
        return x
    return x.item()


def is_number(x) -> bool:
    return isinstance(x, constants.NUMBER) or isinstance(x, int)


def cast_expr(e, t):
    """Convert elementwise to dtype or type `t`, folding constants."""
    have = e.type
    if isinstance(t, DType) and isinstance(have, TensorType):
        t = have.with_dtype(t)
    if have is t or have == t:
        return e
    if isinstance(have, StructType) or isinstance(t, StructType):
        raise QuadrantsTypeError(f"cannot convert '{have}' to '{t}'")
    if isinstance(e, Const):
        return Const(constants.convert(e.value, t), t)
    if isinstance(e, Make) and isinstance(t, TensorType):
        return Make(tuple(cast_expr(p, t.dtype) for p in e.parts), t)
    return Cast(e, t)


def splat(e, t: TensorType):
    """A tensor of type `t` with every element `e`."""
    e = cast_expr(e, t.dtype)
    if isinstance(e, Const) and t.count <= 16:
        return Make((e,) * t.count, t)
    return MatOp("splat", (e,), t)


def convert_expr(e, t, verb: str = "assign"):
    """Implicit conversion to type `t`, as assignment does: casts elements, broadcasts a scalar, else raises."""
    have = e.type
    if have == t:
        return e
    if isinstance(t, StructType) or isinstance(have, StructType):
        if isinstance(t, StructType) and isinstance(have, StructType):
            raise QuadrantsTypeError("Member mismatch between structs: " + f"{have} and {t}")
        raise QuadrantsTypeError(f"cannot {verb} '{have}' to '{t}'")
    if isinstance(t, TensorType):
        if not isinstance(have, TensorType):
            return splat(e, t)
        if have.shape != t.shape:
            raise QuadrantsTypeError(f"cannot {verb} '{have}' to '{t}': both need the same shape")
    elif isinstance(have, TensorType):
        raise QuadrantsTypeError(
            f"cannot {verb} '{have}' to '{t}', which is one number: take one element of it, as in `v[0]`; several "
            "results of a function are taken apart by `a, b = f(x)`"
        )
    tell_of_lost_bits(e, t)
    return cast_expr(e, t)


def tell_of_lost_bits(e, t) -> None:
    """A warning where a constant is stored to an integer type that holds its low bits only."""
    if not isinstance(e, Const) or t.is_real or t is u1 or e.type.is_real:
        return
    tracer = scope.current()
    if tracer is not None and not -(1 << (t.bits - 1)) <= e.value < 1 << t.bits:
        tracer.warn(
            f"{e.value} does not fit in {t.bits} bits and becomes {constants.convert(e.value, t)}, where a value of "
            f"type {t} is wanted. Use a wider type, or write qd.cast({e.value}, qd.{t}) if its low bits are meant.",
            UserWarning,
        )


def _name(e) -> str:
    return str(e.type)


def _shape_of(a, b, symbol: str):
    """Common shape of two operands, or an error naming both types."""
    sa = a.type.shape if isinstance(a.type, TensorType) else None
    sb = b.type.shape if isinstance(b.type, TensorType) else None
    if sa is not None and sb is not None and sa != sb:
        told = f"unsupported operand type(s) for '{symbol}': '{_name(a)}' and '{_name(b)}'"
        raise QuadrantsTypeError(f"{told}; elements are taken in pairs, so both sides need the same shape")
    return sa if sa is not None else sb


def _with_shape(dtype, shape):
    return dtype if shape is None else tensor_type(shape, dtype)


def unary(name: str, x) -> Value:
    op = OPS[name]
    e = to_expr(x)
    if isinstance(e.type, StructType):
        raise QuadrantsTypeError(f"unsupported operand type for '{op.symbol}': '{_name(e)}'")
    t = element_dtype(e.type)
    if op.operands == "real" and not t.is_real:
        raise QuadrantsTypeError(
            f"'{op.symbol}' takes real inputs only, however '{_name(e)}' is provided. Write `qd.cast(x, qd.f32)` "
            "or another real type."
        )
    if op.operands == "int" and t.is_real:
        raise QuadrantsTypeError(
            f"'{op.symbol}' takes integral inputs only, however '{_name(e)}' is provided: `int(x)` cuts off what is "
            "behind the point, qd.bit_cast takes the bits as they are"
        )
    shape = e.type.shape if isinstance(e.type, TensorType) else None
    if op.result == "u1":
        result = u1
    elif op.result == "i32":
        result = i32
    elif op.result == "dfp" and not t.is_real:
        result = scope.default_fp()
        e = cast_expr(e, result)
    else:
        result = t
    if name == "neg" and isinstance(e, Const):
        return Value(Const(constants.convert(-e.value, e.type), e.type))
    if name == "abs" and t.kind in "ub":
        return Value(e)
    tracer = scope.current()
    if tracer is not None and tracer.debug and t.kind == "i" and name in ("neg", "abs"):
        return _reported_negative(tracer.temp(Value(e)), t, absolute=name == "abs")
    return Value(Unary(name, e, _with_shape(result, shape)))


def _reported_negative(x: Value, t: DType, absolute: bool) -> Value:
    """`-x` or `abs(x)` as a difference, which reports that the least number has no negative."""
    negative = binary("sub", Value(Const(0, t)), x)
    return binary("max", x, negative) if absolute else negative


def binary(name: str, x, y) -> Value:
    if name == "pow":
        return power(x, y)
    op = OPS[name]
    a, b = to_expr(x), to_expr(y)
    if isinstance(a.type, StructType) or isinstance(b.type, StructType):
        raise QuadrantsTypeError(f"unsupported operand type(s) for '{op.symbol}': '{_name(a)}' and '{_name(b)}'")
    shape = _shape_of(a, b, op.symbol)
    ta, tb = element_dtype(a.type), element_dtype(b.type)
    if op.operands == "int" and (ta.is_real or tb.is_real):
        told = f"unsupported operand type(s) for '{op.symbol}': '{_name(a)}' and '{_name(b)}'"
        cure = "powers are written `a ** b`, and" if name == "bit_xor" else "it takes integers:"
        raise QuadrantsTypeError(f"{told}; {cure} `int(x)` cuts off what is behind the point.")
    if op.result == "left":
        computed = result = ta
    elif op.result == "atan2":
        computed = result = f64 if f64 in (ta, tb) else f32
    elif op.result == "div":
        fp = scope.default_fp()
        computed = result = promote(ta if ta.is_real else fp, tb if tb.is_real else fp)
    else:
        computed = result = promote(ta, tb)
    if name in COMPARISONS or op.result == "u1":
        result = u1
    if name in ("logic_and", "logic_or"):
        a, b, computed = truth(a), truth(b), u1
    loc = None
    tracer = scope.current()
    if tracer is not None and tracer.debug:
        b = debug_checks.before_binary(tracer, name, ta, b, computed)
        loc = debug_checks.report_of(tracer, name, b, computed)
    if name in debug_checks.SHIFTS and ta is u1:  # one bit, which a count of 1 or more moves out
        return binary("bit_and", Value(a), binary("eq", Value(b), 0))
    return Value(Binary(name, cast_expr(a, computed), cast_expr(b, computed), _with_shape(result, shape), loc))


NEGATIVE_EXPONENT = "Negative exponent in pow(int, int) is not allowed."


def power(x, y) -> Value:
    a, b = to_expr(x), to_expr(y)
    if isinstance(a.type, StructType) or isinstance(b.type, StructType):
        raise QuadrantsTypeError(f"unsupported operand type(s) for 'pow': '{_name(a)}' and '{_name(b)}'")
    shape = _shape_of(a, b, "pow")
    ta, tb = element_dtype(a.type), element_dtype(b.type)
    if isinstance(b, Const) and tb.is_real and float(b.value).is_integer() and abs(b.value) <= 32:
        result = promote(ta, tb)
        return power(Value(cast_expr(a, result)), Value(Const(int(b.value), i32)))
    if isinstance(b, Const) and tb.is_real and b.value == 0.5:
        return unary("sqrt", Value(cast_expr(a, promote(ta, tb))))
    if tb.is_real:
        t = promote(ta, tb)
        return Value(Binary("pow", cast_expr(a, t), cast_expr(b, t), _with_shape(t, shape)))
    if not ta.is_real and isinstance(b, Const) and b.value < 0:
        raise QuadrantsRuntimeError(f"{NEGATIVE_EXPONENT} Write qd.cast(x, qd.f32) for the base, or 1.0 / x.")
    tracer = scope.current()
    if tracer is not None and tracer.debug and shape is None and not ta.is_real and not isinstance(b, Const):
        b = tracer.temp(Value(b)).expr
        tracer.check(binary("ge", Value(b), 0).expr, ("assert", (NEGATIVE_EXPONENT,)))
    if isinstance(b, Const) and b.value == 1 and not isinstance(a, Const):
        return Value(a)
    if tracer is not None and tracer.debug and not ta.is_real and isinstance(b, Const) and b.value > 0:
        return _power_by_products(tracer, Value(a), int(b.value))
    if tracer is not None and tracer.debug and ta.kind in "iu" and not isinstance(b, Const) and b.type is tb:
        return _power_by_rounds(tracer, Value(a), Value(b))
    return Value(Binary("powi", a, b, _with_shape(ta, shape)))


def _power_by_products(tracer, base: Value, exponent: int) -> Value:
    """The same by squares and products, each of which reports an overflow of its own."""
    result = None
    while True:
        base = tracer.temp(base)
        if exponent & 1:
            result = base if result is None else binary("mul", result, base)
        exponent >>= 1
        if not exponent:
            return result
        base = binary("mul", base, base)


def _power_by_rounds(tracer, base: Value, exponent: Value) -> Value:
    """The same where only the run knows the exponent."""
    one = splat(Const(1, i32), base.type) if base.is_tensor else cast_expr(Const(1, i32), base.type)
    result, square = tracer.declare("power", one), tracer.declare("square", base.expr)
    left = tracer.declare("left", exponent.expr)

    def round_(_: Value) -> None:
        with tracer.when(binary("ne", binary("bit_and", left, 1), 0)):
            tracer.assign_to(result, binary("mul", result, square))
        tracer.assign_to(left, cast(binary("raw_div", left, 2), exponent.type))
        with tracer.when(binary("ne", left, 0)):
            tracer.assign_to(square, binary("mul", square, square))

    with tracer.when(binary("gt", left, 0)):
        tracer.repeat(0, exponent.type.bits, round_, unroll="never")
    return Value(result.expr)


def cast(x, t) -> Value:
    return Value(cast_expr(to_expr(x), t))


def bit_cast(x, t: DType) -> Value:
    e = to_expr(x)
    have = element_dtype(e.type)
    if have.bits != t.bits:
        raise QuadrantsTypeError(
            f"bit_cast is only supported between data type with same size, got {have} ({have.bits} bits) "
            f"and {t} ({t.bits} bits): qd.cast to a type of {t.bits} bits first, or take the bits as one of {have.bits}"
        )
    shape = e.type.shape if isinstance(e.type, TensorType) else None
    return Value(Cast(e, _with_shape(t, shape), bits=True)) if have is not t else Value(e)


def truth(e):
    """`e != 0` elementwise, as u1."""
    t = element_dtype(e.type)
    if t is u1:
        return e
    if isinstance(e, Const):
        return Const(int(e.value != 0), u1)
    zero = Const(0.0 if t.is_real else 0, t)
    return Binary("ne", e, zero, e.type.with_dtype(u1) if isinstance(e.type, TensorType) else u1)


def condition(x, what: str, node=None):
    """The test of `if`, `while`, `and`, `or`: a scalar integer or u1, as a u1 expression. `node`: its AST."""
    e = to_expr(x)
    if not isinstance(e.type, DType) or e.type.is_real:
        told = f"`{what}` conditions must be an integer; found {_name(e)}. "
        raise QuadrantsTypeError(told + _compared(e.type, node))
    return truth(e)


def _compared(t, node) -> str:
    """What to write instead of a condition of that type."""
    import ast  # few kernels are wrong

    written = ast.unparse(node) if node is not None else "x"
    name = written if isinstance(node, (ast.Name, ast.Subscript, ast.Attribute, ast.Call)) else f"({written})"
    if isinstance(t, TensorType):
        return f"Write `{name}.any()` or `{name}.all()`."
    return "Compare a member of it." if isinstance(t, StructType) else f"Write `{name} != 0`."


def select(cond, x, y) -> Value:
    """Elementwise choice; everything is evaluated."""
    c, a, b = to_expr(cond), to_expr(x), to_expr(y)
    if isinstance(a.type, StructType) or isinstance(b.type, StructType):
        raise QuadrantsTypeError(f"unsupported operand type(s) for 'select': '{_name(a)}' and '{_name(b)}'")
    tc = element_dtype(c.type)
    if isinstance(c.type, StructType) or tc.is_real:
        raise QuadrantsTypeError(
            f"unsupported operand type(s) for 'select': the condition must be an integer, found '{_name(c)}'"
        )
    shape = None
    for e in (c, a, b):
        s = e.type.shape if isinstance(e.type, TensorType) else None
        if s is not None:
            if shape is not None and s != shape:
                raise QuadrantsTypeError(f"Cannot broadcast tensor to tensor: shapes {shape} and {s} differ")
            shape = s
    t = promote(element_dtype(a.type), element_dtype(b.type))
    chosen = (a if c.value else b) if isinstance(c, Const) else None
    if chosen is not None and chosen.type == _with_shape(element_dtype(chosen.type), shape):
        return Value(cast_expr(chosen, t))
    return Value(Select(truth(c), cast_expr(a, t), cast_expr(b, t), _with_shape(t, shape), lazy=False))


def conditional(cond, x, y) -> Value:
    """`x if cond else y` with a scalar condition; only the chosen side is read."""
    c = condition(cond, "if")
    a, b = to_expr(x), to_expr(y)
    if isinstance(a.type, StructType) or isinstance(b.type, StructType):
        raise QuadrantsTypeError("Structs cannot be chosen by a conditional expression; use an `if` statement.")
    shape = _shape_of(a, b, "select")
    t = promote(element_dtype(a.type), element_dtype(b.type))
    full = _with_shape(t, shape)
    if isinstance(c, Const):
        return Value(convert_expr(a if c.value else b, full))
    return Value(Select(c, convert_expr(a, full), convert_expr(b, full), full))


def extremum(name: str, args) -> Value:
    if not args:
        raise QuadrantsCompilationError(f"{name}() needs at least one argument")
    result = to_value(args[-1]) if len(args) > 1 else args[-1]
    for x in reversed(args[:-1]):
        result = binary(name, x, result)
    return result
