"""The progress line."""

from __future__ import annotations

import _thread
import io
import sys
import time
from types import SimpleNamespace

import pytest

import quadrants as qd
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


@pytest.fixture
def logged(monkeypatch):
    """What the log is told, without a terminal."""
    lines: list[str] = []
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=io.StringIO()))
    monkeypatch.setattr(progress, "LOG_DELAY", 0.1)
    monkeypatch.setattr(progress._logging, "info", lines.append)
    return lines


def test_the_log_hears_of_a_long_compile_once(logged):
    with progress.compiling("my_kernel"):
        time.sleep(0.3)
    assert len(logged) == 1 and "'my_kernel' has been compiling for" in logged[0]
    with progress.compiling("short"):
        pass
    time.sleep(0.2)
    assert len(logged) == 1


def test_the_log_hears_of_a_long_translation(logged):
    with progress.translating("my_kernel"):
        progress.tick()
        assert not logged
        time.sleep(0.15)
        progress.tick()
        progress.tick()
        with progress.compiling("my_kernel"):
            time.sleep(0.15)
    assert len(logged) == 1 and "'my_kernel'" in logged[0]
    progress.tick()
    assert len(logged) == 1


def test_the_compiler_is_waited_for_as_long_as_is_left(logged):
    """Both together take too long, neither does by itself."""
    with progress.translating("my_kernel"):
        time.sleep(0.07)
        with progress.compiling("my_kernel"):
            time.sleep(0.07)
    assert len(logged) == 1


def test_a_long_translation_is_shown_on_a_terminal(terminal):
    with progress.translating("my_kernel"):
        progress.tick()
        time.sleep(0.1)
        progress.tick()
        assert terminal.getvalue() == "\r\x1b[2Kcompiling my_kernel"
    assert terminal.getvalue().endswith("\r\x1b[2K")


def test_no_thread_is_left(logged):
    before = _thread._count()
    for _ in range(3):
        with progress.translating("my_kernel"), progress.compiling("my_kernel"):
            reaches(before + 1)
        reaches(before)


def reaches(threads):
    """Wait until so many run: they are counted as they begin and end."""
    deadline = time.monotonic() + 5.0
    while _thread._count() != threads and time.monotonic() < deadline:
        time.sleep(0.001)
    assert _thread._count() == threads


def test_kernels_say_their_name(logged, monkeypatch):
    """From the frontend and from the compiler."""
    monkeypatch.setattr(progress, "LOG_DELAY", 0.0)
    qd.init(arch=qd.cpu, offline_cache=False)

    @qd.func
    def part(x):
        return x + 1

    @qd.kernel
    def slow_one(x: qd.i32) -> qd.i32:
        return part(x)

    assert slow_one(1) == 2
    qd.reset()
    assert sum("Kernel 'slow_one' has been compiling" in line for line in logged) == 1
