"""What the arguments of a call contribute to the key: all that may make the kernel be translated differently."""

from __future__ import annotations

import functools

from quadrants._ext.core import token_key
from quadrants.calls.kind import Kind
from quadrants.fastcache import describe
from quadrants.fastcache.describe import Unknown
from quadrants.lang.kinds import FIELD_KINDS, has_members, is_external, kind_of, unwrapped


def of_argument(x, kind: Kind, name: str) -> str:
    """The text of one argument for a parameter of that kind. Raises Unknown.

    Of objects it tells the type: the members that the kernel reads follow apart.
    """
    x = unwrapped(x)
    if kind.selects == "type":
        return "run-time value"
    if kind_of(x) in FIELD_KINDS:
        raise Unknown(f"the field passed as '{name}'", silent=kind.takes_fields, kind="FIELD")
    if kind_of(x) == "view":
        return f"view {array(x.arr)}"
    if kind.selects.startswith("array") and x is not None and _is_array(x):
        return array(x, int(kind.selects[5:]))
    if has_members(x):
        return f"object {describe.annotation(type(x))}"
    return describe.value(x)


def _is_array(x) -> bool:
    return kind_of(x) == "ndarray" or is_external(x)


def array(x, element_axes: int = 0) -> str:
    """Element type, number of axes, layout, gradient; never the shape, but for the axes of the elements."""
    if kind_of(x) == "ndarray":
        x._check_usable()
        return repr(token_key(x.token))
    element = tuple(int(n) for n in x.shape[x.ndim - element_axes :]) if element_axes else ()
    grad = bool(getattr(x, "requires_grad", False))
    return f"external {type(x).__module__} {x.dtype} {x.ndim} {element} {grad}"


def of_member(obj, path: tuple, mode: str) -> str:
    """The text of what `path` leads to from the argument `obj`; `mode` as in frontend.record. Raises Unknown."""
    at = "".join(f".{name}" for name in path)
    for name in path:
        member = _class_attribute(type(obj), name)
        if isinstance(member, functools.cached_property):
            raise Unknown(f"{describe.name(type(obj))}.{name}", kind="CACHED_PROPERTY")
        try:
            obj = getattr(obj, name)
        except (
            Exception
        ) as error:  # whatever a property of the user raises: the kernel is translated and may not meet it
            kind = "PROPERTY_RAISED" if isinstance(member, property) else "ABSENT"
            raise Unknown(f"{at[1:]}: {type(error).__name__}: {error}", kind=kind) from error
        obj = unwrapped(obj)
    if mode == "type":
        return describe.name(type(obj))
    if mode.startswith("array") and obj is not None and _is_array(obj):
        return array(obj, int(mode[5:] or 0))
    if kind_of(obj) in FIELD_KINDS:
        raise Unknown(f"the field '{at[1:]}'", kind="FIELD")
    if kind_of(obj) == "ndarray":
        return array(obj)
    if kind_of(obj) == "view":
        return f"view {array(obj.arr)}"
    if has_members(obj):
        return f"object {describe.annotation(type(obj))}"
    return describe.value(obj)


def _class_attribute(cls, name: str):
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None
