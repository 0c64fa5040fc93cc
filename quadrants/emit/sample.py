"""A kernel made of IR by hand that has one of everything a skeleton can be asked to write.

float total = 0
for i, j in ndrange(n, 4):      x[i] = blend(x[i], random()); assert i >= 0; total += x[i]; print(i, x[i])
return total
"""

from __future__ import annotations

from typing import Any

from quadrants.emit import dialects
from quadrants.emit.render import render
from quadrants.ir import nodes as n
from quadrants.ir.types import f32, i32, u1


def rendered(dialect: str, template_path: Any = None) -> str:
    """The text of the sample kernel in a dialect, with the templates of a folder."""
    return render(module(), dialects.get(dialect), {"debug": True}, template_path).text


def module(prints: bool = True) -> n.Module:
    """The sample kernel, tasks already split; without `prints` it needs no memory for lines."""
    a, b, extent = n.Var("a", f32), n.Var("b", f32), n.Var("n", i32)
    i, j, total = n.Var("i", i32), n.Var("j", i32), n.Var("total", f32, mutable=True, shared=True)
    x = n.ArrayDecl("x", "array", f32, 1, number=0)
    cell = n.Slot(x, _load(i), f32)
    where = n.Loc((("sample.py", 1, "sample"),))
    product = n.Return((n.Binary("mul", _load(a), _load(b), f32),))
    blend = n.Function("blend", [a, b], [product], (f32,), doc="A product.")
    body: list[n.Stmt] = [
        n.Store(cell, n.Call(blend, (n.Load(cell, f32), n.Rand(f32)), f32), where),
        n.Check(n.Binary("ge", _load(i), n.Const(0, i32), u1), 0, (_load(i),), where),
        n.Eval(n.Atomic("add", n.VarPlace(total, f32), (n.Load(cell, f32),), f32), where),
        *([n.Print(((_load(i), ""), " ", (n.Load(cell, f32), ""), "\n"), where)] if prints else ()),
    ]
    bounds = ((n.Const(0, i32), _load(extent)), (n.Const(0, i32), n.Const(4, i32)))
    loop = n.For((i, j), bounds, body, parallel=True)
    first = n.Declare(total, n.Const(0.0, f32), where)
    last = n.Return((_load(total),), where)
    tasks = [
        n.Task("sample_0_serial", "serial", [first]),
        n.Task("sample_1_range_for", "range_for", body, loop),
        n.Task("sample_2_serial", "serial", [last]),
    ]
    return n.Module(
        "sample", [first, loop, last], [blend], [x], [extent], (f32,), [], tasks, [total], doc="One of everything."
    )


def _load(var: n.Var) -> n.Load:
    return n.Load(n.VarPlace(var, var.type), var.type)
