"""The tests that depend on the arch, on Metal's driver and its stand-in:

    PYTHONPATH=tests/metal QD_WANTED_ARCHS=metal python -m pytest -p standin_plugin tests/language

A test that starts processes of its own finds no device there.
"""

from __future__ import annotations

import metal_standin
import pytest

_patch = pytest.MonkeyPatch()


def pytest_configure(config):
    config.standin = metal_standin.install(_patch)


def pytest_unconfigure(config):
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
