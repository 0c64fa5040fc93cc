"""The fixtures that all tests share do what they promise."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tree import ROOT, with_suffix

CONFTEST = ROOT / "tests" / "conftest.py"


def _conftest():
    spec = importlib.util.spec_from_file_location("shared_conftest", CONFTEST)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "archs"),
    [("", ["cpu"]), ("cuda,cpu", ["cuda", "cpu"]), ("^cpu", []), ("cpu, vulkan,^cpu", ["vulkan"]), (" ", ["cpu"])],
)
def test_wanted_archs(text, archs):
    assert _conftest().wanted_archs(text) == archs


def test_an_unknown_arch_is_refused():
    with pytest.raises(pytest.UsageError, match="no arch gpu9; the archs are cpu, cuda"):
        _conftest().wanted_archs("cpu,gpu9")


# The table of names has files, which `test_project_api.py` looks for.
TABLES = sorted(p for p in (ROOT / "docs" / "development" / "coverage").glob("*.md") if p.stem != "api")


@pytest.mark.parametrize("page", TABLES, ids=lambda page: page.stem)
def test_tables_of_requirements_name_tests_that_exist(page):
    there = set()
    for path in with_suffix(".py"):
        there.update(re.findall(r"^ *def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE))
    named = re.findall(r"(?:::(?=test_)|`(?=test_\w+`))(\w+)", page.read_text(encoding="utf-8"))
    assert named and [test for test in named if test not in there] == []


@pytest.fixture
def run(tmp_path):
    """`run(text, *options, **environment)` runs the text as the only test file beside the shared conftest."""
    shutil.copy(CONFTEST, tmp_path / "conftest.py")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    runtime: x\n    cpu_only: x\n")

    def start(text: str, *options: str, **environment: str) -> subprocess.CompletedProcess:
        (tmp_path / "test_it.py").write_text(text)
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "test_it.py"],
            cwd=tmp_path,
            env={**os.environ, "QD_WANTED_ARCHS": "", "QD_TEST_SHARE": "", **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )

    return start


def test_a_share_is_a_part_of_the_tests(run):
    text = "import pytest\n@pytest.mark.parametrize('k', range(60))\ndef test_one(k, arch_name):\n    print(f'<{k}>')\n"
    found = [re.findall(r"<(\d+)>", run(text, "-s", QD_TEST_SHARE=share).stdout) for share in ("3:a", "3:b", "1:a", "")]
    assert set(found[0]) != set(found[1]) and all(5 < len(part) < 40 for part in found[:2])
    assert len(found[2]) == len(found[3]) == 60


def test_a_sample_is_a_part_of_those_that_are_marked(run):
    text = "import pytest\nmany = pytest.mark.parametrize('k', range(60))\n"
    text += "@many\ndef test_one(k, arch_name):\n    print(f'<{k}>')\n"
    text += "@many\n@pytest.mark.sampled\ndef test_two(k, arch_name):\n    print(f'<{k + 60}>')\n"
    found = {int(k) for k in re.findall(r"<(\d+)>", run(text, "-s", QD_TEST_SAMPLE="3:a").stdout)}
    assert found >= set(range(60)) and 5 < len(found - set(range(60))) < 40


def test_a_test_that_hangs_in_native_code_with_the_lock_held_ends(run):
    done = run("import ctypes\ndef test_stuck():\n    ctypes.PyDLL(None).sleep(100)\n", QD_TEST_TIMEOUT="1")
    assert done.returncode == 1
    assert "Timeout (0:00:01)!" in done.stderr and "test_stuck" in done.stderr


def test_quick_tests_are_left_alone(run):
    assert run("def test_quick():\n    assert True\n", QD_TEST_TIMEOUT="30").returncode == 0


def test_a_run_has_its_own_cache_folder_and_removes_it(run):
    text = "import os\ndef test_show():\n    print(os.environ['QD_OFFLINE_CACHE_FILE_PATH'])\n"
    folders = [
        next(line for line in run(text, "-s").stdout.splitlines() if "quadrants-tests-" in line) for _ in range(2)
    ]
    assert folders[0] != folders[1]
    assert not any(Path(folder).parent.exists() for folder in folders)


def test_the_arch_fixture_starts_and_ends_a_runtime(run):
    text = """
