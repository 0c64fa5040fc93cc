"""Copies of expressions over other variables, and names that are unique in the text."""

from __future__ import annotations

from quadrants.ir import walk
from quadrants.ir.names import RESERVED
from quadrants.ir.nodes import (
    Atomic,
    Binary,
    Builtin,
    Call,
    Cast,
    Cell,
    Check,
    Declare,
    Elem,
    ElemPlace,
    Eval,
    For,
    If,
    Load,
    Make,
    MatOp,
    Member,
    MemberPlace,
    Print,
    Select,
    Store,
    Unary,
    Var,
    VarPlace,
    Volatile,
    While,
)


def expression(e, env: dict):
    """`e` with the variables that `env` (by id) gives for its own; itself where nothing changes."""
    kind = type(e)
    if kind is Load:
        p = place(e.place, env)
        return e if p is e.place else Load(p, e.type)
    if kind is Binary:
        a, b = expression(e.a, env), expression(e.b, env)
        return e if a is e.a and b is e.b else Binary(e.op, a, b, e.type, e.loc)
    if kind is Unary:
        a = expression(e.a, env)
        return e if a is e.a else Unary(e.op, a, e.type)
    if kind is Cast:
        a = expression(e.a, env)
        return e if a is e.a else Cast(a, e.type, e.bits)
    if kind is Select:
        c, a, b = expression(e.cond, env), expression(e.a, env), expression(e.b, env)
        return e if c is e.cond and a is e.a and b is e.b else Select(c, a, b, e.type, e.lazy)
    if kind is Make:
        parts = expressions(e.parts, env)
        return e if parts is e.parts else Make(parts, e.type)
    if kind is MatOp:
        args = expressions(e.args, env)
        return e if args is e.args else MatOp(e.op, args, e.type)
    if kind is Elem:
        a, at = expression(e.a, env), expressions(e.indices, env)
        return e if a is e.a and at is e.indices else Elem(a, at, e.type)
    if kind is Member:
        a = expression(e.a, env)
        return e if a is e.a else Member(a, e.name, e.type)
    if kind is Call:
        args = tuple(place(a, env) if not hasattr(a, "op") and _is_place(a) else expression(a, env) for a in e.args)
        return Call(e.func, args, e.type)
    if kind is Builtin:
        return Builtin(e.name, e.type, expressions(e.args, env))
    if kind is Volatile:
        return Volatile(place(e.place, env), e.type)
    return e


def expressions(items: tuple, env: dict) -> tuple:
    made = tuple(expression(x, env) for x in items)
    return items if all(a is b for a, b in zip(made, items)) else made


def _is_place(x) -> bool:
    return isinstance(x, (VarPlace, Cell, ElemPlace, MemberPlace))


def place(p, env: dict):
    """A place over other variables."""
    if isinstance(p, VarPlace):
        var = env.get(p.var.id)
        return p if var is None or var is p.var else VarPlace(var, p.type)
    if isinstance(p, Cell):
        at = expressions(p.indices, env)
        return p if at is p.indices else Cell(p.array, at, p.type)
    base = place(p.base, env)
    if isinstance(p, ElemPlace):
        at = expressions(p.indices, env)
        return p if base is p.base and at is p.indices else ElemPlace(base, at, p.type)
    return p if base is p.base else MemberPlace(base, p.name, p.type)


def block(body: list, env: dict) -> list:
    """Statements over other variables; what they declare stays theirs."""
    if not env:
        return body
    out = []
    for s in body:
        if isinstance(s, Declare):
            s.init = _value(s.init, env)
        elif isinstance(s, Store):
            s.place, s.value = place(s.place, env), _value(s.value, env)
        elif isinstance(s, Eval):
            s.value = _value(s.value, env)
        elif isinstance(s, If):
            s.cond, s.then, s.orelse = expression(s.cond, env), block(s.then, env), block(s.orelse, env)
        elif isinstance(s, For):
            s.bounds, s.body = tuple(expressions(pair, env) for pair in s.bounds), block(s.body, env)
        elif isinstance(s, While):
            s.pre, s.cond, s.body = block(s.pre, env), expression(s.cond, env), block(s.body, env)
        elif isinstance(s, Check):
            s.cond, s.values = expression(s.cond, env), expressions(s.values, env)
        elif isinstance(s, Print):
            s.parts = tuple(p if isinstance(p, str) else (expression(p[0], env), *p[1:]) for p in s.parts)
        out.append(s)
    return out


def _value(e, env: dict):
    if isinstance(e, Atomic):
        return Atomic(e.op, place(e.place, env), expressions(e.args, env), e.type, e.plain)
    return expression(e, env)


def unique_names(body: list, taken: set) -> None:
    """Rename the variables that `body` declares, so that no name is declared twice in nested blocks."""
    names = set(taken)
    for s in body:
        if isinstance(s, Declare):
            _name(s.var, names)
        elif isinstance(s, If):
            unique_names(s.then, names)
            unique_names(s.orelse, names)
        elif isinstance(s, For):
            inner = set(names)
            for var in s.vars:
                _name(var, inner)
            unique_names(s.body, inner)
        elif isinstance(s, While):
            inner = set(names)
            unique_names([*s.pre, *s.body], inner)


def _name(var: Var, names: set) -> None:
    base, k = var.name, 1
    if base.startswith("qd_"):
        return
    if base in RESERVED:
        base = f"{base}_"
    name = base
    while name in names:
        name, k = f"{base}_{k}", k + 1
    var.name = name
    names.add(name)


def names_of(module) -> set:
    """The names of a kernel's text that are no variables of a block."""
    names = {a.name for a in module.arrays} | {f.name for f in module.functions} | {v.name for v in module.params}
    for a in module.arrays:
        names |= {f"{a.name}_shape{k}" for k in range(a.ndim)}
    return names


def uses(body) -> set:
    """Ids of the variables that a body or expression mentions."""
    return {node.var.id for node in walk.walk(body) if isinstance(node, VarPlace)}
