"""What failed checks tell, without f64, which the frontend casts their real numbers to."""

from __future__ import annotations

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import f32, f64


def failures_as_singles(module: n.Module) -> n.Module:
    """Have checks hand over real numbers as they are, and constants as f32."""
    for body in (*(task.body for task in module.tasks), *(f.body for f in module.functions)):
        for check in walk.only(body, (n.Check,)):
            check.values = tuple(map(_single, check.values))
    return module


def _single(e: n.Expr) -> n.Expr:
    if e.type is not f64:
        return e
    if isinstance(e, n.Const):
        return n.Const(e.value, f32)
    return e.a if isinstance(e, n.Cast) and not e.bits else e
