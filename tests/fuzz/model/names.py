"""Names that a function reads are those that it may see there, taken branch or not."""

from __future__ import annotations

import ast
import builtins

from .errors import Unmodelled

_BLOCKS = (ast.If, ast.For, ast.While)


def check(function: ast.FunctionDef, outer) -> None:
    """Raises Unmodelled for a name that no block around its use has declared. `outer`: names of the module."""
    names = {a.arg for a in function.args.args} | set(outer) | set(dir(builtins))
    _block(function.body, names)


def _block(body: list, names: set) -> None:
    visible = set(names)
    for s in body:
        _statement(s, visible)


def _statement(s, names: set) -> None:
    if isinstance(s, ast.With):
        _block(s.body, names)
        return
    if isinstance(s, _BLOCKS):
        inner = set(names)
        _expression(s.iter if isinstance(s, ast.For) else s.test, inner)
        if isinstance(s, ast.For):
            inner |= {n.id for n in ast.walk(s.target) if isinstance(n, ast.Name)}
        elif isinstance(s, ast.If):
            names |= inner - names
        _block(s.body, inner)
        _block(s.orelse, inner)
        return
    if isinstance(s, ast.AnnAssign):
        if s.value is not None:
            _expression(s.value, names)
        names |= _targets(s.target, names)
    elif isinstance(s, ast.Assign):
        _expression(s.value, names)
        for target in s.targets:
            names |= _targets(target, names)
    else:
        for child in ast.iter_child_nodes(s):
            _expression(child, names)


def _targets(target, names: set) -> set:
    if isinstance(target, ast.Name):
        return {target.id}
    if isinstance(target, (ast.Tuple, ast.List)):
        found: set = set()
        for one in target.elts:  # from left to right, each with those before it
            found |= _targets(one, names | found)
        return found
    _expression(target, names)
    return set()


def _expression(e, names: set) -> None:
    inner = names | {c.id for g in ast.walk(e) if isinstance(g, ast.comprehension) for c in [g.target]}
    for node in ast.walk(e):
        if isinstance(node, ast.NamedExpr):
            names.add(node.target.id)
            inner.add(node.target.id)
    for node in ast.walk(e):
        if isinstance(node, ast.Name) and node.id not in inner:
            raise Unmodelled(f"no name {node.id}")


def spelled(node) -> str:
    """The text of a call's function, `qd.static` for one; "" for what is no call."""
    if not isinstance(node, ast.Call):
        return ""
    known = getattr(node, "spelled", None)
    if known is None:
        known = node.spelled = ast.unparse(node.func)  # type: ignore[attr-defined]
    return known
