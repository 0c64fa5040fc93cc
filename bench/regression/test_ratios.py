"""Coarse limits on ratios of what this run has measured: no time is compared with one of another run or machine."""

from __future__ import annotations

import pytest
from plan import QUICK, RATIOS


@pytest.mark.parametrize("one, other, limit", RATIOS, ids=[one for one, _, _ in RATIOS])
def test_ratio(medians, arch, one, other, limit):
    if arch != "cpu":
        pytest.skip("the limits are those of the CPU")
    ratio = medians[one] / medians[other]
    print(f"{one} / {other}: {ratio:.2f}, at most {limit}")
    assert ratio <= limit, f"{one} takes {ratio:.2f} times as long as {other}, more than {limit}"


def test_everything_that_ratios_need_is_quick():
    assert {one.split()[0] for one, _, _ in RATIOS} <= QUICK
