"""Programs in files that a test writes, imported as often as it likes, over one cache folder."""

from __future__ import annotations

import importlib.util
import itertools
import os
import sys
import time

import pytest

import quadrants as qd
from quadrants.toolchain import build

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cache_kit import KEPT, Cache, start_python  # noqa: E402

_serial = itertools.count()


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    """No settings from outside, no record of earlier builds, no runtime left over."""
    for name in [name for name in os.environ if name.startswith("QD_") and name not in KEPT]:
        monkeypatch.delenv(name)
    yield
    qd.reset()


@pytest.fixture
def cache(tmp_path, init):
    """A folder of one's own; `cache.start(**options)` is a new runtime that knows only what is on disk."""
    return Cache(tmp_path / "qdcache", init)


@pytest.fixture
def program(tmp_path):
    """`program(text)` writes and imports a module. The file stays the same; each import makes new kernels."""
    path = tmp_path / "user_program.py"

    def load(text: str):
        before = path.stat().st_mtime_ns if path.exists() else 0
        path.write_text("import quadrants as qd\n" + text)
        # Python takes its bytecode to be that of a file of the same size and the same second.
        os.utime(path, ns=(time.time_ns(), max(time.time_ns(), before + 1_000_000_000)))
        spec = importlib.util.spec_from_file_location("user_program", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["user_program"] = module
        spec.loader.exec_module(module)
        return module

    yield load
    sys.modules.pop("user_program", None)


@pytest.fixture
def compiled():
    """`compiled()` is how many times a compiler ran since it was last asked."""
    seen = [build.statistics.compiled]

    def count() -> int:
        now = build.statistics.compiled
        new, seen[0] = now - seen[0], now
        return new

    return count


@pytest.fixture
def python(tmp_path, arch_environment):
    """`python(program_text, **env)` starts another process that runs the text from a file, on the arch under test; it
    ends with the test.
    """
    started = []

    def start(text: str, *argv: str, **env: str):
        path = tmp_path / f"process_{next(_serial)}.py"
        path.write_text(text)
        return _start(path, argv, env)

    def _start(path, argv, env):
        child = start_python(path, argv, {**arch_environment, **env})
        started.append(child)
        return child

    start.file = lambda path, *argv, **env: _start(path, argv, env)
    yield start
    for child in started:
        if child.poll() is None:
            child.kill()
        child.communicate()
