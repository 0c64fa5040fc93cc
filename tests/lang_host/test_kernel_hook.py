"""Run-time values met in Python scope go to the frontend."""

import pytest

from quadrants import types
from quadrants.ir.types import f32, i32
from quadrants.lang import kernel_functions as qd
from quadrants.lang import kernel_hook
from quadrants.lang.matrix import Matrix, Vector
from quadrants.lang.struct import Struct


class FakeValue:
    def __radd__(self, other):
        return ("radd", other)

    def __rmatmul__(self, other):
        return ("rmatmul", other)


@pytest.fixture
def calls(monkeypatch):
    seen = []

    def handler(name, args, kwargs):
        seen.append((name, args, kwargs))
        return name

    monkeypatch.setattr(kernel_hook, "handler", handler)
    monkeypatch.setattr(kernel_hook, "value_class", FakeValue)
    monkeypatch.setattr(kernel_hook, "scope_check", None)
    return seen


X = FakeValue()
VEC3 = types.vector(3, f32)
PAIR = types.struct(a=i32, p=VEC3)


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda: qd.sin(X), "sin"),
        (lambda: qd.max(1, X), "max"),
        (lambda: qd.floor(X, dtype=i32), "floor"),
        (lambda: qd.atomic_add(X, 1), "atomic_add"),
        (lambda: qd.zero(X), "zero"),
        (lambda: qd.static([X]), "static"),
        (lambda: Vector([1, X]), "Vector"),
        (lambda: Matrix([[1, X]]), "Matrix"),
        (lambda: Matrix.rows([[1, X]]), "Matrix.rows"),
        (lambda: Matrix.diag(2, X), "Matrix.diag"),
        (lambda: VEC3(1, [X, 2]), "compound_type"),
        (lambda: PAIR(a=X), "compound_type"),
        (lambda: PAIR(p=[X, 1, 2]), "compound_type"),
        (lambda: Struct(a={"b": X}), "Struct"),
        (lambda: f32(X), "dtype"),
        (lambda: Vector([1, 2]).dot(X), "Matrix.dot"),
        (lambda: Vector([1, 2])[X], "Matrix.__getitem__"),
    ],
)
def test_dispatch(calls, call, name):
    assert call() == name
    assert [seen[0] for seen in calls] == [name]


def test_operators_leave_it_to_the_value(calls):
    v = Vector([1, 2])
    assert v + X == ("radd", v) and v @ X == ("rmatmul", v)


def test_everything_of_kernel_scope_goes_there_while_tracing(calls, monkeypatch):
    monkeypatch.setattr(kernel_hook, "scope_check", lambda: True)
    results = [Vector([1]), VEC3(1), Struct(a=1), PAIR(), Matrix.zero(f32, 3), qd.zero(1), Matrix.diag(2, 1)]
    assert results == ["Vector", "compound_type", "Struct", "compound_type", "Matrix.zero", "zero", "Matrix.diag"]
    assert qd.sin(0.0) == 0.0


def test_no_frontend(monkeypatch):
    monkeypatch.setattr(kernel_hook, "handler", None)
    monkeypatch.setattr(kernel_hook, "value_class", FakeValue)
    with pytest.raises(RuntimeError, match="no frontend"):
        qd.sin(X)
