"""The page of options has every option and every variable that the package reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from manual import options
from quadrants.config import OPTIONS

pytestmark = pytest.mark.cpu_only
ROOT = Path(__file__).resolve().parents[2]
READ = re.compile(r"(?:environ\.get\(|environ\[|getenv\()f?\"([A-Z][A-Z_]+)")
# Of the build, of shells and systems.
OTHERS = {"QD_SANITIZE", "PATH", "HOME", "LD_LIBRARY_PATH", "PROCESSOR_ARCHITECTURE", "PROCESSOR_IDENTIFIER"}


def test_every_option_has_a_row():
    rows = re.findall(r"^\| <span id=\"(\w+)\"></span>", options.page(), re.MULTILINE)
    assert sorted(rows) == sorted(OPTIONS)


def test_every_variable_that_is_read_has_a_row():
    sources = [*(ROOT / "quadrants").rglob("*.py"), *(ROOT / "_ext").glob("*.cpp"), *(ROOT / "_ext").glob("*.p*")]
    generated = {path.with_suffix(".cpp") for path in (ROOT / "_ext").glob("*.pyx")}
    read = {name for path in sources if path not in generated for name in READ.findall(path.read_text())}
    assert {"QD_ARCH", "QD_CC_TIMEOUT", "QD_VULKAN_VALIDATION"} <= read
    page = options.page()
    told = {name for name in read if f"`{name}`" in page or name.endswith("_")}
    assert read - told - OTHERS == set()


def test_every_option_has_a_meaning_and_a_default():
    for row in OPTIONS.values():
        assert row.doc.endswith((".", "..")) and options.default(row)


def test_the_page_says_how_an_opencl_device_is_named():
    (row,) = re.findall(r"^\|.*QD_OPENCL_DEVICE`? \|.*$", options.page(), re.MULTILINE)
    assert "`<platform>:<device>`" in row
