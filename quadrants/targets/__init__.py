"""What kernels may run on: one record a target, in a module of its own, that says what all layers know of it.

A target is found by the name of an arch or by that of its dialect. Nobody compares names: what a layer wants to know
is a member of the record. A package of somebody else adds one by an entry point of the group `quadrants.backends`: its
name is that of the arch, and it leads to the record. docs/development/add_a_target.md tells the whole of it.
"""

import importlib
from functools import cache
from typing import NamedTuple


class Target(NamedTuple):
    """archs: names of `quadrants.arch` that it stands for. dialect: the language of its kernels, "" for none.
    language: how dumps call it, as in QD_DUMP_<language>; suffix: of files with its text. printing: module with the
    record DIALECT by which `quadrants.emit` prints it, "" as long as nothing does.

    compiler: module of `quadrants.toolchain` that makes binaries of its text; binaries: their suffixes, each behind the
    beginning of the names of the chips that they are for.

    backend: module that runs its kernels and registers with `quadrants.backends.registry`, "" as long as none does; its
    function `probe` tells whether that is possible here. extensions: names of `qd.extension` that it has.
    host_memory: kernels see the memory of the host; then their threads have no lanes and no shared memory.

    subgroup: threads that exchange values without a barrier; 0: none do, None: the device says. block_threads: the most
    of a block, None where there is no such limit. warps: `qd.simt.warp` works. block_votes: a barrier of the block
    counts votes; else shared memory does. shared_bytes: memory that every device has for a block, None where only the
    device knows. most_shared_bytes: the most that a block may ask for at a launch.
    graphs: tasks can be described to the driver once and launched as one, loops around them too.
    emulated_capability: what the emulator says where it is asked for the compute capability of a device.
    """

    archs: tuple[str, ...]
    dialect: str = ""
    language: str = ""
    suffix: str = ""
    printing: str = ""
    compiler: str = ""
    binaries: tuple[tuple[str, str], ...] = ()
    backend: str = ""
    extensions: tuple[str, ...] = ()
    host_memory: bool = False
    subgroup: int | None = None
    shared_bytes: int | None = None
    most_shared_bytes: int = 0
    block_threads: int | None = None
    warps: bool = False
    block_votes: bool = True
    graphs: bool = False
    emulated_capability: int = 0


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

    found = {entry.name: entry.load() for entry in entry_points(group=_GROUP)}
    for name, target in found.items():
        if not isinstance(target, Target) or name not in target.archs:
            raise TypeError(
                f"the entry point '{name}' of the group '{_GROUP}' must lead to a quadrants.targets.Target with "
                f"'{name}' among its archs, and leads to {target!r}"
            )
    return found
