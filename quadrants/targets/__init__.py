"""What kernels may run on: one record a target, in a module of its own, that says what all layers know of it.

A target is found by the name of an arch or by that of its dialect. Nobody compares names: what a layer wants to know
is a member of the record. A package of somebody else adds one by an entry point of the group `quadrants.backends`: its
name is that of the arch, and it leads to the record. docs/development/add_a_target.md tells the whole of it.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quadrants.targets.record import Target as Target

# Modules of this package with a record TARGET; one is imported when somebody asks for it.
_MODULES = ("cpu", "python", "cuda", "amdgpu", "metal", "vulkan", "opencl")
_HOSTS = {"x64": "cpu", "arm64": "cpu"}
_GROUP = "quadrants.backends"


@cache
def of_arch(name: str) -> Target | None:
    """The target of an arch by its name, or None."""
    module = _HOSTS.get(name, name)
    return _record(module) if module in _MODULES else _of_others().get(name)


@cache
def of_dialect(name: str) -> Target | None:
    """The target whose kernels are written in a dialect, or None."""
    found = (target for target in map(_record, _MODULES) if name and name == target.dialect)
    return next(found, None) or next((t for t in _of_others().values() if name and name == t.dialect), None)


def known() -> tuple[Target, ...]:
    """Every target."""
    return (*map(_record, _MODULES), *_of_others().values())


def _record(module: str) -> Target:
    found: Target = importlib.import_module(f"quadrants.targets.{module}").TARGET
    return found


@cache
def _of_others() -> dict[str, Target]:
    """The targets of other packages, by the names of their archs."""
    from importlib.metadata import entry_points  # slow to import, and mostly there is none

    from quadrants.targets.record import Target

    found = {entry.name: entry.load() for entry in entry_points(group=_GROUP)}
    for name, target in found.items():
        if not isinstance(target, Target) or name not in target.archs:
            raise TypeError(
                f"the entry point '{name}' of the group '{_GROUP}' must lead to a quadrants.targets.Target with "
                f"'{name}' among its archs, and leads to {target!r}"
            )
    return found


def __getattr__(name: str) -> Any:
    if name != "Target":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from quadrants.targets.record import Target  # records are read when somebody asks for one, and imports are counted

    return Target
