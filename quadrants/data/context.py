"""The one door from data containers to the session: which runtime is live, its defaults and its hooks."""

from __future__ import annotations

import threading

_attach_lock = threading.Lock()
_attached = False
# The archs whose kernels run in host memory.
_HOST_ARCHS = ("x64", "arm64", "python")


def _session():
    from quadrants import session

    return session


def require() -> None:
    """Raise `QuadrantsRuntimeError` ("Maybe you forgot to call `qd.init()` first?") without a live runtime."""
    session = _session()
    session.require_runtime()
    if not _attached:
        _attach(session)


def _attach(session) -> None:
    # Deferred to the first container ever made: before that there is nothing to allocate or to clear.
    global _attached
    from quadrants.data import ndarray, snode

    with _attach_lock:
        if not _attached:
            session.on_materialize(snode.materialize)
            session.on_clear(snode.clear)
            session.on_clear(ndarray.clear)
            _attached = True


def python_arch() -> bool:
    """True after `qd.init(qd.python)`."""
    return _session().is_python_backend()


def on_device() -> bool:
    """True if kernels of the runtime in force see other memory than the host does."""
    arch = _session().get_runtime().arch
    return arch is not None and arch.name not in _HOST_ARCHS


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
