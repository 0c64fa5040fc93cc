"""Attributes as they were: assigned, or, such as properties, given by the class for one object."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

MISSING: Any = object()


def attribute(owner, name: str):
    """What it is now; MISSING where there is none, or what the user wrote to find it raises."""
    try:
        return getattr(owner, name)
    except Exception:  # of a property that cannot be asked at this time, whatever it raises
        return MISSING


class Assignment:
    """The attribute `name` of `owner`, which is `now`, with another value."""

    def __init__(self, owner, name: str, now):
        self._owner, self._name, self._now = owner, name, now
        held = getattr(owner, "__dict__", (name,))
        self._inherited = now is MISSING or name not in held and getattr(type(owner), name, MISSING) is now
        self._tried = False

    def put(self, value) -> None:
        """`AttributeError` if it cannot be assigned."""
        self._tried = True
        try:
            setattr(self._owner, self._name, value)
        except AttributeError:
            self._tried = False
            raise

    def undo(self) -> None:
        if not self._tried or attribute(self._owner, self._name) is self._now:
            return
        if self._inherited:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._now)


class Override:
    """In the class of `owner` in place of the attribute `name`. Other objects find what they found before."""

    def __init__(self, owner, name: str, value):
        self._owner, self._name, self._value = owner, name, value
        self._found = next((vars(base)[name] for base in type(owner).__mro__ if name in vars(base)), MISSING)
        self._own = vars(type(owner)).get(name, MISSING)

    def put(self) -> None:
        """Nothing happens to a class that refuses."""
        with suppress(AttributeError, TypeError):  # a class of C, or one whose own class refuses
            setattr(type(self._owner), self._name, self)

    def remove(self) -> None:
        """Give the class back what it had, if it has this."""
        if vars(type(self._owner)).get(self._name) is not self:
            return
        if self._own is MISSING:
            delattr(type(self._owner), self._name)
        else:
            setattr(type(self._owner), self._name, self._own)

    def __get__(self, obj, cls=None):
        if obj is self._owner:
            return self._value
        held = getattr(obj, "__dict__", {})
        if self._name in held and not self._comes_first():
            return held[self._name]
        if self._found is MISSING:
            raise AttributeError(f"{cls.__name__!r} object has no attribute {self._name!r}")
        get = getattr(type(self._found), "__get__", None)
        return self._found if get is None else get(self._found, obj, cls)

    def __set__(self, obj, value) -> None:
        if self._comes_first():
            self._found.__set__(obj, value)
        else:
            vars(obj)[self._name] = value

    def _comes_first(self) -> bool:
        """Whether what the class had is asked before the object itself."""
        return hasattr(type(self._found), "__set__")
