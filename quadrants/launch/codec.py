"""Records as JSON values and back; how is read off the annotations of their members, so that none is forgotten.

A dataclass is written as an object with all its members by name, a NamedTuple as a list. Members that mean nothing to
another process are marked in their record with the metadata `of_process`: they are left out, and a record that has any
is refused. What is missing or too many when it is read is an error, so that no launch happens with defaults.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

from quadrants.ir.types import DType, StructType, TensorType, ValueType, primitive, tensor_type


class Codec(NamedTuple):
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


def encode(record: Any) -> dict[str, Any]:
    """A record as what JSON can say. Raises ValueError or TypeError for what cannot be kept."""
    kind: Any = type(record)
    found: dict[str, Any] = codec_of(kind).encode(record)
    return found


def decode(cls: Any, found: dict[str, Any]) -> Any:
    """The record. Raises ValueError, TypeError or LookupError where `found` is none of that kind."""
    return codec_of(cls).decode(found)


def members(cls: type) -> list[str]:
    """The members of a dataclass that are kept, in order."""
    return [f.name for f in dataclasses.fields(cls) if not f.metadata.get("of_process")]


@functools.cache
def codec_of(kind: Any) -> Codec:
    """How values of an annotated type are written and read."""
    if kind == ValueType:
        return Codec(_encode_type, _decode_type)
    if dataclasses.is_dataclass(kind):
        return _of_dataclass(kind)
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _of_named_tuple(kind)
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _of_union(parts)
    if origin in (list, tuple) and (origin is list or parts[1:] == (...,)):
        return _of_each(origin, codec_of(parts[0]))
    return Codec(_plain, _tuples)


def _of_dataclass(cls: Any) -> Codec:
    hints = typing.get_type_hints(cls)
    names = members(cls)
    codecs = {name: codec_of(hints[name]) for name in names}
    left_out = [f.name for f in dataclasses.fields(cls) if f.name not in codecs]

    def write(record: Any) -> dict[str, Any]:
        for name in left_out:
            if getattr(record, name):
                raise ValueError(f"{name} of a {cls.__name__} means nothing to another process")
        return {name: codec.encode(getattr(record, name)) for name, codec in codecs.items()}

    def read(found: Any) -> Any:
        if not isinstance(found, dict) or found.keys() != codecs.keys():
            raise ValueError(f"not the members of a {cls.__name__}: {found}")
        return cls(**{name: codec.decode(found[name]) for name, codec in codecs.items()})

    return Codec(write, read)


def _of_named_tuple(cls: Any) -> Codec:
    hints = typing.get_type_hints(cls)
    codecs = [codec_of(hints[name]) for name in cls._fields]

    def write(record: Any) -> list[Any]:
        return [codec.encode(value) for codec, value in zip(codecs, record, strict=True)]

    def read(found: Any) -> Any:
        return cls(*[codec.decode(value) for codec, value in zip(codecs, found, strict=True)])

    return Codec(write, read)


def _of_each(kind: type, codec: Codec) -> Codec:
    return Codec(lambda x: [codec.encode(item) for item in x], lambda x: kind(codec.decode(item) for item in x))


def _of_union(parts: tuple[Any, ...]) -> Codec:
    """Of a record or None; plain values need no telling apart."""
    records = [part for part in parts if part is not types.NoneType]
    if len(records) < len(parts) and functools.reduce(lambda a, b: a | b, records) == ValueType:
        return codec_of(ValueType)
    codec = codec_of(records[0])
    if len(records) > 1 or codec.encode is _plain:
        return Codec(_plain, _tuples)
    return Codec(
        lambda x: None if x is None else codec.encode(x),
        lambda x: None if x is None else codec.decode(x),
    )


def _plain(x: Any) -> Any:
    """What JSON gives back, but for tuples. TypeError for anything else, which needs an annotation."""
    if isinstance(x, tuple):
        return [_plain(item) for item in x]
    if x is None or type(x) in (bool, int, float, str):
        return x
    raise TypeError(f"a {type(x).__name__} is no plain value, and its annotation does not say more: {x!r}")


def _tuples(x: Any) -> Any:
    return tuple(_tuples(item) for item in x) if isinstance(x, list) else x


def _encode_type(t: Any) -> Any:
    if isinstance(t, TensorType):
        return [list(t.shape), t.dtype.name]
    if isinstance(t, StructType):
        return {"name": t.name, "members": [[key, _encode_type(kind)] for key, kind in t.members]}
    return t.name if isinstance(t, DType) else None


def _decode_type(x: Any) -> Any:
    if isinstance(x, list):
        return tensor_type(tuple(x[0]), primitive(x[1]))
    if isinstance(x, dict):
        return StructType(tuple((key, _decode_type(kind)) for key, kind in x["members"]), x["name"])
    return None if x is None else primitive(x)
