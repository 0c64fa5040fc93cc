"""A runtime on a device with Vulkan, such as Mesa's on the processor; and one whose loader is watched."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
import sys
import textwrap
from functools import partial
from pathlib import Path

import pytest

import quadrants as qd
from quadrants.runtime import vulkan as backend

_BEGIN = """
import ctypes
import numpy as np
import quadrants as qd
standin = ctypes.CDLL("libvulkan.so.1")
def counter(name):
    return ctypes.c_int.in_dll(standin, "standin_" + name)
start = lambda **options: qd.init(arch=qd.vulkan, enable_fallback=False, log_level="error", **options)
"""


@pytest.fixture
def vulkan():
    """A function that starts the arch with options."""
    if not backend.probe():
        pytest.skip("; ".join(backend.lacking()))
    yield partial(qd.init, arch=qd.vulkan, enable_fallback=False)
    qd.reset()


@pytest.fixture(scope="session")
def _standin(tmp_path_factory):
    """The folder of a library that stands before the loader of the system: see standin.c."""
    if not backend.probe():
        pytest.skip("; ".join(backend.lacking()))
    compiler, loader = shutil.which("cc"), _path_of_loader()
    if compiler is None or loader is None or not os.path.exists("/usr/include/vulkan/vulkan.h"):
        pytest.skip("apt install gcc libvulkan-dev: no stand-in for the loader can be made")
    folder = tmp_path_factory.mktemp("standin")
    source = Path(__file__).with_name("standin.c")
    command = [compiler, "-shared", "-fPIC", "-fvisibility=hidden", str(source), "-o", str(folder / "libvulkan.so.1")]
    subprocess.run([*command, "-ldl"], check=True)
    return folder, loader


def _path_of_loader() -> str | None:
    name = ctypes.util.find_library("vulkan")
    if name is None:
        return None
    ctypes.CDLL(name)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next((line.split()[-1] for line in maps if "libvulkan.so" in line), None)


@pytest.fixture
def watched(_standin, tmp_path):
    """A function that runs a program in a process of its own, where `counter("submissions")` and the like are numbers
    of the stand-in, and `start(...)` starts the arch. Returns what it printed, by lines."""
    folder, loader = _standin

    def run(program: str, **environment: str) -> list[str]:
        file = tmp_path / "program.py"
        file.write_text(_BEGIN + textwrap.dedent(program))
        there = {**os.environ, "LD_LIBRARY_PATH": str(folder), "STANDIN_LOADER": loader, **environment}
        done = subprocess.run([sys.executable, str(file)], env=there, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return [line for line in done.stdout.splitlines() if not line.startswith("[Quadrants]")]

    return run
