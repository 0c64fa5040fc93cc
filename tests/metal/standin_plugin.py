"""The tests that depend on the arch, on Metal's driver and the stand-in of Apple's libraries: `make test-metal`, or

PYTHONPATH=tests/metal QD_WANTED_ARCHS=metal python -m pytest -p standin_plugin tests/language
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import metal_standin
import pytest

_patch = pytest.MonkeyPatch()
_HERE = Path(__file__).parent


class _Popen(subprocess.Popen):
    """Processes whose environment a test makes have the stand-in too."""

    def __init__(self, *args, env=None, **options):
        env = dict(os.environ if env is None else env)
        super().__init__(*args, env=env | {"PYTHONPATH": _path(env.get("PYTHONPATH"))}, **options)


def _path(rest: str | None) -> str:
    return os.pathsep.join(filter(None, (str(_HERE), str(_HERE / "children"), rest)))


def pytest_configure(config):
    _patch.setenv("PYTHONPATH", _path(None))
    _patch.setattr(subprocess, "Popen", _Popen)
    config.standin = metal_standin.install(_patch)


def pytest_unconfigure():
    _patch.undo()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    try:
        return (yield)
    finally:
        standin = item.config.standin
        complaints = standin.complaints()
        standin.log()
        if complaints:
            pytest.fail("\n".join(complaints[:20]), pytrace=False)
