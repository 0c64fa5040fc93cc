"""The hunt finds the defects that were cured, each within 500 programs, when they are put back."""

from __future__ import annotations

import io

import pytest

from fuzz.hunt import Hunt
from fuzz.mutants import MUTANTS, VARIABLE

pytestmark = [pytest.mark.cpu_only, pytest.mark.sampled]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_defect_that_is_put_back_is_found(name, monkeypatch):
    monkeypatch.setenv(VARIABLE, name)
    hunt = Hunt(500, 7_000, subject="mutants", each=0, stop_at=1, jobs=2, out=io.StringIO())
    assert hunt.run(), hunt.summary()
