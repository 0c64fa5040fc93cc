"""Fixtures of the data tests: a fresh runtime for every test, and a check that no memory is left behind."""

import gc
import importlib.util
import sys
import types
from pathlib import Path

import hypothesis
import pytest

if importlib.util.find_spec("quadrants._ext") is None:
    # An in-place build keeps the extension in the top-level folder `_ext`, which only an installation maps.
    package = types.ModuleType("quadrants._ext")
    package.__path__ = [str(Path(__file__).parents[2] / "_ext")]
    sys.modules["quadrants._ext"] = package

from quadrants import session  # noqa: E402
from quadrants._ext.core import live_buffers  # noqa: E402

# Some examples compile, and machines of tests are busy: time says nothing about a failure.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


@pytest.fixture
def runtime(init):
    """A live runtime of the arch under test with default options; reset afterwards."""
    init()
    return session.get_runtime()


@pytest.fixture
def debug_runtime(init):
    """A live runtime of the arch under test with `debug=True`."""
    init(debug=True)
    return session.get_runtime()


@pytest.fixture
def no_leak(runtime):
    """Fails the test if buffers are alive after it that were not before, apart from field trees."""
    gc.collect()
    before = live_buffers()
    yield
    gc.collect()
    assert live_buffers() <= before
