"""The walk that rewrites nodes: what is made anew, what stays, and what is changed where it is."""

from __future__ import annotations

import pytest

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import f32, i32, u1

pytestmark = pytest.mark.cpu_only
OLD, NEW = n.VarPlace(n.Var("old", f32), f32), n.VarPlace(n.Var("new", f32), f32)
WHERE = n.Loc((("file.py", 3, "k"),))


def renamed(x, seen: list):
    seen.append(x)
    if isinstance(x, list):
        for s in x:
            walk.update(s, renamed, seen)
        return x
    return NEW if x is OLD else walk.rebuilt(x, renamed, seen)


def test_expressions_are_made_anew_with_everything_else_kept():
    load = n.Load(OLD, f32)
    product = n.Binary("mul", load, n.Const(2.0, f32), f32, WHERE)
    made = renamed(n.Select(n.Const(1, u1), product, product, f32, False), [])
    assert isinstance(made, n.Select) and made.lazy is False and made.type is f32
    assert made.a.a.place is NEW and (made.a.op, made.a.loc, made.a.b) == ("mul", WHERE, product.b)
    assert load.place is OLD and product.a is load


def test_what_does_not_change_stays_the_same_object():
    other = n.Load(n.VarPlace(n.Var("other", f32), f32), f32)
    call = n.Call(n.Function("f", [], []), (other, n.Load(OLD, f32)), f32)
    made = renamed(call, [])
    assert made is not call and made.func is call.func and made.args[0] is other
    kept = n.Make((other, n.Const(1.0, f32)), f32)
    assert renamed(kept, []) is kept


def test_statements_are_changed_where_they_are():
    inner = n.Store(OLD, n.Load(OLD, f32), WHERE)
    loop = n.For((n.Var("i", i32),), ((n.Const(0, i32), n.Load(OLD, f32)),), [inner])
    stop = n.Break(loop)
    printed = n.Print(("x = ", (n.Load(OLD, f32), "%g"), (n.Const(1.0, f32), None)))
    choice = n.If(n.Const(1, u1), [loop], [printed, stop])
    seen: list = []
    renamed([choice], seen)
    assert stop.loop is loop and choice.then == [loop] and loop.body == [inner]
    assert inner.place is NEW and inner.value.place is NEW and inner.loc is WHERE
    ((begin, end),) = loop.bounds
    assert begin.value == 0 and end.place is NEW
    assert printed.parts[0] == "x = " and printed.parts[1][0].place is NEW and printed.parts[1][1] == "%g"
    blocks = [x for x in seen if isinstance(x, list)]
    assert [len(block) for block in blocks] == [1, 1, 1, 2]


def test_statements_are_walked_in_order_without_their_expressions():
    load = n.Load(OLD, f32)
    declare = n.Declare(n.Var("x", f32), load)
    inner, last, before, store = n.Comment("a"), n.Comment("b"), n.Comment("c"), n.Store(OLD, load)
    loop = n.While([before], n.Const(1, u1), [n.If(n.Const(1, u1), [inner], [store])])
    body = [declare, loop, last]
    found = list(walk.statements(body))
    assert found == [declare, loop, before, loop.body[0], inner, store, last]
    assert found == [x for x in walk.walk(body) if isinstance(x, (n.Declare, n.While, n.If, n.Store, n.Comment))]


def test_functions_are_walked_once_each_for_some_kinds_of_nodes():
    func = n.Function("f", [], [n.Eval(n.Rand(f32))])
    func.body.append(n.Eval(n.Call(func, (), f32)))
    calls = [n.Eval(n.Call(func, (n.Rand(f32),), f32)), n.Eval(n.Call(func, (), f32))]
    assert [type(x) for x in walk.with_functions(calls, (n.Rand,))] == [n.Call, n.Rand, n.Call, n.Rand, n.Call]
    assert list(walk.with_functions(calls, (n.Rand,))) == [
        x for x in walk.with_functions(calls) if isinstance(x, (n.Rand, n.Call))
    ]


def test_blocks_alone():
    body, pre = [n.Comment("a")], [n.Comment("b")]
    loop = n.While(pre, n.Load(OLD, f32), body)
    walk.update_blocks(loop, lambda block, more: [*block, more], n.Continue())
    assert [len(block) for block in walk.blocks(loop)] == [2, 2] and loop.pre[0] is pre[0] and loop.cond.place is OLD
    assert walk.blocks(n.Comment("c")) == []
