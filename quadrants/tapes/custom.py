"""Gradients written by hand: grad_replaced, grad_for, no_grad."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from quadrants._ext.core import Launcher
from quadrants.errors import QuadrantsRuntimeError
from quadrants.tapes import recording


class ReplacedFunction:
    """A Python function that tapes record as one step, in place of the kernels it calls.

    `grad` is the function that computes its gradient, called with the same arguments. As a class attribute it binds
    like a function, and its gradient with it.
    """

    def __init__(self, func: Callable) -> None:
        functools.update_wrapper(self, func)
        self._func = func
        self._gradient = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        listener = recording.active()
        if not recording.is_tape(listener):
            return self._func(*args, **kwargs)
        self.admit(listener, args)
        with listener.replaced(_Call(self, kwargs) if kwargs else self, args):
            return self._func(*args, **kwargs)

    def grad(self, *args, **kwargs):
        """Call the registered gradient. `RuntimeError` if there is none."""
        if self._gradient is None:
            name = self.__qualname__
            raise QuadrantsRuntimeError(
                f"Primal function `{name}` has no gradient. Write one and decorate it with @qd.ad.grad_for({name}), or "
                f"use @qd.ad.no_grad instead of grad_replaced."
            )
        return self._gradient(*args, **kwargs)

    def admit(self, listener: Any, args: tuple) -> None:
        """Raises where that tape cannot record the call."""

    def restored(self, args: tuple) -> Any:
        """Fields and arrays that the gradient of a call brings back as a whole; None: whatever the call overwrote."""
        return None

    def refuse_part(self) -> None:
        """`RuntimeError`, unless the gradient does nothing: a call raised after kernels had run in it."""
        if self._gradient is not _nothing:
            raise QuadrantsRuntimeError(
                f"`{self.__qualname__}` raised an error after kernels had run in it, and the tape goes on: what its "
                "gradient should be is unknown. Catch the error inside of the function, or leave the tape."
            )

    def __get__(self, instance, owner):
        return self if instance is None else BoundReplaced(self, instance)

    def __repr__(self) -> str:
        return f"<{self.__qualname__} with a gradient of its own>"


class BoundReplaced(functools.partial):
    """A `ReplacedFunction` that is a method, bound to an instance."""

    @property
    def __func__(self) -> ReplacedFunction:
        return self.func

    @property
    def __self__(self):
        return self.args[0]

    def grad(self, *args, **kwargs):
        """Call the registered gradient. `RuntimeError` if there is none."""
        return self.func.grad(*self.args, *args, **kwargs)

    def __getattr__(self, name: str):
        return getattr(self.func, name)


class _Call:
    """A call with keyword arguments, as tapes record it: its gradient gets the keywords too."""

    def __init__(self, replaced: ReplacedFunction, kwargs: dict):
        self.replaced = replaced
        self.kwargs = kwargs

    def __call__(self, *args):
        return self.replaced(*args, **self.kwargs)

    def grad(self, *args):
        """Call the gradient with the keywords of the call."""
        return self.replaced.grad(*args, **self.kwargs)

    def restored(self, args: tuple) -> Any:
        """As that of the function."""
        return self.replaced.restored(args)

    def refuse_part(self) -> None:
        """As that of the function."""
        self.replaced.refuse_part()


def grad_replaced(func: Callable) -> Any:
    """Have tapes record `func` as a whole; its gradient is the function registered with `grad_for(func)`.

    func: a Python function or method that calls kernels. Its return value is passed on. The kernels it calls are not
    recorded and not validated.

        @qd.ad.grad_replaced
        def forward(): ...
    """
    return ReplacedFunction(func)


def grad_for(primal: Any) -> Callable:
    """Register the decorated function as the gradient of `primal`; it is called with the arguments of the call.

    primal: a function decorated with `grad_replaced` that has no gradient yet. `RuntimeError` for anything else.

        @qd.ad.grad_for(forward)
        def forward_grad(): ...
    """
    if isinstance(primal, (BoundReplaced, staticmethod, classmethod)):
        primal = primal.__func__
    if isinstance(primal, Launcher):
        raise QuadrantsRuntimeError(
            "Primal function must be a **python** function instead of a quadrants kernel. Wrap the kernel in a Python "
            "function decorated with @qd.ad.grad_replaced."
        )
    name = getattr(primal, "__qualname__", repr(primal))
    if not isinstance(primal, ReplacedFunction):
        raise QuadrantsRuntimeError(f"Primal function `{name}` must be decorated by qd.ad.grad_replaced")
    if primal._gradient is not None:
        raise QuadrantsRuntimeError(f"Primal function `{name}` has a gradient already")

    def register(func):
        primal._gradient = func
        return func

    return register


def no_grad(func: Callable) -> Callable:
    """Have tapes record `func` as a step whose gradient does nothing: what it computes counts as constant.

    @qd.ad.no_grad
    def report(): ...
    """
    replaced = ReplacedFunction(func)
    replaced._gradient = _nothing
    return replaced


def _nothing(*args, **kwargs) -> None:
    pass
