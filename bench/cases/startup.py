"""Time of `qd.init` in a fresh process."""

from __future__ import annotations

from . import Work, case


@case("gpu_init", "qd.init and the first qd.sync", rows="gpu", kind="init", target=None, rounds=3)
def init(qd) -> Work:
    """The worker times the call itself; all that is left to do is to see that a runtime arrived."""
    return Work(run=lambda n: None, check=lambda: None if qd.cfg is not None else "qd.cfg is None after qd.init")
