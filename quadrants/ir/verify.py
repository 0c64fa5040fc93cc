"""Checks that hold for every well-formed module; a failure is a defect of the frontend or of a pass."""

from __future__ import annotations

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.adstack_heaps import ROWS
from quadrants.ir.printer import expr, place, type_text
from quadrants.ir.types import DType, StructType, TensorType, ValueType, element_dtype, i32, u1


class InvalidIR(AssertionError):
    """The IR breaks one of its own rules."""


def verify(module: n.Module) -> n.Module:
    """Raise InvalidIR, naming the node, unless types fit and every variable is declared before it is used."""
    known = {v.id for v in module.params} | {v.id for v in module.shared}
    for f in module.functions:
        _block(f.body, known | {p.id for p in f.params})
        _returns(f)
    if module.tasks:
        for t in module.tasks:
            inner = known | {ROWS.id, n.IDLE.id}
            for declare, _ in t.reductions:
                inner.add(declare.var.id)
            for declare in t.pre:
                _statement(declare, inner)
            if t.loop is not None:
                inner |= {v.id for v in t.loop.vars}
            if t.gate is not None:
                inner |= {t.gate.row.id, t.gate.rows.id}
            _block(t.body, inner)
    else:
        _block(module.body, known)
    return module


def _fail(text: str, node: n.Node) -> None:
    loc = getattr(node, "loc", None)
    raise InvalidIR(text + (f" (from {loc.file}:{loc.line})" if loc is not None else ""))


def _returns(f: n.Function) -> None:
    for node in walk.walk(f.body):
        if isinstance(node, n.Return):
            types = tuple(v.type for v in node.values)
            if types != f.result:
                _fail(f"{f.name} returns {types}, declared {f.result}", node)


def _block(body: list[n.Stmt], known: set[int]) -> None:
    known = set(known)
    for s in body:
        _statement(s, known)


def _statement(s: n.Stmt, known: set[int]) -> None:
    if isinstance(s, n.Declare):
        _expression(s.init, known, s)
        _same(s.var.type, s.init.type, s, s.var.name)
        known.add(s.var.id)
    elif isinstance(s, n.Store):
        _expression(s.value, known, s)
        _place(s.place, known, s)
        _same(s.place.type, s.value.type, s, place(s.place))
    elif isinstance(s, n.If):
        _condition(s.cond, known, s)
        _block(s.then, known)
        _block(s.orelse, known)
    elif isinstance(s, n.For):
        for pair in s.bounds:
            for e in pair:
                _expression(e, known, s)
        _block(s.body, known | {v.id for v in s.vars})
    elif isinstance(s, n.While):
        inner = set(known)
        for p in s.pre:
            _statement(p, inner)
        _condition(s.cond, inner, s)
        _block(s.body, inner)
    elif isinstance(s, n.Region):
        if s.flag is not None and (s.flag.type is not i32 or s.flag.ndim):
            _fail(f"the flag {s.flag.name} of a {s.kind} is no 0-d i32 array", s)
        _block(s.body, known)
    elif isinstance(s, n.Check):
        _condition(s.cond, known, s)
    elif isinstance(s, n.Eval):
        _expression(s.value, known, s)
    elif isinstance(s, n.Return):
        for e in s.values:
            _expression(e, known, s)
    elif isinstance(s, n.Print):
        for part in s.parts:
            if not isinstance(part, str):
                _expression(part[0], known, s)


def _same(want: ValueType, have: ValueType, node: n.Node, what: str) -> None:
    if want != have:
        _fail(f"{what} is {type_text(want)} but receives {type_text(have)}", node)


def _condition(e: n.Expr, known: set[int], node: n.Node) -> None:
    _expression(e, known, node)
    if e.type is not u1:
        _fail(f"a condition of type {type_text(e.type)}: {expr(e)}", node)


def _place(p: n.Place, known: set[int], node: n.Node) -> None:
    root = walk.root(p)
    if isinstance(root, n.VarPlace) and root.var.id not in known and not root.var.shared:
        _fail(f"{root.var.name} is used before it is declared", node)
    if isinstance(root, n.Cell) and len(root.indices) != root.array.ndim:
        _fail(f"{place(root)} needs {root.array.ndim} indices", node)


def _expression(e: n.Expr, known: set[int], node: n.Node) -> None:
    for x in walk.walk([e]):
        if isinstance(x, (n.VarPlace, n.Cell)):
            _place(x, known, node)
        elif isinstance(x, n.Binary) and x.op not in ("powi", "shl", "shr", "bit_shr"):
            a, b = element_dtype(x.a.type), element_dtype(x.b.type)
            if a is not b:
                _fail(f"operands of {x.op} differ in type: {expr(x)}: {a} and {b}", node)
        elif isinstance(x, n.Make):
            t = x.type
            assert isinstance(t, (TensorType, StructType))
            count = t.count if isinstance(t, TensorType) else len(t.members)
            if len(x.parts) != count:
                _fail(f"{type_text(t)} made from {len(x.parts)} parts", node)
        elif isinstance(x, n.Select) and not isinstance(x.cond.type, (DType, TensorType)):
            _fail(f"a choice by {type_text(x.cond.type)}", node)
