"""The backends that can run kernels, by arch name. A backend's module is imported when its arch is first used."""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from quadrants import session, spelling, targets
from quadrants.arch import Arch, by_name
from quadrants.errors import QuadrantsRuntimeError

if TYPE_CHECKING:
    from quadrants.backends.interface import Backend, Device, DeviceBackend

# A module registers its archs when it is imported. The emulator stands in for a device under the device's name.
_makers: dict[str, Callable[[], Backend]] = {}
_current: dict[tuple[str, int], Backend] = {}
_beside_start: list[Callable[[Any], None]] = []
_running: list[threading.Thread] = []


def register(names: tuple[str, ...], make: Callable[[], Backend]) -> None:
    """`make()` creates the backend object of these archs on first use after an init."""
    for name in names:
        _makers[name] = make


def beside_start(work: Callable[[Any], None]) -> None:
    """Call `work(cfg)` in another thread while `qd.init` starts a device; init does not wait for its end."""
    _beside_start.append(work)


def _end_beside() -> None:
    """A child process has none of the threads, and would wait for the imports that they had begun."""
    for thread in tuple(_running):
        thread.join()
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_end_beside)


def current() -> Backend:
    """The backend of the runtime in force."""
    runtime = session.require_runtime()
    found = _current.get(_incarnation(runtime))
    if found is None:
        with runtime.compilation_lock:
            runtime = session.require_runtime()  # a reset of another thread may have been waited for
            key = _incarnation(runtime)
            found = _current.get(key)
            if found is None:
                found = _maker(runtime)()
                _current.clear()
                _current[key] = found
    return found


def _incarnation(runtime: Any) -> tuple[str, int]:
    arch = runtime.arch  # None where another thread is ending the runtime
    return arch.name if arch is not None else "", session.generation()


def with_device() -> DeviceBackend:
    """The same, where it has a device."""
    return cast("DeviceBackend", current())


def device() -> Device:
    """The device of that backend."""
    return with_device().device


def _maker(runtime: Any) -> Callable[[], Backend]:
    name = runtime.arch.name
    target = targets.of_arch(name)
    if name not in _makers and target is not None and target.backend:
        importlib.import_module(target.backend)
    if name not in _makers:
        raise QuadrantsRuntimeError(f"arch {name} cannot run kernels in this version")
    return _makers[name]


def arch_of(dialect: str) -> str:
    """The name of the arch whose kernels are written in a dialect, "" for the CPU's and for unknown ones."""
    target = targets.of_dialect(dialect)
    return "" if target is None or target.host_memory else target.archs[0]


def dialect_name(arch: Any = None) -> str:
    """The dialect of an arch constant, an arch name or a dialect name; None means the current arch.

    TypeError for what is none of these, ValueError where there is no dialect.
    """
    if arch is None:
        arch = session.require_runtime().arch
    if not isinstance(arch, (str, Arch)):
        raise TypeError(f"arch must be one arch, such as qd.cuda, or the name of one, not {arch!r}")
    name = _name_of(arch)
    target = targets.of_arch(name)
    dialect = target.dialect if target is not None and target.backend else name
    found = targets.of_dialect(dialect)
    if found is None or not found.printing:
        printed = [one for one in targets.known() if one.printing]
        known = ["cpu" if one.host_memory else one.archs[0] for one in printed]
        hint = spelling.hint(name, known)
        raise ValueError(f"No text of kernels is written for arch {name!r}{hint}; there is one for {', '.join(known)}")
    return dialect


def _name_of(arch: Arch | str) -> str:
    """The name of an arch, which has others in texts; dialects keep theirs."""
    with contextlib.suppress(ValueError):
        found = by_name(arch) if isinstance(arch, str) else arch
        return found.name if isinstance(found, Arch) else str(arch)
    return str(arch)


def _clear() -> None:
    """Bring the disk cache back under its limit, and let go of the device; at reset and exit."""
    backends = list(_current.values())
    _current.clear()
    for backend in backends:
        backend.close()


def _start(cfg: Any) -> None:
    """A device that does not start is an error of `qd.init`, not of the first kernel."""
    target = targets.of_arch(cfg.arch.name)
    if target is None or not target.backend or target.host_memory:
        return
    _end_beside()
    for work in _beside_start:
        thread = threading.Thread(target=work, args=(cfg,), name="quadrants-start")
        thread.start()
        _running.append(thread)
    try:
        current()
    except BaseException:
        _end_beside()
        raise


def _synchronize() -> None:
    for backend in list(_current.values()):
        backend.synchronize()


session.on_init(_start)
session.on_sync(_synchronize)
session.on_clear(_clear)
