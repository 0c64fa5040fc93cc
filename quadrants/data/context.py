"""The one door from data containers to the session: which runtime is live, its defaults and its hooks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from quadrants import targets

_attach_lock = threading.Lock()
_attached = False
_waiting: list = []


def _session():
    from quadrants import session

    return session


def require() -> None:
    """Raise `QuadrantsRuntimeError` ("Maybe you forgot to call `qd.init()` first?") without a live runtime."""
    session = _session()
    session.require_runtime()
    if not _attached:
        _attach(session)


def generation() -> int:
    """Which of the runtimes of this process is live: another number after each `qd.init` and `qd.reset`."""
    number: int = _session().generation()
    return number


def on_first_container(register: Callable[[Any], None]) -> None:
    """Call `register(session)` when the first container is made: before, there is nothing to allocate or to clear."""
    with _attach_lock:
        _waiting.append(register)
    if _attached:
        _attach(_session())


def _attach(session) -> None:
    global _attached
    with _attach_lock:
        _attached = True
        while _waiting:
            _waiting.pop(0)(session)


def python_arch() -> bool:
    """True after `qd.init(qd.python)`."""
    return _session().is_python_backend()


def on_device() -> bool:
    """True if kernels of the runtime in force see other memory than the host does."""
    arch = _session().get_runtime().arch
    target = targets.of_arch(arch.name) if arch is not None else None
    return target is not None and not target.host_memory


def synchronize() -> None:
    """Wait for the device and raise its pending failures."""
    _session().get_runtime().prog.synchronize()


def materialize() -> None:
    """Allocate pending fields through the runtime's own method, which client programs replace on the class."""
    _session().get_runtime().materialize()


def default_fp():
    """The real dtype that Python `float` stands for."""
    return _session().get_runtime().default_fp


def default_ip():
    """The integer dtype that Python `int` stands for."""
    return _session().get_runtime().default_ip


def debug() -> bool:
    """True if `qd.init(debug=True)` or `check_out_of_bound=True` is in force."""
    cfg = getattr(_session().get_runtime(), "cfg", None)
    return bool(getattr(cfg, "debug", False) or getattr(cfg, "check_out_of_bound", False))


def initialised() -> bool:
    """True if a runtime is live."""
    from quadrants.errors import QuadrantsRuntimeError

    try:
        _session().require_runtime()
    except QuadrantsRuntimeError:
        return False
    return True


def live_ndarrays():
    """Weak set of the runtime's ndarrays, gradients included."""
    return _session().get_runtime().ndarrays


def has_extension(name: str) -> bool:
    """Whether the arch of the runtime in force has an optional ability of `qd.extension`."""
    session = _session()
    return session.is_extension_enabled(session._arch.extension[name])


def sparse_arena() -> int:
    """Bytes that a program asked for, as the memory that each pool of a sparse tree has from the beginning."""
    gigabytes = _session().get_runtime().cfg.device_memory_GB
    return int(gigabytes * 2**30) if gigabytes != 1.0 else 0
