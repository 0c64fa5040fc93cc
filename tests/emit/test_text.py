"""Operands reach a text through the constructors of `emit.text` and in no other way."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import quadrants.emit
from quadrants.emit import text as t_

FOLDER = Path(quadrants.emit.__file__).parent
# What may stand beside a whole expression: it ends one part of a statement and begins the next.
BEFORE = ("", "(", "= ", ", ", "; ", "return ", "[", "{")
AFTER = ("", ";", ")", ",", ";)", "; ", ") ", "]", "}")
# Where operands of known precedence become data of a template.
PLACED = {("prologue.py", "_axis"), ("adstack_rows.py", "_stack"), ("printer.py", "literal")}


def modules() -> list[Path]:
    return [path for path in sorted(FOLDER.rglob("*.py")) if path.name != "text.py"]


def test_a_text_cannot_be_formatted():
    total = t_.infix("+", t_.ADD, t_.name("a"), t_.name("b"))
    for use in (lambda: f"{total} * 2", lambda: str(total), lambda: f"{total}", lambda: "".join(["x", total])):
        with pytest.raises(TypeError):
            use()


def embedded(tree: ast.AST):
    """(text in front, expression, text behind) of everything that is formatted into a string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            values = ["", *[v.value if isinstance(v, ast.Constant) else v for v in node.values], ""]
            for before, value, after in zip(values, values[1:], values[2:]):
                if isinstance(value, ast.FormattedValue):
                    yield (before if isinstance(before, str) else "?"), value.value, after


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.name)
def test_only_whole_expressions_are_formatted(path):
    for before, value, after in embedded(ast.parse(path.read_text())):
        if isinstance(value, ast.Attribute) and value.attr == "bare":
            where = f"{path.name}:{value.lineno}"
            assert before.endswith(BEFORE[1:]) or before == "", where
            assert isinstance(after, str) and after.startswith(AFTER[1:]) or after == "", where


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.name)
def test_operands_are_placed_by_constructors_alone(path):
    for function in ast.walk(ast.parse(path.read_text())):
        if not isinstance(function, ast.FunctionDef) or (path.name, function.name) in PLACED:
            continue
        for node in ast.walk(function):
            placed = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "at"
            assert not placed, f"{path.name}:{node.lineno}"


def test_constructors_parenthesise():
    a, b, c = map(t_.name, "abc")
    total = t_.infix("+", t_.ADD, a, b)
    assert t_.infix("*", t_.MUL, total, c).bare == "(a + b) * c"
    assert t_.infix("-", t_.ADD, c, total).bare == "c - (a + b)"
    assert t_.prefix("-", t_.prefix("-", a)).bare == "-(-a)"
    assert t_.cast("int32_t", total).bare == "(int32_t)(a + b)"
    assert t_.component(total, t_.infix("&", t_.BAND, b, c)).bare == "(a + b).v[b & c]"
    assert t_.select(t_.select(a, b, c), total, t_.select(a, b, c)).bare == "(a ? b : c) ? a + b : a ? b : c"
    assert t_.address(t_.pointed(a)).bare == "a"
    assert t_.pointed(t_.address(t_.element(a, total))).bare == "(*&a[a + b])"
    assert t_.call("f", t_.select(a, b, c), total).bare == "f(a ? b : c, a + b)"
