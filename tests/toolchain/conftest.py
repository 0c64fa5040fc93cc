"""Compilers that misbehave on demand, and processes to watch from outside."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from quadrants.toolchain import build, compiler
from quadrants.toolchain.compiler import which

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from toolchain_kit import ROOT  # noqa: E402


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path_factory):
    """No record of earlier builds, no settings from outside, and no files in the folders of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "user"))
    compiler.own_store.cache_clear()
    for name in [name for name in os.environ if name.startswith("QD_") and name != "QD_CC"]:
        monkeypatch.delenv(name)
    build.forget()
    before = vars(build.statistics).copy()
    yield
    vars(build.statistics).update(before)


@pytest.fixture
def gcc():
    path = which("gcc")
    if path is None:
        pytest.skip("needs gcc (system package gcc)")
    return path


@pytest.fixture
def fake_cc(tmp_path, monkeypatch, gcc):
    """`fake_cc(shell_text)` makes a compiler that answers probes like gcc and runs the text for a compile."""

    def make(body: str, name: str = "fake-cc") -> str:
        path = tmp_path / name
        path.write_text(f'#!/bin/sh\ncase "$*" in *-###*) exec {gcc} "$@";; esac\n{body}\n')
        path.chmod(0o755)
        monkeypatch.setenv("QD_CC", str(path))
        return str(path)

    return make


# What a shell starts in the background ignores interrupts, and so would its children.
INTERRUPTIBLE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


@pytest.fixture
def python():
    """`python(code, *argv, **env)` starts another Python that can import the package, and returns the process."""
    started = []

    def start(code: str, *argv: str, **env: str) -> subprocess.Popen:
        child = subprocess.Popen(
            # Python 3.12 warns of every fork in a process with threads; what these processes say is compared.
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", INTERRUPTIBLE + code, *argv],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": ROOT, "ENABLE_QUADRANTS_HEADER_PRINT": "0", **env},
        )
        started.append(child)
        return child

    yield start
    for child in started:
        if child.poll() is None:
            child.kill()
        child.communicate()


@pytest.fixture
def tmpfs(tmp_path):
    """`tmpfs(options)` mounts a file system in memory that is the user's alone, and returns its folder."""
    mounted = []

    def mount(options: str):
        folder = tmp_path / f"tmpfs{len(mounted)}"
        folder.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "tmpfs", str(folder)], capture_output=True, text=True
        )
        if done.returncode != 0:
            pytest.skip(f"needs root and the right to mount a tmpfs: {done.stderr.strip()}")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)
