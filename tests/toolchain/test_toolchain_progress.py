"""The progress line."""

from __future__ import annotations

import io
import sys
import time
from types import SimpleNamespace

import pytest

from quadrants.toolchain import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    stream = Terminal()
    # Not sys.stderr itself, which pytest sets anew between a fixture and its test.
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    monkeypatch.setattr(progress, "DELAY", 0.05)
    return stream


def test_a_long_compile_is_shown_and_erased(terminal):
    with progress.compiling("my_kernel", 2, 5):
        time.sleep(0.2)
        assert terminal.getvalue() == "\r\x1b[2Kcompiling my_kernel (2 of 5)"
    assert terminal.getvalue().endswith("\r\x1b[2K")


def test_a_short_compile_is_not_shown(terminal):
    with progress.compiling("my_kernel"):
        pass
    time.sleep(0.1)
    assert terminal.getvalue() == ""


def test_it_is_erased_after_a_failure(terminal):
    with pytest.raises(RuntimeError), progress.compiling("my_kernel"):
        time.sleep(0.2)
        raise RuntimeError
    assert terminal.getvalue().endswith("\r\x1b[2K") and "my_kernel" in terminal.getvalue()


def test_of_two_the_longer_is_shown_then_the_other(terminal):
    with progress.compiling("second", 2, 2):
        with progress.compiling("first", 1, 2):
            time.sleep(0.2)
        assert terminal.getvalue().count("\r") == 1 and "second" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[2K")


def test_nothing_is_shown_without_a_terminal(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.05)
    for stream in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress.compiling("my_kernel"):
            time.sleep(0.1)
        assert stream is None or stream.getvalue() == ""


def test_a_closed_stream_does_no_harm(monkeypatch):
    stream = Terminal()
    stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.compiling("my_kernel"):
        pass
