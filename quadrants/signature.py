"""Tokens: what of an argument selects a specialisation, for arguments the launch core does not know itself."""

from __future__ import annotations

import dataclasses
import enum
import itertools
import threading
import weakref
from types import MethodType

import numpy as np

from quadrants import caller
from quadrants._ext.core import TokenBase, intern_token
from quadrants.errors import QuadrantsRuntimeTypeError
from quadrants.lang import parameters as ann
from quadrants.lang.constant_key import constant_key
from quadrants.lang.func import BoundFunc
from quadrants.lang.kinds import FIELD_KINDS, has_members, is_external, is_number, kind_of, members

HOLDS_MEMORY = (*FIELD_KINDS, "tensor")

_serial = itertools.count()
_identities: dict = {}
_guarding: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def template_argument_token(x, name: str) -> int | tuple:
    """The token of what is passed for a template parameter."""
    if is_dataclass_instance(x) and not getattr(type(x), "_qd_data_oriented", False) and type(x).__hash__ is not None:
        caller.warn(
            f"A dataclass is passed through qd.template() ('{name}'); annotate the parameter with {type(x).__name__}",
            DeprecationWarning,
        )
    return template_token(x, name)


def template_token(x, name: str) -> int | tuple:
    """The token of a template argument. `(token,)` says that the object keeps it for life."""
    if kind_of(x) == "tensor":
        x = x._unwrap()
    kind = kind_of(x)
    if kind == "ndarray" or kind == "view":
        raise QuadrantsRuntimeTypeError(
            f"Ndarray shouldn't be passed in via `qd.template()`, please annotate '{name}' with `qd.types.ndarray` "
            "instead"
        )
    if isinstance(x, TokenBase):
        return x.token
    if x is None or isinstance(x, (bool, int, float, str, bytes, enum.Enum, np.generic)):
        return intern_token(("value", constant_key(x)))
    if isinstance(x, tuple):
        return intern_token(("tuple", type(x), tuple(_number(template_token(item, name)) for item in x)))
    if getattr(x, "_qd_host_matrix", False):
        data = x.to_numpy()
        return intern_token(("matrix", data.shape, data.dtype.str, data.tobytes()))
    if isinstance(x, np.ndarray) or type(x).__hash__ is None:
        raise TypeError(
            f"unhashable type: '{type(x).__name__}' cannot be a template argument ('{name}'); pass a tuple, a hashable "
            "object, or an array through qd.types.ndarray()"
        )
    if type(x).__hash__ is object.__hash__ or isinstance(x, type) or _is_more_than_its_value(x):
        return identity_token(x)
    hash(x)
    token = intern_token(("object", constant_key(x)))
    return (token,) if _guards_its_value(x) else token


def _is_more_than_its_value(x) -> bool:
    """Whether an equal data-oriented object may hold other fields, which its kernels would write.

    Those that cannot be changed are configurations: equal ones share their kernels, unless they hold fields.
    """
    if not getattr(type(x), "_qd_data_oriented", False):
        return False
    return not _guards_its_value(x) or any(kind_of(member) in HOLDS_MEMORY for member in vars(x).values())


def _guards_its_value(x) -> bool:
    """Whether an object that hashes by value refuses to have its members assigned, even to what they are.

    Others may be changed between two launches, so their value is asked for at each.
    """
    cls = type(x)
    if cls not in _guarding:
        _guarding[cls] = cls.__weakrefoffset__ != 0 and cls.__setattr__ is not object.__setattr__ and _refuses(x)
    return _guarding[cls]


def _refuses(x) -> bool:
    for name, value in list(getattr(x, "__dict__", {}).items())[:1]:
        try:
            setattr(x, name, value)
        except AttributeError:
            return True
    return False


class _This:
    """An object as a key: equal to itself alone."""

    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return isinstance(other, _This) and other.x is self.x

    def __hash__(self):
        return id(self.x)


def identity_token(x) -> int | tuple:
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


def _number(token) -> int:
    return token[0] if isinstance(token, tuple) else token


def member_token(x) -> int:
    """The token of an object reached through attributes, as the launch core computes it."""
    if isinstance(x, TokenBase):
        return x.token
    if kind_of(x) == "tensor":
        return member_token(x._unwrap())
    if is_external(x):
        return external_token(x, None, "")
    if isinstance(x, (list, tuple, dict)):
        return _container_token(x, {})
    if isinstance(x, (BoundFunc, MethodType)):  # made anew each time that it is looked up
        return intern_token(("method", member_token(x.func if isinstance(x, BoundFunc) else x.__func__)))
    if type(x).__hash__ is None and not getattr(x, "_qd_host_matrix", False):
        return _number(identity_token(x))
    return _number(template_token(x, ""))


def _container_token(x, seen: dict) -> int:
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


def _item_token(x, seen: dict) -> int:
    if isinstance(x, TokenBase):
        return x.token
    if type(x) in (str, int, bool):
        return intern_token((type(x), x))
    if isinstance(x, (list, tuple, dict)) or has_members(x):
        return _container_token(x, seen)
    return member_token(x)


def external_token(x, annotation, name: str) -> int:
    from quadrants.data import external

    token = external.token(x, name)
    if not external.is_external(x):
        # Never the plan of an array: what a tensor may stand for is decided where kernels are compiled.
        token = intern_token((token, "torch is disabled"))
    dtype = getattr(annotation, "dtype", None)
    rank = getattr(dtype, "ndim", 0) if ann.compound_kind(dtype) else 0
    if rank:
        shape = np.asarray(x).shape if isinstance(x, np.ndarray) else x.shape  # a subclass may name another one
        return intern_token((token, tuple(int(n) for n in shape[-rank:])))
    return token


def array_token(x, annotation, name: str) -> int:
    """The token of an argument for an array parameter that is no quadrants ndarray."""
    if kind_of(x) == "tensor":
        x = x._unwrap()
        if isinstance(x, TokenBase):
            return x.token
    base = ann.optional_base(annotation)
    if x is None and (base is not None or ann.is_tensor_annotation(annotation)):
        return intern_token(("value", type(None), None))
    if is_external(x):
        return external_token(x, base or annotation, name)
    if ann.is_tensor_annotation(annotation):
        return template_token(x, name)
    raise QuadrantsRuntimeTypeError(
        f"Invalid type for argument {name}, got {x!r}"
        + ("; a field is passed through qd.template() or qd.Tensor" if kind_of(x) in FIELD_KINDS else "")
    )


def dataclass_token(x, annotation, name: str) -> int | tuple:
    """All instances of a dataclass share a token; their members are compared one by one. As `template_token`."""
    if not isinstance(x, annotation):
        raise QuadrantsRuntimeTypeError(
            f"Argument {name} (type={type(x)}) cannot be converted into required type {annotation.__name__}"
        )
    token = intern_token(("dataclass", type(x)))
    return (token,) if type(x).__weakrefoffset__ else token


def is_dataclass_instance(x) -> bool:
    return dataclasses.is_dataclass(x) and not isinstance(x, type)
