"""Files stay short, and the tree speaks of itself alone."""

from __future__ import annotations

import re
import stat
import statistics
import subprocess
from collections import Counter

from tree import ROOT, name, tracked, with_suffix

SOURCES = (".py", ".pyx", ".pxi", ".pxd", ".cpp", ".hpp", ".h", ".j2")
# Spelled in pieces, so that this file does not match itself.
FOREIGN = re.compile(r"(?<![\w.-])/(?:" + "work" + r"|root|home/(?!me\b)\w+" + r"|tmp/(?:dev|ref" + r"env|brief))\b")


def test_every_file_has_fewer_than_500_lines():
    sizes = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in with_suffix(*SOURCES)}
    assert {path: size for path, size in sizes.items() if size >= 500} == {}


def test_the_median_file_of_the_package_is_short():
    sizes = [len(path.read_text().splitlines()) for path in with_suffix(".py") if name(path).startswith("quadrants/")]
    assert statistics.median(sizes) <= 170


def test_no_file_names_a_folder_of_somebodys_machine():
    found = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{name(path)}: {match.group()}" for match in FOREIGN.finditer(text)]
    assert found == []


def test_runtime_errors_are_of_the_package():
    """Whoever catches QuadrantsRuntimeError catches them all; a program of its own, HIPRTC's, has only Python's."""
    plain = re.compile(r"\braise RuntimeError\b")
    sources = [p for p in with_suffix(".py") if name(p).startswith("quadrants/") and p.name != "hiprtc_child.py"]
    assert [name(p) for p in sources if plain.search(p.read_text())] == []


def test_the_licence_is_whole():
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text and "Version 2.0, January 2004" in text and "END OF TERMS AND CONDITIONS" in text


def test_the_ci_script_is_executable_and_parses():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & stat.S_IXUSR
    assert subprocess.run(["bash", "-n", script]).returncode == 0


def test_no_two_modules_of_the_tests_share_a_name():
    # All folders of the tests are on the import path of one process: the second module of a name is never found.
    # Modules of packages have longer names.
    modules = [path for path in with_suffix(".py") if name(path).startswith("tests/")]
    stems = Counter(path.stem for path in modules if not (path.parent / "__init__.py").exists())
    assert [stem for stem, count in stems.items() if count > 1 and stem != "conftest"] == []
