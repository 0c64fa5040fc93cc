"""An attribute that cannot be assigned, such as a property, as it was: the class gives a kept value for one object."""

from __future__ import annotations

from typing import Any

MISSING: Any = object()


class Override:
    """In the class of `owner` in place of the attribute `name`. Other objects find what they found before."""

    def __init__(self, owner, name: str, value):
        self._owner, self._name, self._value = owner, name, value
        self._found = next((vars(base)[name] for base in type(owner).__mro__ if name in vars(base)), MISSING)
        self._own = vars(type(owner)).get(name, MISSING)

    def put(self) -> bool:
        """Whether `owner` has the value from now on."""
        try:
            setattr(type(self._owner), self._name, self)
        except (AttributeError, TypeError):  # a class of C, or one whose own class refuses
            return False
        return getattr(self._owner, self._name, MISSING) is self._value

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
