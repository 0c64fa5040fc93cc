"""@qd.func, @qd.pyfunc, @qd.real_func: functions callable from kernels."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable
from typing import NamedTuple

from quadrants import program_text
from quadrants.errors import QuadrantsSyntaxError
from quadrants.lang import kernel_hook, parameters
from quadrants.lang.annotations import RefType
from quadrants.lang.definitions import at_definition, refuse_async, require_function

EMPTY = inspect.Parameter.empty


class Derivative(NamedTuple):
    """How a func of one real argument is differentiated as a whole, by two other funcs:

    push(dual of the argument, *results, ...) -> duals of the results
    pull(*adjoints of the results, *results, ...) -> adjoint of the argument

    Behind these come parameters of the func itself by the same names, if they need them: the argument, then templates.
    """

    push: Func
    pull: Func


# What forgets the compiled kernels of a module, set by `quadrants.kernel`.
forget_kernels: Callable[[str], None] | None = None
_of_cells: set[str] = set()


def _forget_former(fn) -> None:
    """Of functions that a cell or console defines again, kernels compiled before must not run the former body."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if fn.__module__ != "__main__" or fn.__code__.co_filename == main or "<locals>" in fn.__qualname__:
        return
    if fn.__qualname__ in _of_cells and forget_kernels is not None:
        forget_kernels(fn.__module__)
    _of_cells.add(fn.__qualname__)


class Func:
    """A function of kernel scope. Nothing is compiled until a kernel calls it.

    `derivative`: None where what the body does is differentiated, statement by statement.
    """

    _qd_kind = "func"

    def __init__(self, fn, *, is_real_function=False, requires_top_level=False, python_scope=False):
        self.is_real_function = is_real_function
        self.requires_top_level = requires_top_level
        self.python_scope = python_scope
        self.derivative: Derivative | None = None
        require_function(fn, self.decorator)
        self.fn = fn
        functools.update_wrapper(self, fn)
        self.signature = inspect.signature(fn)
        self.receiver = receiver_of(fn)
        try:
            refuse_async(fn, self.decorator)
            self._annotations = resolve_annotations(fn)
            self._check_signature()
        except QuadrantsSyntaxError as error:
            raise at_definition(error, fn) from None
        if not python_scope and not kernel_hook.python_arch():
            program_text.require(fn)
        _forget_former(fn)

    @property
    def decorator(self) -> str:
        """What users write above the function."""
        return "@qd.real_func" if self.is_real_function else "@qd.pyfunc" if self.python_scope else "@qd.func"

    def annotation(self, name: str):
        """The resolved annotation of a parameter or of `return`; `inspect.Parameter.empty` if there is none."""
        return self._annotations.get(name, EMPTY)

    def _check_signature(self) -> None:
        for index, p in enumerate(self.signature.parameters.values()):
            if p.kind is not p.POSITIONAL_OR_KEYWORD:
                raise QuadrantsSyntaxError(
                    "Quadrants functions do not support *args, **kwargs, keyword-only or positional-only "
                    f"parameters: {p}. Write one parameter for each argument."
                )
            annotation = self.annotation(p.name)
            if annotation is EMPTY:
                if self.is_real_function and p.name != self.receiver:
                    raise QuadrantsSyntaxError(
                        f"Parameters of a @qd.real_func must be type annotated: '{p.name}' is not. Write "
                        f"`{p.name}: qd.f32` or another type."
                    )
            elif not (self.is_real_function and isinstance(annotation, RefType)):
                owner = self.decorator.partition(".")[2]
                known = parameters.is_known(annotation)
                parameters.check_annotation(annotation, index, p.name, owner, known)

    def __get__(self, instance, owner=None):
        return self if instance is None else BoundFunc(self, instance)

    def __call__(self, *args, **kwargs):
        from quadrants.lang import scope

        if scope.in_kernel():
            return scope.require().call_func(self, list(args), kwargs)
        if self.python_scope or kernel_hook.python_arch():
            return self.fn(*args, **kwargs)
        advice = "" if self.is_real_function else ", or decorate it with @qd.pyfunc"
        raise QuadrantsSyntaxError(
            "Quadrants functions cannot be called from Python-scope. "
            f"Call {self.fn.__name__} from a @qd.kernel{advice}."
        )

    def __reduce__(self):
        return self.fn.__qualname__  # pickled by name, like functions

    def __repr__(self) -> str:
        return f"<qd.func {self.fn.__qualname__}>"


class BoundFunc:
    """A func method with its instance."""

    __slots__ = ("func", "instance")

    def __init__(self, func, instance):
        self.func, self.instance = func, instance

    def of(self, instance) -> BoundFunc:
        """The method of another object."""
        return BoundFunc(self.func, instance)

    def __call__(self, *args, **kwargs):
        return self.func(self.instance, *args, **kwargs)


def receiver_of(fn) -> str:
    """The parameter that the object of a method comes in by, whatever its name; "" where there is none.

    It is the first one, without an annotation, of a function that is written in a class or calls it `self`.
    """
    code = fn.__code__
    first = code.co_varnames[0] if code.co_argcount else ""
    return first if first not in fn.__annotations__ and (in_class(fn) or first == "self") else ""


def in_class(fn) -> bool:
    """Whether a function is written in a class."""
    scopes = fn.__qualname__.split(".")
    return len(scopes) > 1 and scopes[-2] != "<locals>"


def resolve_annotations(fn) -> dict:
    """Annotations with strings evaluated in the defining module; fails at once, naming the parameter."""
    raw = dict(getattr(fn, "__annotations__", {}))
    if not any(isinstance(a, str) for a in raw.values()):
        return raw
    names = {}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
        with contextlib.suppress(ValueError):  # an enclosing function assigns the name later
            names[name] = cell.cell_contents
    out = {}
    for key, a in raw.items():
        if isinstance(a, str):
            try:
                a = eval(a, fn.__globals__, names)  # noqa: S307 - the user's own annotation text
            except Exception as error:
                raise QuadrantsSyntaxError(
                    f"Invalid type annotation in {fn.__qualname__}: {key}: {a!r} ({type(error).__name__}: {error})"
                ) from None
        out[key] = a
    return out


def func(fn=None, *, is_real_function=False, requires_top_level=False):
    """Make a function callable from kernels and other funcs.

    Args:
        fn: the function; its parameters may be annotated with dtypes, `qd.template()`, array and compound types.
        is_real_function: a true call with early returns and recursion; every parameter must be annotated.
        requires_top_level: calling it inside a run-time `for`, `if` or `while` is an error.

    Raises:
        QuadrantsSyntaxError: for *args, **kwargs, keyword-only or positional-only parameters.

        @qd.func
        def square(x):
            return x * x
    """
    if fn is None:
        return functools.partial(func, is_real_function=is_real_function, requires_top_level=requires_top_level)
    return Func(fn, is_real_function=is_real_function, requires_top_level=requires_top_level)


def differentiated_by(push: Func, pull: Func):
    """Decorator of a func: kernels are differentiated by way of its `Derivative`, and its body may hold anything."""

    def decorate(func: Func) -> Func:
        func.derivative = Derivative(push, pull)
        return func

    return decorate


def pyfunc(fn):
    """As `func` in kernels, and the plain function in Python scope.

    @qd.pyfunc
    def square(x):
        return x * x
    """
    return Func(fn, python_scope=True)


def real_func(fn):
    """`func(is_real_function=True)`.

    @qd.real_func
    def fib(n: qd.i32) -> qd.i32:
        if n < 2:
            return n
        return fib(n - 1) + fib(n - 2)
    """
    return Func(fn, is_real_function=True)
