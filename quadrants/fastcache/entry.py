"""One kernel of an earlier process: what it depended on, how to call it, and which file has its code.

A record is written as an object with all its members by name, whichever they are, so that none is forgotten. Only what
`_LEFT_OUT` names stays behind, and the few members that are no plain values have a codec of their own. What is missing
or too many when it is read is an error, so that no launch happens with defaults.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from quadrants import banner
from quadrants.emit.launches import Launch
from quadrants.emit.regions import LaunchRegion
from quadrants.emit.stack_record import KeptDepths, StackPlan
from quadrants.ir.types import DType, StructType, TensorType, primitive, tensor_type
from quadrants.runtime.recipe import Recipe, Slot

# About the fields of one process: a kernel that reads any is not kept.
_LEFT_OUT = {Recipe: ("cells", "written_cells", "keep"), KeptDepths: ("cells",)}


@dataclass(slots=True)
class Entry:
    """functions: (how to reach it, its lines, its digest), the kernel's first. captures: (number of the function, path,
    description). artifact: the key of the code in the disk cache."""

    functions: list
    captures: list
    recipe: Recipe
    artifact: str

    def encode(self) -> bytes:
        """JSON text: reading it runs no code, and people can look at it. Raises ValueError for what cannot be kept."""
        whole = {
            "functions": self.functions,
            "captures": self.captures,
            "artifact": self.artifact,
            "recipe": _encode(self.recipe),
        }
        return json.dumps(whole, separators=(",", ":")).encode()


def decode(content: bytes) -> Entry:
    """The entry of such a text. Raises ValueError, TypeError or LookupError when it is not one."""
    d = json.loads(content)
    captures = [(number, tuple(path), text) for number, path, text in d["captures"]]
    return Entry(d["functions"], captures, _decode(Recipe, d["recipe"]), d["artifact"])


def members(cls: type) -> list[str]:
    """The members of a record that are kept, in order."""
    return [f.name for f in fields(cls) if f.name not in _LEFT_OUT.get(cls, ())]


def _encode(record) -> dict:
    cls = type(record)
    for name in _LEFT_OUT.get(cls, ()):
        if getattr(record, name):
            raise ValueError(f"{name} of a {cls.__name__} means nothing to another process")
    return {name: _codec(cls, name)[0](getattr(record, name)) for name in members(cls)}


def _decode(cls: type, d: dict):
    if sorted(d) != sorted(members(cls)):
        raise ValueError(f"not the members of a {cls.__name__}: {sorted(d)}")
    return cls(**{name: _codec(cls, name)[1](d[name]) for name in members(cls)})


def _codec(cls: type, name: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    return _CODECS.get((cls, name), (_plain, _tuples))


def _plain(x):
    """What JSON gives back, but for tuples. TypeError for anything else, which needs a codec."""
    if isinstance(x, tuple):
        return [_plain(item) for item in x]
    if x is None or type(x) in (bool, int, float, str):
        return x
    raise TypeError(f"a {type(x).__name__} is kept by a codec of its own only: {x!r}")


def _tuples(x):
    return tuple(_tuples(item) for item in x) if isinstance(x, list) else x


def _encode_type(t):
    if isinstance(t, TensorType):
        return [list(t.shape), t.dtype.name]
    if isinstance(t, StructType):
        return {"name": t.name, "members": [[key, _encode_type(kind)] for key, kind in t.members]}
    return t.name if isinstance(t, DType) else None


def _decode_type(x):
    if isinstance(x, list):
        return tensor_type(tuple(x[0]), primitive(x[1]))
    if isinstance(x, dict):
        return StructType(tuple((key, _decode_type(kind)) for key, kind in x["members"]), x["name"])
    return None if x is None else primitive(x)


def _each(cls: type, kind: type) -> tuple:
    """Of a list or tuple of records."""
    return lambda x: [_encode(record) for record in x], lambda x: kind(_decode(cls, d) for d in x)


def _maybe(cls: type) -> tuple:
    """Of a record or None."""
    return lambda x: None if x is None else _encode(x), lambda x: None if x is None else _decode(cls, x)


def _decode_site(site: list) -> tuple:
    message, frames, name = site
    return _tuples(message), [banner.Frame(*frame) for frame in frames], name


_CODECS: dict[tuple[type, str], tuple] = {
    (Slot, "type"): (_encode_type, _decode_type),
    (Recipe, "slots"): _each(Slot, list),
    (Recipe, "results"): (
        lambda x: [[_encode_type(t), offset] for t, offset in x],
        lambda x: [(_decode_type(t), offset) for t, offset in x],
    ),
    (Recipe, "sites"): (list, lambda x: [_decode_site(site) for site in x]),
    (Recipe, "regions"): _each(LaunchRegion, tuple),
    (Recipe, "launches"): _each(Launch, tuple),
    (Recipe, "stacks"): _maybe(StackPlan),
    (Recipe, "kept"): _maybe(KeptDepths),
}
