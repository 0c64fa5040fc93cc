"""The tests that depend on the arch, on Metal's driver and the stand-in of Apple's libraries: `make test-metal`, or

PYTHONPATH=tests/metal QD_WANTED_ARCHS=metal python -m pytest -p standin_plugin tests/language
"""

from __future__ import annotations

import os
from pathlib import Path

import metal_standin
import pytest

_patch = pytest.MonkeyPatch()


def pytest_configure(config):
    here = Path(__file__).parent
    _patch.setenv("PYTHONPATH", os.pathsep.join((str(here), str(here / "children"))))
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
