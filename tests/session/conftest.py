"""Every test starts without a runtime, without QD_* variables, and with a launch core that notes what it is told."""

import importlib
import os
import sys
import types

import pytest

from quadrants import _logging, session


class CoreRecorder(types.ModuleType):
    """Stands in for the launch core: notes threads and seed, leaves the rest to the real one where it is built."""

    def __init__(self, real):
        super().__init__("quadrants._ext.core")
        self.real = real
        self.calls = []

    def set_threads(self, count):
        self.calls.append(("threads", count))

    def set_seed(self, seed):
        self.calls.append(("seed", seed))

    def __getattr__(self, name):
        return getattr(self.__dict__["real"], name)


def _try_import(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


@pytest.fixture(autouse=True)
def core(request, monkeypatch):
    kept = ("QD_EMULATE",) if "arch_name" in request.fixturenames else ()
    for name in [n for n in os.environ if n.startswith("QD_") and n not in kept or n == "QUADRANTS_LOAD_PTX"]:
        monkeypatch.delenv(name)
    package = _try_import("quadrants._ext") or types.ModuleType("quadrants._ext")
    recorder = CoreRecorder(_try_import("quadrants._ext.core"))
    monkeypatch.setitem(sys.modules, "quadrants._ext", package)
    monkeypatch.setitem(sys.modules, "quadrants._ext.core", recorder)
    monkeypatch.setattr(package, "core", recorder, raising=False)
    _logging.set_logging_level("info")
    yield recorder
    session.reset()
    _logging.set_logging_level("info")


@pytest.fixture
def hooks(monkeypatch):
    """A private set of callbacks: what a test registers is gone after it."""
    monkeypatch.setattr(session, "_hooks", {name: list(found) for name, found in session._hooks.items()})
    return session
