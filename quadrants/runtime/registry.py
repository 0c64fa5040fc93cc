"""The backends that can run kernels, by arch name."""

from __future__ import annotations

from quadrants import session
from quadrants.errors import QuadrantsRuntimeError

_makers: dict = {}
_current: dict = {}

DIALECTS = {"x64": "c", "arm64": "c", "cuda": "cuda"}


def register(names: tuple, make) -> None:
    """`make()` creates the backend object of these archs on first use after an init."""
    for name in names:
        _makers[name] = make


def current():
    """The backend of the runtime in force: see `quadrants.runtime.cpu.CpuBackend` for what it offers."""
    name = session.require_runtime().arch.name
    if name not in _makers:
        raise QuadrantsRuntimeError(f"arch {name} cannot run kernels in this version")
    key = (name, session.generation())
    if key not in _current:
        _current.clear()
        _current[key] = _makers[name]()
    return _current[key]


def dialect_name(arch=None) -> str:
    """The dialect of an arch constant, an arch name or a dialect name; None means the current arch."""
    if arch is None:
        arch = session.require_runtime().arch
    name = arch if isinstance(arch, str) else arch.name
    return DIALECTS.get(name, name)
