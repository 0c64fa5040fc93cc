"""The table of functions that have a kernel meaning, and the two ways to define one.

A public function exists once: users call it in both scopes, and the frontend recognises the object itself and gives
it its kernel meaning. What a body here computes is the meaning in Python scope.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from quadrants.errors import QuadrantsSyntaxError
from quadrants.lang import kernel_hook

F = TypeVar("F", bound=Callable)  # checkers and editors see the function that was written

KERNEL_FUNCTIONS: dict[str, Callable] = {}


def _register(name: str, public: Callable) -> Callable:
    if name in KERNEL_FUNCTIONS:
        raise ValueError(f"{name} is defined twice")
    KERNEL_FUNCTIONS[name] = public
    return public


def both_scopes(fn: F) -> F:
    """Define a function of both scopes; `fn` computes with host values, run-time values go to the frontend."""
    name = fn.__name__

    @functools.wraps(fn)
    def public(*args: Any, **kwargs: Any) -> Any:
        if kernel_hook.has_value(args) or (kwargs and kernel_hook.has_value(kwargs.values())):
            return kernel_hook.dispatch(name, args, kwargs)
        return fn(*args, **kwargs)

    return cast(F, _register(name, public))


def kernel_only(fn: F) -> F:
    """Define a function of kernel scope; `fn` gives name, signature and docstring. Host calls: AssertionError."""
    return _kernel_scope(fn, lambda name: AssertionError(f"{name} cannot be called in Python-scope"))


def kernel_only_draw(fn: F) -> F:
    """As `kernel_only` for functions that draw random numbers. Host calls: QuadrantsSyntaxError."""
    return _kernel_scope(
        fn,
        lambda name: QuadrantsSyntaxError(
            f"{name} cannot be called in Python-scope: it needs a kernel. Use numpy.random on the host."
        ),
    )


def kernel_only_on_target(fn: F) -> F:
    """As `kernel_only` for functions whose first operand is a place in memory. Host calls: QuadrantsSyntaxError."""
    return _kernel_scope(
        fn,
        lambda name: QuadrantsSyntaxError(
            f"cannot use a non-writable target as the first operand of '{name}'. It works in kernels, on an element of "
            "a field or ndarray; in Python scope read and write the element"
        ),
    )


def _kernel_scope(fn: F, error: Callable[[str], Exception]) -> F:
    name = fn.__name__

    @functools.wraps(fn)
    def public(*args: Any, **kwargs: Any) -> Any:
        if kernel_hook.in_kernel() or kernel_hook.has_value(args) or kernel_hook.has_value(kwargs.values()):
            return kernel_hook.dispatch(name, args, kwargs)
        if kernel_hook.python_arch():
            from quadrants.lang import python_arch

            return python_arch.call(name, args, kwargs)
        raise error(name)

    return cast(F, _register(name, public))
