"""`Value`: a run-time scalar, small tensor or struct met while a kernel is traced.

A Value wraps one IR expression, and the place it was read from when it can be written. Operators build new
expressions through `lang.typed`, so plain Python functions called at trace time can compute with Values too.
"""

from __future__ import annotations

from quadrants.errors import QuadrantsTypeError
from quadrants.ir.types import StructType, TensorType


class Value:
    __slots__ = ("expr", "place", "immutable")

    # NumPy must not try to broadcast over a Value on its right.
    __array_ufunc__ = None

    def __init__(self, expr, place=None, immutable: str = ""):
        self.expr = expr
        self.place = place
        self.immutable = immutable

    @property
    def type(self):
        return self.expr.type

    @property
    def is_tensor(self) -> bool:
        return isinstance(self.expr.type, TensorType)

    @property
    def is_struct(self) -> bool:
        return isinstance(self.expr.type, StructType)

    @property
    def is_scalar(self) -> bool:
        return not isinstance(self.expr.type, (TensorType, StructType))

    @property
    def shape(self) -> tuple:
        t = self.expr.type
        return t.shape if isinstance(t, TensorType) else ()

    def __repr__(self) -> str:
        return "<qd.Expr>"

    def __bool__(self):
        raise QuadrantsTypeError(
            "A run-time value has no truth value while the kernel is traced; "
            "use `if`, `and`, `or`, `not` directly in kernel code, or make the value a compile-time constant."
        )

    def __index__(self):
        raise QuadrantsTypeError(
            "A run-time value was used where a compile-time integer is needed: pass it as an argument annotated with "
            "qd.template(), or write a constant."
        )

    __hash__ = object.__hash__

    def __len__(self) -> int:
        if self.is_tensor:
            return self.shape[0]
        raise QuadrantsTypeError(f"A value of type {self.type} has no length.")

    def __iter__(self):
        from quadrants.lang import access

        return iter(access.iterate(self))

    def __getitem__(self, key):
        from quadrants.lang import access

        return access.subscript(self, key if isinstance(key, tuple) else (key,))

    def __getattr__(self, name):
        if name.startswith("_") or name in ("as_value", "targets", "whole"):
            raise AttributeError(name)
        from quadrants.lang import access

        return access.attribute(self, name)

    def __matmul__(self, other):
        from quadrants.lang import tensor

        return tensor.matmul(self, other)

    def __rmatmul__(self, other):
        from quadrants.lang import tensor

        return tensor.matmul(other, self)


def _binary_method(op: str, swapped: bool):
    def method(self, other):
        from quadrants.lang import typed

        return typed.binary(op, other, self) if swapped else typed.binary(op, self, other)

    return method


def _unary_method(op: str):
    def method(self):
        from quadrants.lang import typed

        return typed.unary(op, self)

    return method


_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "floordiv": "floordiv", "mod": "mod", "pow": "pow",
    "and": "bit_and", "or": "bit_or", "xor": "bit_xor", "lshift": "shl", "rshift": "shr",
}  # fmt: skip
for _python, _op in _BINARY.items():
    setattr(Value, f"__{_python}__", _binary_method(_op, False))
    setattr(Value, f"__r{_python}__", _binary_method(_op, True))
for _python in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Value, f"__{_python}__", _binary_method(_python, False))
for _python, _op in {"neg": "neg", "invert": "bit_not", "abs": "abs"}.items():
    setattr(Value, f"__{_python}__", _unary_method(_op))
Value.__pos__ = lambda self: self
