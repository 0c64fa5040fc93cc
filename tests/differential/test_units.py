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

def apart(tasks, functions):
    for number, task in enumerate(tasks):
        task.unit = number % units.MOST
    return max(1, min(units.MOST, len(tasks)))

units.share_out = apart
shares._cores = lambda: 3
"""


@pytest.fixture
def each_alone(tmp_path) -> str:
    """A search path on which no two of the first tasks of a kernel are in one unit, and there are three compilers."""
    (tmp_path / "sitecustomize.py").write_text(APART)
    return os.pathsep.join((str(tmp_path), ROOT))


@pytest.mark.slow
@pytest.mark.parametrize("program", program_names())
def test_program(arch_name: str, program: str, each_alone: str) -> None:
    problems = differences(program, arch_name, each_alone)
    assert not problems, "\n".join(problems)
