"""What pyproject.toml says of the package, and the programs that come with it."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from tree import ROOT

import quadrants
from quadrants._version import DISTRIBUTION, __version__, __version_str__

tomllib = pytest.importorskip("tomllib", reason="reading pyproject.toml takes Python 3.11")
SAID = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SAID["project"]
WHEELS = SAID["tool"]["cibuildwheel"]


def python(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_one_version_everywhere():
    assert DISTRIBUTION.startswith(__version_str__ + "+") and __version_str__ == "1.3.3" and __version__ == (1, 3, 3)
    assert version("quadrants") == DISTRIBUTION
    assert python("-m", "quadrants", "--version") == f"quadrants {DISTRIBUTION}\n"
    assert SAID["tool"]["setuptools"]["dynamic"]["version"]["attr"] == "quadrants._version.DISTRIBUTION"


def test_the_pythons_agree():
    low, high = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", PROJECT["requires-python"]).groups()
    wanted = [f"3.{minor}" for minor in range(int(low), int(high))]
    prefix = "Programming Language :: Python :: 3."
    assert [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if c.startswith(prefix)] == wanted
    assert WHEELS["build"].split() == [f"cp{name.replace('.', '')}-*" for name in wanted]
    assert SAID["tool"]["mypy"]["python_version"] == wanted[0]
    assert SAID["tool"]["ruff"]["target-version"] == "py" + wanted[0].replace(".", "")


def test_what_is_named_is_there():
    for file in (PROJECT["readme"], *PROJECT["license-files"]):
        assert (ROOT / file).is_file()
    module, _, function = PROJECT["scripts"]["quadrants"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))
    assert Path(quadrants.__file__).with_name("py.typed").is_file() and "Typing :: Typed" in PROJECT["classifiers"]


def test_a_wheel_is_tried_with_a_kernel():
    program = re.search(r"\{project\}/(\S+)", WHEELS["test-command"])[1]
    assert python(program).startswith("a kernel ran on ")


def test_hints_name_packages_that_extras_bring():
    """And no extra: where this package is not installed, its name leads to another one."""
    brought = {re.match(r"[\w-]+", need)[0] for extra in PROJECT["optional-dependencies"].values() for need in extra}
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "quadrants").rglob("*.py"))
    hinted = set(re.findall(r"pip install ([\w-]+)`", text))
    assert {"ziglang", "nvidia-cuda-nvrtc-cu12"} <= hinted
    assert "nvidia-cuda-nvrtc" in brought and hinted - brought <= {"torch", "jinja2"}, hinted - brought
    assert "pip install quadrants" not in text
