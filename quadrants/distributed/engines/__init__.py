"""Engines: what carries data between ranks. The layer chooses one by the launcher and the arch."""

from __future__ import annotations

import importlib

from quadrants import spelling
from quadrants.distributed.engines.interface import Asked, Engine, Start
from quadrants.launched import Launch

# name -> the module with its `start`
_MODULES = {
    "single": "quadrants.distributed.engines.single",
    "mpi4py": "quadrants.distributed.engines.mpi",
    "torch": "quadrants.distributed.engines.torch",
}
_registered: dict[str, Start] = {}


def register_engine(name: str, start: Start) -> None:
    """Make `qdist.init(engine=name)` call `start(asked)`, which returns a connected engine.

    name: not one of the package's own, else ValueError. start: gets what the launcher said (`asked.launch`) and the
    time limit (`asked.timeout`, seconds). The engine has the methods of `Engine` in
    `quadrants.distributed.engines.interface`.

        qdist.register_engine("mine", lambda asked: MyEngine(asked.launch.rank))
    """
    if name in _MODULES:
        raise ValueError(f"{name!r} is an engine of the package; choose another name")
    _registered[name] = start


def chosen(launch: Launch | None) -> str:
    """The engine for a program that was started so."""
    if launch is None or launch.size == 1:
        return "single"
    return "torch" if launch.launcher == "torchrun" else "mpi4py"


def start(name: str, asked: Asked) -> Engine:
    """The engine of that name, connected. ValueError for an unknown one."""
    if name in _registered:
        return _registered[name](asked)
    if name not in _MODULES:
        known = sorted((*_MODULES, *_registered))
        raise ValueError(f"engine={name!r} is not known; engines are {', '.join(known)}{spelling.hint(name, known)}")
    engine: Engine = importlib.import_module(_MODULES[name]).start(asked)
    return engine
