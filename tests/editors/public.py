"""The names that users call, module by module."""

from __future__ import annotations
import __future__

import enum
import types
from functools import cache

import quadrants as qd

MODULES = (
    "qd", "qd.ad", "qd.algorithms", "qd.graph", "qd.math", "qd.profiler", "qd.simt", "qd.simt.block", "qd.simt.grid",
    "qd.simt.subgroup", "qd.simt.warp", "qd.tools", "qd.types",
)  # fmt: skip
# Any other module of the package becomes an attribute of it once something imports it.
_MODULES = {"ad", "algorithms", "graph", "interop", "lang", "linalg", "math", "profiler", "simt", "tools", "types"}


def module(path: str) -> types.ModuleType:
    """What `qd.simt.block` is."""
    found = qd
    for name in path.split(".")[1:]:
        found = getattr(found, name)
    return found


@cache
def names(path: str) -> tuple[str, ...]:
    """The public names of a module."""
    inside = module(path)
    listed = getattr(inside, "__all__", None) or [name for name in dir(inside) if not name.startswith("_")]
    return tuple(sorted(name for name in listed if not _is_inside(getattr(inside, name))))


def _is_inside(value: object) -> bool:
    if isinstance(value, types.ModuleType):
        return value.__name__.rpartition(".")[2] not in _MODULES
    return value is __future__.annotations


def called(path: str) -> list[str]:
    """Those that are functions, types and classes to be called. Enumerations and exceptions are not."""
    return [name for name in names(path) if _is_called(getattr(module(path), name))]


def _is_called(value: object) -> bool:
    if isinstance(value, types.ModuleType) or not callable(value):
        return False
    return not (isinstance(value, type) and issubclass(value, (enum.Enum, Exception)))
