"""Random programs that a driver of Vulkan has compiled to something else, as they were found."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz.kit import assert_modelled

pytestmark = pytest.mark.cpu_only
PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize("seed", sorted(path.stem for path in PROGRAMS.glob("*.txt")))
def test_a_program_gives_what_the_model_says(vulkan, seed):
    """Without fast_math, as all of them were."""
    assert_modelled((PROGRAMS / f"{seed}.txt").read_text(), dict(fast_math=False), "vulkan")
