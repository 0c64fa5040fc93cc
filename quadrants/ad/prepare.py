"""Brings the body of a kernel into the form that is differentiated, without changing what it computes.

    atomic_add(v, x), v a local   ->  old = v; v = v + x
    a if c else b                 ->  an `if`, where one side may not be evaluated unless it is chosen
    (A @ x)[0]                    ->  t = A @ x; t[0]
    svd(A @ x)                    ->  t = A @ x; svd(t)

An expression that then still has a choice in it may evaluate both sides.
"""

from __future__ import annotations

from quadrants.ad.build import is_atom, is_differentiated, variable, zero
from quadrants.ir import walk
from quadrants.ir.nodes import (
    Atomic,
    Binary,
    Call,
    Cast,
    Const,
    Declare,
    Elem,
    ElemPlace,
    Eval,
    For,
    If,
    Load,
    Make,
    MatOp,
    Select,
    Store,
    Unary,
    Var,
    VarPlace,
    While,
)
from quadrants.ir.types import StructType, TensorType, element_dtype, u1

LOCAL_ATOMICS = {
    "add": "add", "sub": "sub", "mul": "mul", "min": "min", "max": "max", "and": "bit_and", "or": "bit_or",
    "xor": "bit_xor",
}  # fmt: skip
# Other statements, and operands of other expressions, stay as they are.
ENTERED = (If, For, While, Declare, Store, Eval)
COMPUTED = (Unary, Binary, Cast, Make, MatOp, Atomic, Select)


def prepare(body: list) -> list:
    """The same statements in differentiable form."""
    out: list = []
    for stmt in body:
        _statement(stmt, out)
    return out


def _statement(s, out: list) -> None:
    e = s.init if isinstance(s, Declare) else s.value if isinstance(s, Eval) else None
    if isinstance(e, Atomic) and walk.root_var(e.place) is not None:
        _atomic(s, e, out)
        return
    if is_differentiated(e):
        out.append(Declare(s.var, Call(e.func, tuple(_held(a, out, s.loc) for a in e.args), e.type), s.loc))
        return
    if isinstance(s, ENTERED):
        walk.update(s, _rewritten, out, s.loc)
    out.append(s)


def _rewritten(x, out: list, loc):
    return prepare(x) if type(x) is list else value(x, out, loc)


def _atomic(s, e: Atomic, out: list) -> None:
    """A read-modify-write of a variable of this thread is an assignment."""
    args = [value(a, out, s.loc) for a in e.args]
    old = Load(e.place, e.type)
    if isinstance(s, Declare):
        out.append(Declare(s.var, old, s.loc))
        old = variable(s.var)
    out.append(Store(e.place, _updated(e, old, args), s.loc))


def _updated(e: Atomic, old, args: list):
    if e.op == "exchange":
        return args[0]
    if e.op == "cas":
        return Select(Binary("eq", old, args[0], u1), args[1], old, e.type, lazy=False)
    return Binary(LOCAL_ATOMICS[e.op], old, args[0], e.type)


def _held(a, out: list, loc):
    """An argument as a number, a variable or a cell."""
    a = value(a, out, loc)
    if isinstance(a, (Const, Load)):
        return a
    held = Var("t", a.type, False, level=1, temporary=True)
    out.append(Declare(held, a, loc))
    return variable(held)


# ---------------------------------------------------------------- expressions


def value(e, out: list, loc):
    """An expression in differentiable form; what it needs first is appended to `out`."""
    t = e.type
    if t is None or isinstance(t, StructType) or not element_dtype(t).is_real:
        return e
    if isinstance(e, Cast) and e.bits and isinstance(e.a, Cast) and e.a.bits and e.a.a.type == t:
        return value(e.a.a, out, loc)
    if isinstance(e, Select) and _chooses(e):
        return _choice(e, out, loc)
    if isinstance(e, Elem):
        return _elem(e, out, loc)
    return walk.rebuilt(e, value, out, loc) if isinstance(e, COMPUTED) else e


def _chooses(e: Select) -> bool:
    """Whether the side that is not taken may not be evaluated."""
    return e.lazy and not isinstance(e.cond.type, TensorType) and not (is_atom(e.a) and is_atom(e.b))


def _choice(e: Select, out: list, loc):
    chosen = Var("choice", e.type, True, level=1)
    out.append(Declare(chosen, zero(e.type), loc))
    sides: list = []
    for side in (e.a, e.b):
        block: list = []
        v = value(side, block, loc)
        if v.type != e.type:
            v = MatOp("splat", (v,), e.type)
        block.append(Store(VarPlace(chosen, e.type), v, loc))
        sides.append(block)
    out.append(If(e.cond, sides[0], sides[1], loc))
    return variable(chosen)


def _elem(e: Elem, out: list, loc):
    a = value(e.a, out, loc)
    if isinstance(a, Load):
        return Load(ElemPlace(a.place, e.indices, e.type), e.type)
    held = Var("t", a.type, False, level=1, temporary=True)
    out.append(Declare(held, a, loc))
    return Load(ElemPlace(VarPlace(held, a.type), e.indices, e.type), e.type)
