"""The derivative of every scalar operation, one row each; tensors apply the rows element by element.

A row has one entry for each operand: None where nothing flows (the derivative is zero, or there is none), else the
names of the operands whose values the factor needs ("x" the first, "y" the second) and a function that maps
`g`, then these values, to the contribution. A contribution is linear in g, so one table serves both modes: in
reverse mode g is the adjoint of the result and the contribution goes to the operand; in forward mode g is the dual
of the operand and the contributions add up to the dual of the result.

Contributions are computed from operands, never from a saved result.
"""

from __future__ import annotations

from quadrants.ad.build import add, binary, cast, compare, const, div, mul, neg, select, sub, unary, value_of, zero
from quadrants.ir.nodes import Binary, Const
from quadrants.ir.types import element_dtype


def _like(x, value: float):
    return const(value, element_dtype(x.type))


def _square(x):
    return mul(x, x)


def _sign(g, x):
    none = zero(element_dtype(x.type))
    return select(compare("gt", x, none), g, select(compare("lt", x, none), neg(g), zero(g.type)))


def _trunc(q):
    return select(compare("lt", q, _like(q, 0.0)), unary("ceil", q), unary("floor", q))


def _base_of_power(g, x, y):
    return mul(g, mul(y, binary("pow", x, sub(y, _like(y, 1.0)))))


def _exponent_of_power(g, x, y):
    """g * x**y * log x; its limit, zero, at x = 0 with y > 0."""
    slope = mul(binary("pow", x, y), unary("log", x))
    vanishes = Binary("bit_and", compare("eq", x, _like(x, 0.0)), compare("gt", y, _like(y, 0.0)), None)
    vanishes.type = max(vanishes.a.type, vanishes.b.type, key=lambda t: getattr(t, "count", 0))
    return mul(g, select(vanishes, zero(slope.type), slope))


def _base_of_integer_power(g, x, y):
    """g * n * x**(n-1); zero for n = 0 whatever x is."""
    n = value_of(y)
    if n is not None:
        if n == 0:
            return zero(g.type)
        lower = x if n == 2 else Binary("powi", x, Const(int(n) - 1, element_dtype(y.type)), x.type)
        return mul(g, _like(x, 1.0)) if n == 1 else mul(g, mul(_like(x, n), lower))
    one = const(1, y.type)
    slope = mul(cast(y, element_dtype(x.type)), Binary("powi", x, binary("sub", y, one), x.type))
    return mul(g, select(compare("eq", y, zero(y.type)), zero(slope.type), slope))


def _same(g):
    return g


ROWS = {
    "neg": (("", neg),),
    "abs": (("x", _sign),),
    "sin": (("x", lambda g, x: mul(g, unary("cos", x))),),
    "cos": (("x", lambda g, x: neg(mul(g, unary("sin", x)))),),
    "tan": (("x", lambda g, x: mul(g, add(_like(x, 1.0), _square(unary("tan", x))))),),
    "asin": (("x", lambda g, x: div(g, unary("sqrt", sub(_like(x, 1.0), _square(x))))),),
    "acos": (("x", lambda g, x: neg(div(g, unary("sqrt", sub(_like(x, 1.0), _square(x)))))),),
    "tanh": (("x", lambda g, x: mul(g, sub(_like(x, 1.0), _square(unary("tanh", x))))),),
    "exp": (("x", lambda g, x: mul(g, unary("exp", x))),),
    "log": (("x", lambda g, x: div(g, x)),),
    "sqrt": (("x", lambda g, x: div(mul(g, _like(x, 0.5)), unary("sqrt", x))),),
    "rsqrt": (("x", lambda g, x: mul(g, div(mul(_like(x, -0.5), unary("rsqrt", x)), x))),),
    "floor": (None,),
    "ceil": (None,),
    "round": (None,),
    "add": (("", _same), ("", _same)),
    "sub": (("", _same), ("", neg)),
    "mul": (("y", mul), ("x", mul)),
    "truediv": (("y", div), ("xy", lambda g, x, y: neg(div(mul(g, x), _square(y))))),
    "raw_div": (("y", div), ("xy", lambda g, x, y: neg(div(mul(g, x), _square(y))))),
    "floordiv": (None, None),
    "mod": (("", _same), ("xy", lambda g, x, y: neg(mul(g, unary("floor", div(x, y)))))),
    "raw_mod": (("", _same), ("xy", lambda g, x, y: neg(mul(g, _trunc(div(x, y)))))),
    "pow": (("xy", _base_of_power), ("xy", _exponent_of_power)),
    "powi": (("xy", _base_of_integer_power), None),
    # A tie goes to the second operand: exactly one of them moves the result.
    "min": (
        ("xy", lambda g, x, y: select(compare("lt", x, y), g, zero(g.type))),
        ("xy", lambda g, x, y: select(compare("lt", x, y), zero(g.type), g)),
    ),
    "max": (
        ("xy", lambda g, x, y: select(compare("lt", y, x), g, zero(g.type))),
        ("xy", lambda g, x, y: select(compare("lt", y, x), zero(g.type), g)),
    ),
    "atan2": (
        ("xy", lambda g, x, y: div(mul(g, y), add(_square(x), _square(y)))),
        ("xy", lambda g, x, y: neg(div(mul(g, x), add(_square(x), _square(y))))),
    ),
}


def of(op: str, arity: int) -> tuple:
    """The row of an operation; operations of integers and truth values have no derivative."""
    return ROWS.get(op) or (None,) * arity
