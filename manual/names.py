"""Every public name, found by `dir`, and the page of the reference that it is on."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import quadrants as qd

# Modules that users import names of. Other modules that `dir` shows are the package's own (`internal`).
MODULES = {
    "": "The package",
    "math": "qd.math",
    "simt": "qd.simt",
    "simt.block": "qd.simt.block",
    "simt.grid": "qd.simt.grid",
    "simt.subgroup": "qd.simt.subgroup",
    "simt.warp": "qd.simt.warp",
    "ad": "qd.ad",
    "graph": "qd.graph",
    "algorithms": "qd.algorithms",
    "linalg": "qd.linalg",
    "tools": "qd.tools",
    "distributed": "qd.distributed",
    "types": "qd.types",
    "types.quant": "qd.types.quant",
    "profiler": "qd.profiler",
    "interop": "qd.interop",
    "experimental": "qd.experimental",
}
# The names of the package itself are on several pages, by where they are defined. The first row that fits counts.
SUBJECTS = [
    ("runtime", "Start, archs and log", ("session", "startup", "arch", "_logging", "warmup", "config")),
    ("kernels", "Kernels, functions and loops", (
        "kernel", "lang.func", "lang.control", "lang.ndrange", "lang.graphs", "lang.data_oriented", "lang.annotations",
        "tools.perf_dispatch", "lang.impl",
    )),
    ("data", "Fields, ndarrays and tensors", ("data", "lang.enums")),
    ("values", "Vectors, matrices, structs and dtypes", ("lang.matrix", "lang.struct", "lang.compound", "ir.types")),
    ("functions", "Functions of numbers", ("lang.host_math", "lang.casts", "lang.random")),
    ("atomics", "Atomics", ("lang.atomics",)),
    ("sparse", "Sparse trees", ("lang.sparse_ops",)),
    ("matrices", "Decompositions of small matrices", ("linalg", "lang.simt")),
    ("streams", "Streams and events", ("runtime",)),
    ("errors", "Errors", ("errors",)),
]  # fmt: skip
OTHERS = ("constants", "Other names")
# Names of the package that have no module of their own to go by.
BY_TYPE = {"Arch": "runtime", "DType": "values", "Axis": "data", "_Root": "data", "EnumType": "data"}
BY_NAME = {"gpu": "runtime", "cfg": "runtime", "extension": "runtime", "INFO": "runtime", "WARN": "runtime",
           "DEBUG": "runtime", "TRACE": "runtime", "ERROR": "runtime", "CRITICAL": "runtime"}  # fmt: skip


@dataclass(frozen=True)
class Name:
    """A public name. `path`: as users write it, `qd.math.mix`; it is the anchor too."""

    path: str
    value: Any

    @property
    def short(self) -> str:
        return self.path.rpartition(".")[2]

    @cached_property
    def members(self) -> list[Name]:
        """Methods and properties of a class that are this package's, sorted."""
        if not isinstance(self.value, type):
            return []
        return [Name(f"{self.path}.{name}", found) for name, found in _members(self.value)]


@dataclass
class Page:
    """A page of the reference. `stem`: its file without suffix."""

    stem: str
    title: str
    module: ModuleType | None = None
    names: list[Name] = field(default_factory=list)


def module(path: str) -> ModuleType:
    found = qd
    for name in filter(None, path.split(".")):
        found = getattr(found, name)
    return found


def shown(owner: ModuleType) -> Iterator[tuple[str, Any]]:
    """The names that `dir` gives, without those that every module has."""
    for name in sorted(dir(owner)):
        value = getattr(owner, name)
        if not name.startswith("_") and name != "TYPE_CHECKING" and value is not annotations:
            yield name, value


def _members(owner: type) -> Iterator[tuple[str, Any]]:
    for name in sorted(dir(owner)):
        if name.startswith("_"):
            continue
        home = next(base for base in owner.__mro__ if name in vars(base))
        if not home.__module__.startswith("quadrants"):
            continue  # what `int` and `object` have
        found = inspect.getattr_static(owner, name)
        if isinstance(found, owner) and isinstance(found, enum.Enum):
            yield name, found
            continue
        found = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
        if isinstance(found, property) or callable(found) or inspect.isdatadescriptor(found):
            yield name, found


def _subject(name: str, value: Any) -> str:
    if name in BY_NAME:
        return BY_NAME[name]
    kind = type(value[0] if isinstance(value, list) and value else value).__name__
    home = getattr(value, "__module__", None)
    if kind in BY_TYPE and not (kind == "EnumType" and home == "quadrants.arch"):
        return BY_TYPE[kind]
    rest = (home or "").removeprefix("quadrants.")
    for stem, _, homes in SUBJECTS:
        if any(rest == part or rest.startswith(part + ".") for part in homes):
            return stem
    return OTHERS[0]


def pages() -> list[Page]:
    """Every page with its names, in the order of the manual."""
    made = {stem: Page(stem, title) for stem, title, _ in [*SUBJECTS, (*OTHERS, ())]}
    for path, title in MODULES.items():
        owner = module(path)
        for name, value in shown(owner):
            if isinstance(value, ModuleType):
                continue
            stem = path if path else _subject(name, value)
            page = made.setdefault(stem, Page(stem, title, owner))
            page.names.append(Name(f"qd.{path}.{name}" if path else f"qd.{name}", value))
    for page in made.values():
        page.names.sort(key=lambda name: (not _is_called(name.value), name.short.casefold()))
    return [page for page in made.values() if page.names]


def _is_called(value: Any) -> bool:
    return callable(value) and type(value).__name__ not in ("DType", "VectorType", "MatrixType")


def modules() -> list[tuple[str, ModuleType, bool]]:
    """(path, module, whether users import names of it) of every module that `dir` shows in a public one."""
    found = {"qd": (qd, True)}
    for path in MODULES:
        for name, value in shown(module(path)):
            if isinstance(value, ModuleType) and value.__name__.startswith("quadrants"):
                inner = f"{path}.{name}" if path else name
                found[f"qd.{inner}"] = (value, inner in MODULES)
    return [(path, *row) for path, row in sorted(found.items())]
