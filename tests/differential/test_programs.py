"""Every program of the corpus gives what the reference gives, or what the specification says instead.

The reference is not needed here: its results are recorded in expected/ (see run_programs.py).
"""

from __future__ import annotations

import json

import pytest
from expectations import differences, expectation
from harness import HERE, load, program_names

pytestmark = pytest.mark.sampled

ROOT = str(HERE.parent.parent)


@pytest.mark.cpu_only
def test_the_corpus_is_whole() -> None:
    """Forty programs, each recorded, none recorded that is gone."""
    names = program_names()
    assert len(names) == 40
    assert sorted(p.stem for p in (HERE / "expected").glob("*.json")) == names


@pytest.mark.parametrize("name", program_names())
def test_program(arch_name: str, name: str) -> None:
    """One program in a process of its own, compared key by key with the record."""
    problems = differences(name, arch_name, ROOT)
    assert not problems, "\n".join(problems)


@pytest.mark.cpu_only
@pytest.mark.parametrize("name", program_names())
def test_corrections_are_recorded(name: str) -> None:
    """What a program corrects is in its record with the section that asks for it."""
    record = json.loads(expectation(name).read_text())
    program = load(name)
    assert set(record["corrected"]) == set(getattr(program, "CORRECTED", {}))
    assert set(record["beyond"]) == set(getattr(program, "BEYOND", {}))
    for key, entry in record["corrected"].items():
        assert ".md" in entry["note"], f"{key}: name the section of the specification"
