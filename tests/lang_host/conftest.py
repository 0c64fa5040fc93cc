"""Tests of values and types in Python scope; none of them needs a compiler or a device."""

from __future__ import annotations

import pytest

from quadrants import session
from quadrants.ir.types import f32, i32


@pytest.fixture
def default_types(monkeypatch):
    """A function that sets what `float` and `int` mean, as `qd.init` would."""

    def choose(fp=f32, ip=i32):
        options = session.get_runtime().options
        monkeypatch.setattr(options, "default_fp", fp)
        monkeypatch.setattr(options, "default_ip", ip)

    return choose
