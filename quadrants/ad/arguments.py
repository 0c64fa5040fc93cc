"""The arguments of a recorded launch, as they were: its derivative runs later, when Python may have changed them.

Numbers, vectors, matrices and structs are passed by value and kept as copies. Attributes that the kernel reads are put
back while the derivative runs. The contents of arrays and fields are no arguments: `ad.watch` looks after them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from quadrants.errors import QuadrantsRuntimeError

_MISSING = object()
_NUMBERS = (bool, int, float)


class Arguments:
    """What one launch of `kernel` got as `args`."""

    def __init__(self, kernel, args: tuple):
        by_value = kernel.by_value
        self.values = tuple(_kept(x, by_value[k]) for k, x in enumerate(args))
        plan = kernel.plan_of(args)
        self._token_of = kernel.member_token
        self._attributes = _attributes(plan, args)
        self._containers = [
            (param, path, token) for param, path, token in plan.members if _is_container(_resolve(args[param], path))
        ]

    @contextmanager
    def put_back(self) -> Iterator[tuple]:
        """The positional arguments, with the attributes that they had. `QuadrantsRuntimeError` if one cannot be set."""
        changed: list = []
        try:
            for (param, path), (value, leaf) in self._attributes:
                owner, name = _resolve(self.values[param], path[:-1]), path[-1]
                now = getattr(owner, name, _MISSING)
                if not _same(now, value):
                    inherited = _is_inherited(owner, name, now)
                    if _set(owner, path, value, leaf):
                        changed.append((owner, name, _MISSING if inherited else now))
            for param, path, token in self._containers:
                if token and self._token_of(_resolve(self.values[param], path)) != token:
                    raise _other_contents(path)
            yield self.values
        finally:
            for owner, name, now in reversed(changed):
                if now is _MISSING:
                    delattr(owner, name)
                else:
                    setattr(owner, name, now)


def _attributes(plan, args: tuple) -> list:
    """((parameter, path), (value, whether the kernel reads it)) of what a launch reads off its arguments, and of the
    objects on the way there, which are before it. Numbers that the code has stay those of the code.
    """
    found: dict = {}
    places = [*plan.members, *((param, path, None) for param, path, _ in plan.attributes)]
    for param, path, token in places:
        for depth in range(1, len(path) + 1):
            leaf = depth == len(path)
            value = _resolve(args[param], path[:depth])
            if leaf or (param, path[:depth]) not in found:
                found[param, path[:depth]] = (_kept(value, leaf and token == 0), leaf)
    for param, path, constant in plan.attributes:
        if constant is not None:
            found[param, path] = (constant, True)
    return sorted(found.items(), key=lambda item: len(item[0][1]))


def _resolve(x, path: tuple):
    for name in path:
        x = getattr(x, name)
    return x


def _kept(x, by_value: bool):
    """What stays as it is now."""
    if _is_compound(x) or by_value and not isinstance(x, _NUMBERS):
        return x.detach().clone() if hasattr(x, "detach") else copy.deepcopy(x)
    return _copied(x) if _is_container(x) else x


def _is_container(x) -> bool:
    return type(x) in (list, tuple, dict)


def _copied(x):
    """A container of its own with the same things in it, at any depth."""
    if type(x) is dict:
        return {key: _copied(item) for key, item in x.items()}
    return type(x)(_copied(item) for item in x) if _is_container(x) else x


def _other_contents(path: tuple) -> QuadrantsRuntimeError:
    return QuadrantsRuntimeError(
        f"The gradient of a tape needs what objects in '{'.'.join(path)}' held in the launch, and they hold other "
        "fields now. Keep them until the tape ends, or make the objects attributes of their own."
    )


def _is_compound(x) -> bool:
    return getattr(x, "_qd_host_matrix", False) or getattr(x, "_qd_host_struct", False)


def _same(now, then) -> bool:
    # A property makes a new number each time. Texts tell 0.0 from -0.0, and NaN is NaN.
    if type(now) is type(then) is dict:
        return list(now) == list(then) and all(_same(now[key], then[key]) for key in then)
    if type(now) is type(then) and _is_container(then):
        return len(now) == len(then) and all(map(_same, now, then))
    return now is then or type(now) is type(then) and isinstance(now, _NUMBERS) and repr(now) == repr(then)


def _is_inherited(owner, name: str, value) -> bool:
    """Whether an attribute is that of the class."""
    return name not in getattr(owner, "__dict__", (name,)) and getattr(type(owner), name, _MISSING) is value


def _set(owner, path: tuple, value, leaf: bool) -> bool:
    """Whether it was set: a property cannot be, and need not where what it gives leads to the same, or equals it."""
    try:
        setattr(owner, path[-1], value)
    except AttributeError as error:
        if not leaf or np.array_equal(getattr(owner, path[-1], _MISSING), value):
            return False
        raise QuadrantsRuntimeError(
            f"The gradient of a tape needs the attribute '{'.'.join(path)}' as it was in the launch, and it cannot be "
            f"put back: {error}. Make it a plain attribute, or keep it the same until the tape ends."
        ) from error
    return True
