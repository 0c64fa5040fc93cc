"""Arrows between the layers of the package point one way."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from tree import ROOT, with_suffix

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # comes with pytest


def _contracts() -> list[dict]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def test_every_import_rule_holds():
    pytest.importorskip("importlinter", reason="needs the package import-linter")
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[done.stdout.find("Contracts:") :] + done.stderr
    assert re.search(rf"Contracts: {len(_contracts())} kept, 0 broken", done.stdout)


def test_every_part_of_the_package_has_a_layer():
    package = ROOT / "quadrants"
    parts = {p.stem for p in package.glob("*.py")} | {p.parent.name for p in package.glob("*/__init__.py")}
    layers = _contracts()[0]
    assert layers["type"] == "layers" and layers["exhaustive"]
    assert not any("ignore_imports" in contract for contract in _contracts())
    found = [part for line in layers["layers"] for part in re.findall(r"\w+", line)]
    assert sorted(found) == sorted(parts - {"__init__"})


def test_the_launch_core_imports_only_the_error_classes():
    found = set()
    for path in with_suffix(".pyx", ".pxi", ".pxd"):
        found |= set(re.findall(r"^\s*(?:from|import)\s+(quadrants[\w.]*)", path.read_text(), re.MULTILINE))
    assert found == {"quadrants.errors"}


@pytest.mark.parametrize("module", ["jinja2", "torch", "ctypes.util", "concurrent.futures", "multiprocessing"])
def test_importing_the_package_leaves_slow_modules_alone(module):
    code = f"import sys, quadrants; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
