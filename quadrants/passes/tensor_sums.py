"""Functions for the operations on tensors that are sums of products, written out number by number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from quadrants.ir import nodes as n
from quadrants.ir.types import DType, TensorType, ValueType, element_dtype, i32, tensor

SUMS = frozenset(("sum", "norm_sqr", "dot", "trace", "cross", "outer", "matmul"))


def function_of(op: str, name: str, operands: Sequence[ValueType], result: ValueType) -> n.Function:
    """A function that does one of SUMS on values of these types."""
    params = [n.Var(letter, t) for letter, t in zip("ab", operands)]
    a, *rest = [_Numbers(v) for v in params]
    numbers = _products(op, a, rest[0] if rest else a)
    value = n.Make(tuple(numbers), result) if isinstance(result, TensorType) else numbers[0]
    return n.Function(name, params, [n.Return((value,))], (result,))


class _Numbers:
    """The elements of a variable by row and column; a vector is a column."""

    def __init__(self, var: n.Var) -> None:
        self.var = var
        self.type = tensor(var.type)
        self.dtype: DType = element_dtype(var.type)
        self.rows, self.columns = (*self.type.shape, 1)[:2]

    def __getitem__(self, at: tuple[int, int]) -> n.Expr:
        indices = tuple(n.Const(k, i32) for k in at[: len(self.type.shape)])
        return n.Elem(n.Load(n.VarPlace(self.var, self.type), self.type), indices, self.dtype)

    def all(self) -> list[n.Expr]:
        return [self[i, j] for i in range(self.rows) for j in range(self.columns)]


def _products(op: str, a: _Numbers, b: _Numbers) -> list[n.Expr]:
    """The numbers of the result, row by row."""
    if op == "sum":
        return [_total(a.all())]
    if op == "trace":
        return [_total([a[i, i] for i in range(a.rows)])]
    if op in ("dot", "norm_sqr"):
        return [_total([_binary("mul", x, y) for x, y in zip(a.all(), b.all())])]
    if op == "outer":
        return [_binary("mul", x, y) for x in a.all() for y in b.all()]
    if op == "cross":
        pairs = [(0, 1)] if a.rows == 2 else [(1, 2), (2, 0), (0, 1)]
        return [_binary("sub", _product(a, i, b, j), _product(a, j, b, i)) for i, j in pairs]
    if len(a.type.shape) == 1:  # a row from the left
        return [_total([_binary("mul", a[k, 0], b[k, j]) for k in range(a.rows)]) for j in range(b.columns)]
    return [
        _total([_binary("mul", a[i, k], b[k, j]) for k in range(a.columns)])
        for i in range(a.rows)
        for j in range(b.columns)
    ]


def _product(a: _Numbers, i: int, b: _Numbers, j: int) -> n.Expr:
    return _binary("mul", a[i, 0], b[j, 0])


def _total(terms: list[n.Expr]) -> n.Expr:
    return reduce(lambda x, y: _binary("add", x, y), terms)


def _binary(op: str, a: n.Expr, b: n.Expr) -> n.Binary:
    assert isinstance(a.type, DType)
    return n.Binary(op, a, b, a.type)
