"""Copies of expressions over other variables, and names that are unique in the text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import Any, overload

from quadrants.ir import walk
from quadrants.ir.names import extents_of, is_reserved
from quadrants.ir.nodes import (
    ArrayDecl,
    Cell,
    Declare,
    Expr,
    For,
    Function,
    If,
    Module,
    Node,
    Place,
    Slot,
    Stmt,
    Var,
    VarPlace,
    While,
)


@overload
def expression(e: Expr, env: dict[int, Var]) -> Expr: ...
@overload
def expression(e: Place, env: dict[int, Var]) -> Place: ...
def expression(e: Expr | Place, env: dict[int, Var]) -> Expr | Place:
    """`e`, an expression or place, with the variables that `env` (by id) gives for its own; itself where nothing
    changes.
    """
    if type(e) is not VarPlace:
        return walk.rebuilt(e, expression, env)
    var = env.get(e.var.id)
    return e if var is None or var is e.var else VarPlace(var, e.type)


def expressions(items: tuple[Expr, ...], env: dict[int, Var]) -> tuple[Expr, ...]:
    return tuple(expression(x, env) for x in items)


def block(body: list[Stmt], env: dict[int, Var]) -> list[Stmt]:
    """`body` with its statements over other variables; what they declare stays theirs."""
    for s in body:
        walk.update(s, _below, env)
    return body


def _below(x: Any, env: dict[int, Var]) -> Any:
    return block(x, env) if type(x) is list else expression(x, env)


def unique_names(body: list[Stmt], taken: Set[str], outer: Iterable[Var] = ()) -> None:
    """Rename the variables that `body` declares, so that no two have one name in nested blocks. outer: those that are
    there all the time.
    """
    owners = dict.fromkeys(taken, -1)
    for var in outer:
        _name(var, owners)
    _unique(body, owners)


def _unique(body: list[Stmt], owners: dict[str, int]) -> None:
    for s in body:
        if isinstance(s, Declare):
            _name(s.var, owners)
        elif isinstance(s, If):
            _unique(s.then, owners)
            _unique(s.orelse, owners)
        elif isinstance(s, For):
            inner = dict(owners)
            for var in s.vars:
                _name(var, inner)
            _unique(s.body, inner)
        elif isinstance(s, While):
            inner = dict(owners)
            _unique([*s.pre, *s.body], inner)


def _name(var: Var, owners: dict[str, int]) -> None:
    if var.shared:  # a member of the frame, where its name is unique
        return
    base, k = var.name, 1
    if is_reserved(base) and not base.startswith("qd_"):
        base = f"{base}_"
    name = base
    while owners.setdefault(name, var.id) != var.id:
        name, k = f"{base}_{k}", k + 1
    var.name = name


def avoid(module: Module, taken: Callable[[str], bool]) -> None:
    """Name the variables, arrays and functions of a kernel with names that are taken as no helper is."""
    found: list[Var | ArrayDecl | Function] = [*module.params, *module.shared, *module.arrays, *module.functions]
    for task in module.tasks:
        found += _named(walk.walk([task.pre, task.body, [*task.reductions]]))
        found += task.loop.vars if task.loop is not None else ()
    for function in module.functions:
        found += [*function.params, *_named(walk.walk(function.body))]
    for x in found:
        if taken(x.name):
            x.name = f"qd_{x.name}_"


def _named(nodes: Iterable[Node]) -> list[Var | ArrayDecl]:
    """The variables and arrays that nodes declare or mention."""
    found: list[Var | ArrayDecl] = []
    for node in nodes:
        if isinstance(node, (Declare, VarPlace)):
            found.append(node.var)
        elif isinstance(node, For):
            found += node.vars
        elif isinstance(node, (Slot, Cell)):
            found.append(node.array)
    return found


def names_of(module: Module) -> set[str]:
    """The names of a kernel's text that are no variables of a block."""
    names = {a.name for a in module.arrays} | {f.name for f in module.functions} | {v.name for v in module.params}
    for a in module.arrays:
        names |= extents_of(a.name)
    return names


def uses(body: list[Stmt]) -> set[int]:
    """Ids of the variables that a body or expression mentions."""
    return {place.var.id for place in walk.only(body, (VarPlace,))}
