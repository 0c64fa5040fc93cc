"""Tasks that several compilers make compute what they compute as one text."""

from __future__ import annotations

import os

import pytest
from expectations import differences
from harness import HERE, program_names

pytestmark = [pytest.mark.sampled, pytest.mark.cpu_only]

ROOT = str(HERE.parent.parent)

APART = """
from quadrants.emit import units
from quadrants.toolchain import shares
units.FAIR, units.SMALLEST, units._LOPSIDED = 50, 0, 1e9
shares._cores = lambda: 3
"""


@pytest.fixture
def short(tmp_path) -> str:
    """A search path on which the shortest texts are shared out, and there are three compilers."""
    (tmp_path / "sitecustomize.py").write_text(APART)
    return os.pathsep.join((str(tmp_path), ROOT))


@pytest.mark.slow
@pytest.mark.parametrize("program", program_names())
def test_program(arch_name: str, program: str, short: str) -> None:
    problems = differences(program, arch_name, short)
    assert not problems, "\n".join(problems)
