"""The tracer is composed of parts with a declared surface: no mixins, no attribute that a class does not declare."""

from __future__ import annotations

import ast
import gc
from pathlib import Path

import pytest
from tree import ROOT, name, with_suffix

from quadrants.frontend.options import Options
from quadrants.frontend.tracer import Tracer
from quadrants.frontend.walker import Walker
from quadrants.lang.kernel_tracer import KernelTracer

FRONTEND = ROOT / "quadrants/frontend"
LANG = ROOT / "quadrants/lang"
# What hands out the tracer at work, besides variables that are called so.
GIVE_TRACER = ("scope.current", "scope.require", "at.tracer_of", "at.on_device", "at.in_block", "_on_cuda", "_tracer")


def _trees(folder: Path) -> dict:
    return {
        path: ast.parse(path.read_text(encoding="utf-8")) for path in with_suffix(".py") if path.is_relative_to(folder)
    }


def _classes(trees: dict) -> dict:
    return {n.name: n for t in trees.values() for n in ast.walk(t) if isinstance(n, ast.ClassDef)}


def _mixins(classes: dict) -> list:
    """Those of `classes` that inherit from another one."""
    bases = {name: [ast.unparse(b).split(".")[-1] for b in c.bases] for name, c in classes.items()}
    return [name for name, found in bases.items() if any(b in classes for b in found)]


def _targets(t: ast.AST):
    """The attributes that statements set."""
    for node in ast.walk(t):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
            yield node


def _is_tracer(node: ast.expr) -> bool:
    """Whether an expression stands for the tracer at work."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).removeprefix("self.").removeprefix("cls.") in GIVE_TRACER
    return isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node) in ("tracer", "self.tracer")


def _undeclared(t: ast.AST, tracer: Tracer) -> list:
    """What is set on a tracer from outside (`tracer.x = ..`), and on its parts (`tracer.part.x = ..`) undeclared."""
    found = []
    for node in _targets(t):
        if _is_tracer(node.value):
            found.append(ast.unparse(node))
        elif isinstance(node.value, ast.Attribute) and _is_tracer(node.value.value):
            part = getattr(tracer, node.value.attr, None)
            if node.attr not in getattr(type(part), "__slots__", ()):
                found.append(ast.unparse(node))
    return found


@pytest.fixture(scope="module")
def tracer():
    return Tracer(Options({}))


def test_mixins_are_found():
    found = _classes({"": ast.parse("class A: pass\nclass B: pass\nclass C(A, B): pass\nclass D(A, Exception): pass")})
    assert _mixins(found) == ["C", "D"]


def test_undeclared_attributes_are_found(tracer):
    text = "tracer.graph = 1\ntracer.flow.loop_config = 2\nself.tracer.flow.lop = 3\nscope.require().hint = 4\nx.y = 5"
    assert set(_undeclared(ast.parse(text), tracer)) == {"tracer.graph", "self.tracer.flow.lop", "scope.require().hint"}


def test_no_class_of_the_frontend_is_put_together_from_others():
    assert _mixins(_classes(_trees(FRONTEND))) == []


def test_nobody_sets_what_the_tracer_does_not_declare(tracer):
    found = {name(path): _undeclared(t, tracer) for path, t in _trees(ROOT / "quadrants").items()}
    assert {path: names for path, names in found.items() if names} == {}


def test_the_tracer_and_its_parts_have_slots_alone(tracer):
    """Setting another attribute is an error then, wherever it is done."""
    parts = [getattr(tracer, slot) for slot in Tracer.__slots__]
    parts = [part for part in parts if type(part).__module__.startswith("quadrants.frontend.")]
    assert len(parts) > 30
    assert [type(x).__name__ for x in (tracer, *parts) if hasattr(x, "__dict__")] == []


def test_a_closed_tracer_is_freed_with_its_last_reference():
    """So that arrays which a trace looked at live no longer than before."""

    def walkers():
        return sum(isinstance(x, Walker) for x in gc.get_objects())

    gc.collect()
    before = walkers()
    gc.disable()
    try:
        made = Tracer(Options({}))
        assert walkers() == before + 1
        made.close()
        del made
        assert walkers() == before
    finally:
        gc.enable()


def test_the_language_uses_what_it_declares():
    """`KernelTracer` says what quadrants.lang asks of the tracer, and the tracer has it."""
    declared = {name for name in (*KernelTracer.__annotations__, *vars(KernelTracer)) if not name.startswith("_")}
    used = {
        node.attr
        for t in _trees(LANG).values()
        for node in ast.walk(t)
        if isinstance(node, ast.Attribute) and _is_tracer(node.value)
    }
    assert used - declared == set()
    assert declared - used == set()
    assert [name for name in declared if not hasattr(Tracer, name)] == []
