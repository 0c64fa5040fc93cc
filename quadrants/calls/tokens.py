"""Tokens of what a launch finds, for what the launch core does not know itself: templates, members of arguments, and
arrays of other packages.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
import threading
import weakref
from types import MethodType
from typing import Any

import numpy as np

from quadrants._ext.core import TokenBase, intern_token
from quadrants.errors import QuadrantsRuntimeTypeError
from quadrants.lang.constant_key import constant_key
from quadrants.lang.func import BoundFunc
from quadrants.lang.kinds import FIELD_KINDS, has_members, is_external, is_number, kind_of, members, unwrapped

HOLDS_MEMORY = (*FIELD_KINDS, "tensor")

_serial = itertools.count()
_identities: dict[int, tuple[weakref.ref[Any], int]] = {}
_guarding: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def template_token(x: Any, name: str) -> int | tuple[int]:
    """The token of a template argument. `(token,)` says that the object keeps it for life."""
    x = unwrapped(x)
    if kind_of(x) in ("ndarray", "view"):
        raise ndarray_as_template(name)
    if isinstance(x, TokenBase):
        return x.token
    if x is None or isinstance(x, (bool, int, float, str, bytes, enum.Enum, np.generic)):
        return intern_token(("value", constant_key(x)))
    if isinstance(x, tuple):
        return intern_token(("tuple", type(x), tuple(_number(template_token(item, name)) for item in x)))
    if isinstance(x, type):  # also a class whose objects are known below
        return identity_token(x)
    if getattr(x, "_qd_host_matrix", False):
        data = x.to_numpy()
        return intern_token(("matrix", data.shape, data.dtype.str, data.tobytes()))
    if getattr(x, "_qd_host_struct", False):
        members = tuple([(key, _number(template_token(value, name))) for key, value in x.entries.items()])
        return intern_token(("struct", members, tuple(x.methods.items())))
    if isinstance(x, np.ndarray) or type(x).__hash__ is None:
        raise _unhashable(x, name)
    if type(x).__hash__ is object.__hash__ or _is_more_than_its_value(x):
        return identity_token(x)
    try:
        hash(x)
    except ValueError:
        if isinstance(x, memoryview):  # of memory that can be written
            raise _unhashable(x, name) from None
        raise
    token = intern_token(("object", constant_key(x)))
    return (token,) if _guards_its_value(x) else token


def _unhashable(x: Any, name: str) -> TypeError:
    cure = "pass a tuple, a hashable object, or an array through qd.types.ndarray()"
    if dataclasses.is_dataclass(x):
        cure = f"write @dataclass(frozen=True) or @dataclass(eq=False) above {type(x).__name__}"
    return TypeError(f"unhashable type: '{type(x).__name__}' cannot be a template argument ('{name}'); {cure}")


def ndarray_as_template(name: str) -> QuadrantsRuntimeTypeError:
    """The error for an array where something is needed that is known while compiling."""
    return QuadrantsRuntimeTypeError(
        f"Ndarray shouldn't be passed in via `qd.template()`, please annotate '{name}' with `qd.types.ndarray` instead"
    )


def _is_more_than_its_value(x: Any) -> bool:
    """Whether an equal data-oriented object may hold other fields, which its kernels would write.

    Those that cannot be changed are configurations: equal ones share their kernels, unless they hold fields.
    """
    if not getattr(type(x), "_qd_data_oriented", False):
        return False
    return not _guards_its_value(x) or any(kind_of(member) in HOLDS_MEMORY for member in vars(x).values())


def _guards_its_value(x: Any) -> bool:
    """Whether an object that hashes by value refuses to have its members assigned, even to what they are.

    Others may be changed between two launches, so their value is asked for at each.
    """
    cls = type(x)
    if cls not in _guarding:
        _guarding[cls] = cls.__weakrefoffset__ != 0 and cls.__setattr__ is not object.__setattr__ and _refuses(x)
    return _guarding[cls]


def _refuses(x: Any) -> bool:
    for name, value in list(getattr(x, "__dict__", {}).items())[:1]:
        try:
            setattr(x, name, value)
        except AttributeError:
            return True
    return False


class _This:
    """An object as a key: equal to itself alone."""

    __slots__ = ("x",)

    def __init__(self, x: Any):
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _This) and other.x is self.x

    def __hash__(self) -> int:
        return id(self.x)


def identity_token(x: Any) -> int | tuple[int]:
    """A token for this very object, which it keeps for life; a later object at the same address gets another one."""
    with _lock:
        found = _identities.get(id(x))
        if found is not None and found[0]() is x:
            return (found[1],)
        token = intern_token(("identity", next(_serial)))
        try:
            reference = weakref.ref(x)
        except TypeError:
            return intern_token(("object", _This(x)))
        _identities[id(x)] = (reference, token)
        if len(_identities) > 4096:
            _drop_dead()
    return (token,)


def _drop_dead() -> None:
    for key, (reference, _) in list(_identities.items()):
        if reference() is None:
            del _identities[key]


def _number(token: int | tuple[int]) -> int:
    return token[0] if isinstance(token, tuple) else token


def member_token(x: Any) -> int:
    """The token of an object reached through attributes, as the launch core computes it."""
    if isinstance(x, TokenBase):
        return x.token
    if kind_of(x) == "tensor":
        return member_token(unwrapped(x))
    if is_external(x):
        return _external_member_token(x)
    if isinstance(x, (list, tuple, dict)):
        return _container_token(x, {})
    if isinstance(x, (BoundFunc, MethodType)):  # made anew each time that it is looked up
        return intern_token(("method", member_token(x.func if isinstance(x, BoundFunc) else x.__func__)))
    if type(x).__hash__ is None and not getattr(x, "_qd_host_matrix", False):
        return _number(identity_token(x))
    return _number(template_token(x, ""))


def _external_member_token(x: Any) -> int:
    """That of an array which is a member; one that cannot be an argument is no error unless a kernel reads it."""
    from quadrants.data import external

    token = external.token_if_passed(x)
    return intern_token(("no argument", type(x))) if token is None else _unless_disabled(token, x)


def _container_token(x: Any, seen: dict[int, int]) -> int:
    """The token of what a container or an object holds now, which may change from launch to launch. Numbers of objects
    are constants of a kernel. `seen`: the numbers of what was found before it, by address.
    """
    if id(x) in seen:
        return intern_token(("again", seen[id(x)]))
    seen[id(x)] = len(seen)
    if not isinstance(x, (list, tuple, dict)):
        parts = [(name, part) for name, part in members(x).items() if not is_number(part)]
        return intern_token((type(x), tuple([(name, _item_token(part, seen)) for name, part in parts])))
    items = [part for pair in x.items() for part in pair] if isinstance(x, dict) else x
    return intern_token((type(x), tuple([_item_token(item, seen) for item in items])))


def _item_token(x: Any, seen: dict[int, int]) -> int:
    if isinstance(x, TokenBase):
        return x.token
    if type(x) in (str, int, bool):
        return intern_token((type(x), x))
    if isinstance(x, (list, tuple, dict)) or has_members(x):
        return _container_token(x, seen)
    return member_token(x)


def _unless_disabled(token: int, x: Any) -> int:
    """Never the plan of an array, where torch is disabled: what a tensor may stand for is decided where kernels are
    compiled.
    """
    from quadrants.data import external

    return token if external.is_external(x) else intern_token((token, "torch is disabled"))


def external_token(x: Any, name: str = "", element_axes: int = 0) -> int:
    """The token of an array of another package, of whose axes the last ones may be those of its elements."""
    from quadrants.data import external

    token = _unless_disabled(external.token(x, name), x)
    if not element_axes:
        return token
    shape = np.asarray(x).shape if isinstance(x, np.ndarray) else x.shape  # a subclass may name another one
    return intern_token((token, tuple(int(n) for n in shape[-element_axes:])))
