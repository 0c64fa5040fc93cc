"""A runtime on a device with Vulkan, such as Mesa's on the processor."""

from __future__ import annotations

from functools import partial

import pytest

import quadrants as qd
from quadrants.runtime import vulkan as backend


@pytest.fixture
def vulkan():
    """A function that starts the arch with options."""
    if not backend.probe():
        pytest.skip("; ".join(backend.lacking()))
    yield partial(qd.init, arch=qd.vulkan, enable_fallback=False)
    qd.reset()
