"""The grammar is complete: programs reach every kind of node and operation of the IR that they could."""

from __future__ import annotations

import os

import pytest

from fuzz import coverage, execute
from fuzz.grammar.program import draw
from fuzz.model.errors import Undefined, Unmodelled
from fuzz.model.run import results

pytestmark = pytest.mark.cpu_only

# At most so many are drawn, in turns, until all is reached.
PROGRAMS = int(os.environ.get("QD_FUZZ_COVERAGE", 3000))
TURN = 250


@pytest.fixture(scope="module")
def reached():
    import quadrants as qd

    execute.quiet()
    found: set = set()
    for start in range(0, PROGRAMS, TURN):
        found |= coverage.reached(range(start, min(start + TURN, PROGRAMS)))
        if not coverage.missing(found):
            break
    yield found
    qd.reset()


@pytest.mark.slow
def test_programs_reach_what_the_ir_has(reached):
    assert coverage.missing(reached) == []


@pytest.mark.slow
def test_what_is_said_to_be_out_of_reach_is(reached):
    assert sorted(set(coverage.UNREACHED) & reached) == []


def test_a_seed_stands_for_one_program():
    assert draw(7, 6) == draw(7, 6)
    assert draw(7, 6) != draw(8, 6)


def test_nearly_all_programs_have_a_result():
    open_ones = 0
    for seed in range(60):
        program = draw(seed, 5)
        try:
            results(program.text, program.options)
        except (Undefined, Unmodelled):
            open_ones += 1
    assert open_ones < 9
