"""Parentheses around every operand change no result: the printer's own decide nothing that the IR does not say."""

from __future__ import annotations

import pytest
from expectations import differences
from harness import path_that_runs, program_names

from quadrants.emit.text import Text, infix, name

pytestmark = pytest.mark.sampled

LOOSEST = """
from quadrants.emit.text import Text

tight = Text.__init__

def loose(self, bare, precedence=0, pointer=None, space=""):
    tight(self, bare, 0, pointer, space)

Text.__init__ = loose
"""


@pytest.fixture
def everywhere(tmp_path) -> str:
    """A search path on which every `Text` binds as loosely as can be."""
    return path_that_runs(LOOSEST, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("program", program_names())
def test_program(arch_name: str, program: str, everywhere: str) -> None:
    problems = differences(program, arch_name, everywhere)
    assert not problems, "\n".join(problems)


@pytest.mark.cpu_only
def test_a_wrong_precedence_would_show() -> None:
    """What these runs are for: with parentheses everywhere the same tree has another text."""
    product = infix("*", 14, Text("a + b", 16), name("c"))  # claims to bind tightly
    assert product.bare == "a + b * c"
    assert infix("*", 14, Text("a + b", 0), Text("c", 0)).bare == "(a + b) * (c)"
