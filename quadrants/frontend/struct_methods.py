"""Methods of structs: funcs that get the struct itself, whatever their annotations say."""

from __future__ import annotations

from quadrants.lang.func import BoundFunc, Func


class Receiver:
    """The struct a method was called on: bound by reference."""

    __slots__ = ("value",)

    def __init__(self, value) -> None:
        self.value = value


def bind_struct_method(method, value) -> BoundFunc:
    """A method of a struct type, bound to a struct or the cell of a struct field."""
    func = method if isinstance(method, Func) else getattr(method, "_qd_func", None)
    if not isinstance(func, Func):
        func = Func(method)
    return BoundFunc(func, Receiver(value))
