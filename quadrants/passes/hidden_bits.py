"""Masks that a compiler does not know of, where it computes wrong places in memory from them.

x & 3       x & (3 + zero)      of a zero that only the device knows
"""

from __future__ import annotations

from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir.types import DType, u1
from quadrants.passes.hidden import hidden, rewrite


def hidden_bits(module: n.Module) -> n.Module:
    """Leave no constant in a bitwise `&` or `|`."""
    rewrite(module, _visit)
    return module


def _visit(x: Any) -> Any:
    if isinstance(x, n.Binary) and x.op in ("bit_and", "bit_or"):
        return n.Binary(x.op, _hidden(x.a), _hidden(x.b), x.type, x.loc, x.exact)
    return x


def _hidden(e: n.Expr) -> n.Expr:
    return hidden(e, "add", _is_mask)


def _is_mask(t: DType) -> bool:
    return t is not u1