import pytest, quadrants as qd
from quadrants import session

@pytest.mark.runtime(debug=True, default_fp=qd.f64)
def test_options(arch):
    assert arch == qd.cpu and qd.cfg.debug and qd.cfg.default_fp is qd.f64

def test_after():
    assert session.current_cfg() is None

@pytest.mark.runtime(exclude=("cpu",))
def test_elsewhere(arch):
    raise AssertionError

@pytest.mark.runtime(require=("mesh",))
def test_extension(arch):
    assert qd.is_extension_enabled(qd.extension.mesh)
"""
    done = run(text, "-rs")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout and "has no extension mesh" in done.stdout


FOLDER_OF_TESTS = """
import os, pytest, quadrants as qd

def test_with_options(init, arch_name):
    init(random_seed=4)
    assert qd.cfg.arch is getattr(qd, arch_name) and qd.cfg.random_seed == 4

def test_program(arch_name, arch_environment):
    assert arch_environment == {"QD_ARCH": arch_name, "QD_EMULATE": "1"}

@pytest.mark.cpu_only
def test_once():
    assert True

@pytest.mark.cpu_only
def test_of_the_cpu(init):
    init()
    assert qd.cfg.arch is qd.cpu

def test_that_does_not_say():
    assert True
"""


@pytest.mark.parametrize(
    ("archs", "passed", "deselected"),
    [("cpu", 4, []), ("vulkan", 1, ["once", "of_the_cpu", "not_say"]), ("cpu,vulkan", 5, [])],
)
def test_tests_take_an_arch_or_are_about_the_cpu(run, tmp_path, archs, passed, deselected):
    """Vulkan, hidden, is an arch that cannot run here: that fails, and what takes its name only still passes."""
    (tmp_path / "language").mkdir()
    (tmp_path / "language" / "test_in_folder.py").write_text(FOLDER_OF_TESTS)
    done = run("", "language", "-rA", QD_WANTED_ARCHS=archs, QD_EMULATE="1", QD_ENABLE_VULKAN="0")
    assert f"{passed} passed," in done.stdout, done.stdout + done.stderr
    assert ("test_with_options[vulkan]" in done.stdout) == ("vulkan" in archs)
    assert ("is not supported" in done.stdout) == ("vulkan" in archs)
    assert ("take `arch` or `init`" in done.stdout) == ("cpu" in archs)
    assert not any(f"test_{name}" in done.stdout for name in deselected)


LACKING = """
import pytest, quadrants as qd

@pytest.fixture
def x(arch):
    return qd.field(qd.f64, 3)

def test_needs_f64(x):
    @qd.kernel
    def fill():
        for i in x:
            x[i] = 1

    fill()

@pytest.mark.runtime(default_fp=qd.f64)
def test_starts_with_f64(arch):
    assert arch

def test_another_refusal(arch):
    @qd.kernel
    def wrong(x: qd.i32):
        x.real = 1

    wrong(1)

def test_the_words_in_another_error(arch):
    raise ValueError("arch metal has no f64")

@pytest.mark.cpu_only
def test_of_no_arch():
    raise qd.QuadrantsTypeError("arch metal has no f64")
"""


def test_what_an_arch_lacks_is_skipped_with_the_refusal_and_nothing_else_is(run):
    done = run(LACKING, "-rsf", QD_WANTED_ARCHS="metal,cpu", QD_EMULATE="1")
    assert "2 skipped" in done.stdout, done.stdout + done.stderr
    assert "is of type f64, and arch metal has no f64. Use f32 instead" in done.stdout
    assert "default_fp=qd.f64: arch metal has no f64" in done.stdout
    failed = {line.split("::")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("FAILED")}
    assert failed == {
        "test_another_refusal[metal]", "test_another_refusal[cpu]", "test_the_words_in_another_error[metal]",
        "test_the_words_in_another_error[cpu]", "test_of_no_arch",
    }  # fmt: skip
