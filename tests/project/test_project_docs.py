"""Every Python block of the documentation is a program that runs, and prints what the text block after it shows.

A block ```python is written to a file and run by itself, on each arch under test. A block ```text that follows it
directly is its standard output, without the lines in which the package announces itself. Other blocks ```text are not
looked at. A block that begins with the comment `# name.py` is also a module, which later programs of the page import.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass

import pytest
from tree import ROOT, name

from quadrants import arch
from quadrants.errors import QuadrantsTypeError

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# What `make docs` makes; it fails where a link to it leads nowhere.
MADE = re.compile(r"(^|/)(made|reference|gallery)/[\w.]+$|^(contributing|changelog)\.md$")
MODULE = re.compile(r"# (\w+\.py)\n")
# Packages that programs use, and no other part of the project.
PACKAGES = ("torch", "ray", "dask.distributed", "zarr")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


@dataclass
class Program:
    place: str  # page:line, also the id of the test
    text: str
    output: str | None
    modules: dict[str, str]  # file name -> text


def programs(page) -> list[Program]:
    text = page.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    found, modules = [], {}
    for block, after in zip(blocks, [*blocks[1:], None]):
        if block[1] != "python":
            continue
        follows = after is not None and after[1] == "text" and not text[block.end() : after.start()].strip()
        line = text.count("\n", 0, block.start()) + 2
        found.append(Program(f"{name(page)}:{line}", block[2], after[2] if follows else None, dict(modules)))
        if module := MODULE.match(block[2]):
            modules[module[1]] = block[2]
    return found


ALL = [program for page in PAGES for program in programs(page)]


@pytest.mark.sampled
@pytest.mark.parametrize("program", ALL, ids=lambda program: program.place)
def test_a_program_of_the_documentation_runs(arch_name, program, tmp_path):
    for package in PACKAGES:
        if re.search(rf"^(import|from) {package}\b", program.text, re.MULTILINE):
            pytest.importorskip(package, reason=f"the program needs {package} (pip install {package.split('.')[0]})")
    if "import pyopencl" in program.text and not arch.is_arch_supported(arch.Arch("opencl")):
        pytest.skip("the program needs an OpenCL device: apt install pocl-opencl-icd, pip install pyopencl")
    for file, text in {**program.modules, "program.py": program.text}.items():
        (tmp_path / file).write_text(text.replace("arch=qd.cpu", f"arch=qd.{arch_name}, enable_fallback=False"))
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        # Ray writes to the home. Python 3.12 warns of every fork of a process that has threads.
        env={**os.environ, "HOME": str(tmp_path), "PYTHONWARNINGS": "ignore:This process:DeprecationWarning"},
    )  # fmt: skip
    if f"functions of arch {arch_name} cannot call themselves" in done.stderr:
        assert arch_name in ("metal", "opencl")  # as the guide says of the program
        return
    if "quadrants.errors.QuadrantsTypeError: " in done.stderr:
        raise QuadrantsTypeError(done.stderr)  # a skip where it says that the arch has not what the program is about
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr, done.stderr
    if program.output is not None:
        assert done.stdout.splitlines() == program.output.splitlines()


def test_the_guides_have_programs():
    pages = {program.place.split(":")[0] for program in ALL}
    assert {"README.md", "docs/getting_started.md", "docs/guide/language.md"} <= pages


def test_the_commands_of_the_readme_are_targets_of_make_and_what_the_ci_runs():
    readme = (ROOT / "README.md").read_text()
    commands = re.search(r"^```bash\n(.*?)^```\n", readme, re.MULTILINE | re.DOTALL)[1]
    wanted = [line.split("#")[0].strip() for line in commands.splitlines()]
    assert wanted == ["make demo", "make test"]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)(?:`|  )", readme, re.MULTILINE)) <= set(targets)
    steps = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line.startswith("make ")]
    between = ["make lint", "make wheel"]
    assert [" ".join(line.split()[:2]) for line in steps] == [
        wanted[0],
        *between,
        wanted[1],
        "make test-simt",
        "make test-simt",  # Metal
        "make test-metal",
        "make test-opencl",
        "make test-vulkan",
        "make test-distributed",
        "make docs",
        "make bench-ratios",
    ]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target and not target.startswith("mailto:")]
    missing = [target for target in local if not (page.parent / target).exists()]
    assert [target for target in missing if not MADE.search(target)] == []
