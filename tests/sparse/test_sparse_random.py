"""Random programs on random trees give what a dictionary gives.

QD_SPARSE_TREES: how many trees, 4 unless it is set; each has three programs of eight steps. Seeds are new each day;
QD_SPARSE_SEED sets the first one.
"""

import datetime
import os

import pytest
import sparse_kit

COUNT = int(os.environ.get("QD_SPARSE_TREES", 4))
FIRST = int(os.environ.get("QD_SPARSE_SEED", datetime.date.today().toordinal() * 1000 % 10**8))


@pytest.mark.parametrize("seed", [*range(3), *range(FIRST, FIRST + COUNT)])
def test_random_programs(init, seed):
    init()
    sparse_kit.run(seed, programs=3)
