"""The one door from Python scope into kernel scope.

A plain Python helper called while a kernel is traced may hand run-time values to the very functions that compute with
NumPy on the host. Those functions look here first. The frontend fills the three slots at import; until then every
value is a host value and nothing is in a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quadrants.errors import QuadrantsRuntimeError

# (name, args, kwargs) -> result. `name` is a key of KERNEL_FUNCTIONS, "Vector", "Matrix", "Matrix.<method>" (args[0]
# is the receiver of an instance method), "compound_type" or "dtype" (args[0] is the type object that was called).
handler: Callable[[str, tuple, dict], Any] | None = None

# Class of the run-time values met while tracing.
value_class: type | None = None

# () -> bool: is a kernel being traced on this thread?
scope_check: Callable[[], bool] | None = None


def is_value(x: Any) -> bool:
    """True if `x` is a run-time value of a kernel under construction."""
    return value_class is not None and isinstance(x, value_class)


def has_value(args: Any) -> bool:
    """True if a run-time value is among `args`, at any depth of lists, tuples and dicts."""
    if value_class is None:
        return False
    for x in args:
        if isinstance(x, value_class):
            return True
        if isinstance(x, (list, tuple, dict)) and has_value(x.values() if isinstance(x, dict) else x):
            return True
    return False


def in_kernel() -> bool:
    """True while a kernel is traced on the calling thread."""
    return scope_check is not None and scope_check()


def python_arch() -> bool:
    """True after `qd.init(qd.python)`, when kernels run as the plain functions they are."""
    from quadrants import session

    return session.is_python_backend()


def dispatch(name: str, args: tuple, kwargs: dict | None = None) -> Any:
    """Let the frontend give `name(*args, **kwargs)` its kernel meaning."""
    if handler is None:
        raise QuadrantsRuntimeError(f"`{name}` met a run-time value, but no frontend is installed")
    return handler(name, args, kwargs or {})
