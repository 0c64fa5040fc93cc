"""mpm_sparse and crowd: the same as dense, conservation, forces in pairs."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd
from quadrants.examples import crowd, mpm88, mpm_sparse


@pytest.fixture(autouse=True)
def _has_sparse_trees(arch):
    if not qd.is_extension_enabled(qd.extension.sparse):
        pytest.skip("this arch has no sparse trees yet: run it with arch=cpu")


def test_sparse_water_moves_as_water(arch):
    dense, sparse = (kind(particles=500, cells=64) for kind in (mpm88.Water, mpm_sparse.SparseWater))
    dense.fill_block(0.4, 0.4, 0.1, 0.1)
    for name in ("x", "v", "C", "J"):
        getattr(sparse, name).copy_from(getattr(dense, name))
    for water in (dense, sparse):
        water.step(4)
    np.testing.assert_allclose(sparse.x.to_numpy(), dense.x.to_numpy(), atol=1e-5)
    assert 1 <= sparse.active_blocks() <= 6  # of 16
    assert sparse.grid_m.to_numpy().sum() == pytest.approx(500 * sparse.mass, rel=1e-4)


def test_people_push_each_other_in_pairs(arch):
    people = crowd.Crowd(300, 0.05)
    people.spread()
    x = people.x.to_numpy().astype(np.float64)
    people.step()
    push = people.push.to_numpy()
    d = x[:, None] - x[None]
    r = np.linalg.norm(d, axis=-1)
    close = (r > 0) & (r < people.radius)
    expected = np.where(close[..., None], d / np.where(r > 0, r, 1)[..., None] * (people.radius - r)[..., None], 0).sum(
        1
    )
    np.testing.assert_allclose(push, expected, atol=2e-5)
    np.testing.assert_allclose(push.sum(axis=0), 0, atol=1e-4)
