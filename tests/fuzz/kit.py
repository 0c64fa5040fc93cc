"""For the tests that the hunt prints."""

from __future__ import annotations

import os

from .process import Worker


def assert_modelled(text: str, options: dict, arch_name: str) -> None:
    """The program gives what the model says; it runs in a process of its own, as it may end it."""
    emulated = arch_name == "cpu" or os.environ.get("QD_EMULATE") == "1"
    worker = Worker(arch_name if emulated else f"{arch_name}-real")
    try:
        outcome = worker.check(text, options)
    finally:
        worker.stop()
    assert outcome["kind"] == "ok", f"{outcome['kind']}: {outcome['sign']}\n{outcome['detail']}"
