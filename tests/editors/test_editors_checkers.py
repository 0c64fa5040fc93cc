"""Type checkers on programs as users write them: nothing is reported, and mistakes are."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import quadrants

PROGRAMS = Path(__file__).parent / "programs"
PACKAGE = Path(quadrants.__file__).parent
NAMES = sorted(path.name for path in PROGRAMS.glob("*.py"))
MISTAKES = """
import quadrants as qd

qd.init(arch=qd.cpu)
qd.feild(qd.f32, 3)
x = qd.field(qd.f32, shape=3, needs_gradient=True)
x.two_numpy()
qd.init(qd.cpu).nothing  # anything goes
qd.math.crosss

@qd.kernel(grahp=True)
def k(): ...
y = qd.field(qd.f32, shape=3)
y[0].nothing
"""


def run(tool: str, *args: str, folder: Path) -> subprocess.CompletedProcess:
    """A checker as it runs for a user: in a folder that knows the package from its environment alone."""
    env = {**os.environ, "MYPYPATH": str(folder / "installed"), "PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-m", tool, *args]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Programs, and an environment in which the package is installed."""
    made = tmp_path_factory.mktemp("checked")
    site = made / "venv" / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    site.mkdir(parents=True)
    (made / "installed").symlink_to(site)
    (site / "quadrants").symlink_to(PACKAGE)
    (site / "numpy").symlink_to(Path(importlib.metadata.distribution("numpy").locate_file("numpy")))
    for name in NAMES:
        (made / name).write_text((PROGRAMS / name).read_text())
    (made / "mistakes.py").write_text(MISTAKES)
    config = {"typeCheckingMode": "basic", "venvPath": ".", "venv": "venv", "reportMissingImports": "none"}
    (made / "pyrightconfig.json").write_text(json.dumps(config))
    plugin = 'plugins = ["quadrants.mypy"]\nignore_missing_imports = true\nfollow_imports = "silent"\n'
    (made / "pyproject.toml").write_text("[tool.mypy]\n" + plugin)
    return made


@pytest.fixture(scope="module")
def pyright(folder) -> list[dict]:
    """What pyright says of all files, in its basic mode. The bundle of basedpyright runs without downloads."""
    ran = run("basedpyright", "--outputjson", folder=folder)
    return json.loads(ran.stdout)["generalDiagnostics"]


@pytest.fixture(scope="module")
def mypy(folder) -> list[str]:
    """What mypy says of all files, in its strict mode."""
    return run("mypy", "--strict", *NAMES, "mistakes.py", folder=folder).stdout.splitlines()


def test_there_are_ten_programs():
    assert len(NAMES) == 10


@pytest.mark.parametrize("name", NAMES)
def test_pyright_has_nothing_to_say(pyright, name):
    assert [d["message"] for d in pyright if d["file"].endswith(f"/{name}")] == []


@pytest.mark.parametrize("name", NAMES)
def test_mypy_has_nothing_to_say(mypy, name):
    assert [line for line in mypy if line.startswith(name)] == []


def test_mistakes_are_found(pyright, mypy):
    lines = {d["range"]["start"]["line"] + 1 for d in pyright if d["file"].endswith("mistakes.py")}
    assert {5, 6, 9, 11, 14} <= lines, pyright
    told = {int(line.split(":")[1]) for line in mypy if line.startswith("mistakes.py")}
    assert {5, 6, 9, 11, 14} <= told, mypy


@pytest.mark.parametrize("name", NAMES)
def test_the_programs_run(name):
    ran = subprocess.run([sys.executable, str(PROGRAMS / name)], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
