"""The arguments of a launch, as they were: its derivative is compiled or runs later, when Python may have changed them.

Numbers, vectors, matrices and structs are passed by value and kept as copies. Attributes that the kernel reads are put
back while the derivative runs. The contents of arrays and fields are no arguments: `tapes.watch` looks after them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from quadrants.ad.overrides import Assignment, Override, attribute
from quadrants.errors import QuadrantsRuntimeError

if TYPE_CHECKING:
    from quadrants._ext.core import Plan
    from quadrants.runtime.interface import Kernel

Path = tuple[str, ...]  # the names of the attributes on the way
Place = tuple[int, Path]  # a parameter, and from there

_NUMBERS = (bool, int, float)
_TEXTS = (str, bytes, np.generic)


class Arguments:
    """What one launch of `kernel` got as `args`."""

    def __init__(self, kernel: Kernel, args: tuple[Any, ...]):
        by_value = kernel.by_value
        self.values = tuple(_kept(x, by_value[k]) for k, x in enumerate(args))
        plan = kernel.plan_of(args)
        self._token_of = kernel.member_token
        self._attributes = _attributes(plan, args)
        self._containers = [
            (param, path, token) for param, path, token in plan.members if _is_container(_resolve(args[param], path))
        ]

    @contextmanager
    def put_back(self) -> Iterator[tuple[Any, ...]]:
        """The positional arguments, with the attributes that they had. `QuadrantsRuntimeError` if one cannot be set."""
        with ExitStack() as undo:
            for (param, path), (value, leaf) in self._attributes:
                owner = _resolve(self.values[param], path[:-1])
                if not _same(attribute(owner, path[-1]), value):
                    _set(undo, owner, path, value, leaf)
            for param, path, token in self._containers:
                if token and self._token_of(_resolve(self.values[param], path)) != token:
                    raise _other_contents(path)
            yield self.values


def as_compiled(kernel: Kernel, args: tuple[Any, ...]) -> AbstractContextManager[tuple[Any, ...]]:
    """`args`, to compile `kernel` for: numbers that are constants of the kernel or of one of its derivatives, compiled
    for them before, are what they were then. `QuadrantsRuntimeError` if one cannot be set.
    """
    for version in kernel.versions():
        plan = version.known_plan_of(args)
        if plan is not None:
            return Arguments(version, args).put_back() if _are_others(plan, args) else nullcontext(args)
    return nullcontext(args)


def _are_others(plan: Plan, args: tuple[Any, ...]) -> bool:
    """Whether a plan that was compiled now would have other constants, or an integer for a real number."""
    constants = [(param, path, constant) for param, path, constant in plan.attributes if constant is not None]
    changed = any(not _same(_found(args[param], path), constant) for param, path, constant in constants)
    return changed or any(type(_found(args[param], path)) is not float for param, path in plan.reals)


def _attributes(plan: Plan, args: tuple[Any, ...]) -> list[tuple[Place, tuple[Any, bool]]]:
    """((parameter, path), (value, whether the kernel reads it)) of what a launch reads off its arguments, and of the
    objects on the way there, which are before it. Numbers that the code has stay those of the code.
    """
    found: dict[Place, tuple[Any, bool]] = {}
    constants = {(param, path): constant for param, path, constant in plan.attributes if constant is not None}
    places = [*plan.members, *((param, path, None) for param, path, _ in plan.attributes)]
    for param, path, token in places:
        for depth in range(1, len(path) + 1):
            leaf = depth == len(path)
            if leaf and (param, path) in constants:
                continue  # there may be none now
            value = _resolve(args[param], path[:depth])
            if leaf or (param, path[:depth]) not in found:
                found[param, path[:depth]] = (_kept(value, leaf and token == 0), leaf)
    found.update({place: (constant, True) for place, constant in constants.items()})
    for place in plan.reals:
        value, leaf = found[place]
        found[place] = (float(value), leaf)  # else the derivative, compiled for an integer, would count in integers
    return sorted(found.items(), key=lambda item: len(item[0][1]))


def _resolve(x: Any, path: Path) -> Any:
    for name in path:
        x = getattr(x, name)
    return x


def _found(x: Any, path: Path) -> Any:
    """The same, MISSING where there is none now."""
    for name in path:
        x = attribute(x, name)
    return x


def _kept(x: Any, by_value: bool) -> Any:
    """What stays as it is now."""
    if _is_compound(x) or by_value and not isinstance(x, _NUMBERS):
        return x.detach().clone() if hasattr(x, "detach") else copy.deepcopy(x)
    return _copied(x) if _is_container(x) else x


def _is_container(x: Any) -> bool:
    return type(x) in (list, tuple, dict)


def _copied(x: Any, above: tuple[Any, ...] = ()) -> Any:
    """A container of its own with the same things in it, at any depth; where it is in itself it stays what it is."""
    if not _is_container(x) or any(x is outer for outer in above):
        return x
    if type(x) is dict:
        return {key: _copied(item, (*above, x)) for key, item in x.items()}
    return type(x)(_copied(item, (*above, x)) for item in x)


def _other_contents(path: Path) -> QuadrantsRuntimeError:
    return QuadrantsRuntimeError(
        f"The gradient of a tape needs what objects in '{'.'.join(path)}' held in the launch, and they hold other "
        "fields now. Keep them until the tape ends, or make the objects attributes of their own."
    )


def _is_compound(x: Any) -> bool:
    return bool(getattr(x, "_qd_host_matrix", False) or getattr(x, "_qd_host_struct", False))


def _same(now: Any, then: Any) -> bool:
    if now is then:
        return True
    # A property makes a new number each time. Texts tell 0.0 from -0.0, and NaN is NaN.
    if type(now) is type(then) is dict:
        return list(now) == list(then) and all(_same(now[key], then[key]) for key in then)
    if type(now) is type(then) and _is_container(then):
        return len(now) == len(then) and all(map(_same, now, then))
    if type(now) is type(then) is np.ndarray:
        return (now.dtype, now.shape, now.tobytes()) == (then.dtype, then.shape, then.tobytes())
    if type(now) is type(then) and _is_compound(then):
        return _same(_contents(now), _contents(then))
    return type(now) is type(then) and isinstance(now, (*_NUMBERS, *_TEXTS)) and repr(now) == repr(then)


def _contents(x: Any) -> Any:
    return x.to_numpy() if getattr(x, "_qd_host_matrix", False) else x.entries


def _set(undo: ExitStack, owner: Any, path: Path, value: Any, leaf: bool) -> None:
    """Give `owner` the attribute that is last in the path, until `undo`. A property cannot be assigned: then the class
    answers. What the kernel does not read itself need not be the same, if what is read of it is.
    """
    name = path[-1]
    assignment = Assignment(owner, name, attribute(owner, name))
    undo.callback(assignment.undo)  # before it is done: Ctrl-C must not leave it
    why = "what is assigned is not what it gives"
    try:
        assignment.put(value)
    except AttributeError as error:
        why = str(error)
        override = Override(owner, name, value)
        undo.callback(override.remove)
        override.put()
    now = attribute(owner, name)
    number = isinstance(value, (*_NUMBERS, np.generic)) or _is_compound(value)
    if leaf and not _same(now, value) and not (number and np.array_equal(now, value)):
        raise QuadrantsRuntimeError(
            f"The derivative of a kernel needs the attribute '{'.'.join(path)}' as it was in the launch, and it cannot "
            f"be put back: {why}. Make it a plain attribute, pass the value as an argument of the kernel, or "
            "keep it the same until the derivative ran."
        )
