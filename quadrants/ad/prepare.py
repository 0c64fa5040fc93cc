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
    MemberPlace,
    Select,
    Store,
    Unary,
    Var,
    VarPlace,
    While,
)
from quadrants.ir.types import StructType, TensorType, element_dtype

LOCAL_ATOMICS = {
    "add": "add", "sub": "sub", "mul": "mul", "min": "min", "max": "max", "and": "bit_and", "or": "bit_or",
    "xor": "bit_xor",
}  # fmt: skip


def prepare(body: list) -> list:
    """The same statements in differentiable form; nested blocks are replaced, expressions shared."""
    out: list = []
    for stmt in body:
        _statement(stmt, out)
    return out


def _statement(s, out: list) -> None:
    if isinstance(s, If):
        cond = value(s.cond, out)
        out.append(If(cond, prepare(s.then), prepare(s.orelse), s.loc))
    elif isinstance(s, For):
        s.body = prepare(s.body)
        out.append(s)
    elif isinstance(s, While):
        s.pre, s.body = prepare(s.pre), prepare(s.body)
        out.append(s)
    elif isinstance(s, (Declare, Eval)):
        e = s.var and s.init if isinstance(s, Declare) else s.value
        if isinstance(e, Atomic):
            _atomic(s, e, out)
        elif is_differentiated(e):
            out.append(Declare(s.var, Call(e.func, tuple(_held(a, out, s.loc) for a in e.args), e.type), s.loc))
        elif isinstance(s, Declare):
            out.append(Declare(s.var, value(e, out, s.loc), s.loc))
        else:
            out.append(Eval(value(e, out, s.loc), s.loc))
    elif isinstance(s, Store):
        out.append(Store(s.place, value(s.value, out, s.loc), s.loc))
    else:
        out.append(s)


def _atomic(s, e: Atomic, out: list) -> None:
    """A read-modify-write of a variable of this thread is an assignment."""
    args = tuple(value(a, out, s.loc) for a in e.args)
    var = walk.root_var(e.place)
    if var is None or e.op not in LOCAL_ATOMICS:
        again = Atomic(e.op, e.place, args, e.type)
        out.append(Declare(s.var, again, s.loc) if isinstance(s, Declare) else Eval(again, s.loc))
        return
    old = Load(e.place, e.type)
    if isinstance(s, Declare):
        out.append(Declare(s.var, old, s.loc))
        old = variable(s.var)
    out.append(Store(e.place, Binary(LOCAL_ATOMICS[e.op], old, args[0], e.type), s.loc))


def _held(a, out: list, loc):
    """An argument as a number, a variable or a cell."""
    a = value(a, out, loc)
    if isinstance(a, (Const, Load)):
        return a
    held = Var("t", a.type, False, level=1, temporary=True)
    out.append(Declare(held, a, loc))
    return variable(held)


# ---------------------------------------------------------------- expressions


def value(e, out: list, loc=None):
    """An expression in differentiable form; what it needs first is appended to `out`."""
    t = e.type
    if t is None or isinstance(t, StructType) or not element_dtype(t).is_real:
        return e
    if isinstance(e, Unary):
        a = value(e.a, out, loc)
        return e if a is e.a else Unary(e.op, a, t)
    if isinstance(e, Binary):
        a, b = value(e.a, out, loc), value(e.b, out, loc)
        return e if a is e.a and b is e.b else Binary(e.op, a, b, t, e.loc)
    if isinstance(e, Cast):
        if e.bits and isinstance(e.a, Cast) and e.a.bits and e.a.a.type == t:
            return value(e.a.a, out, loc)
        a = value(e.a, out, loc)
        return e if a is e.a else Cast(a, t, e.bits)
    if isinstance(e, (Make, MatOp)):
        return _several(e, out, loc)
    if isinstance(e, Select):
        return _select(e, out, loc)
    if isinstance(e, Elem):
        return _elem(e, out, loc)
    return e


def _several(e, out: list, loc):
    items = e.parts if isinstance(e, Make) else e.args
    made = tuple(value(p, out, loc) for p in items)
    if all(a is b for a, b in zip(made, items)):
        return e
    return Make(made, e.type) if isinstance(e, Make) else MatOp(e.op, made, e.type)


def _select(e: Select, out: list, loc):
    if not e.lazy or isinstance(e.cond.type, TensorType) or is_atom(e.a) and is_atom(e.b):
        a, b = value(e.a, out, loc), value(e.b, out, loc)
        return e if a is e.a and b is e.b else Select(e.cond, a, b, e.type, e.lazy)
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
    if isinstance(a, Load) and isinstance(a.place, (VarPlace, MemberPlace, ElemPlace)) or isinstance(a, Load):
        return Load(ElemPlace(a.place, e.indices, e.type), e.type)
    held = Var("t", a.type, False, level=1, temporary=True)
    out.append(Declare(held, a, loc))
    return Load(ElemPlace(VarPlace(held, a.type), e.indices, e.type), e.type)
