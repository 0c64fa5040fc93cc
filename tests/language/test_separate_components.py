"""Components of tensors that lie apart (SOA) and are chosen at run time: each index is computed once."""

from __future__ import annotations

import numpy as np

import quadrants as qd


def test_text_grows_with_the_depth_alone(arch):
    """Written once for each component, the indices of every level multiplied those within."""
    m = qd.Matrix.field(3, 3, qd.i32, shape=8, layout=qd.Layout.SOA)
    out = qd.field(qd.i32, shape=8)

    @qd.kernel
    def two():
        for i in range(8):
            out[i] = m[i][m[i][m[i][i % 3, 0] % 3, 1] % 3, 2]

    @qd.kernel
    def five():
        for i in range(8):
            out[i] = m[i][m[m[i][m[i][m[i][m[i][i % 3, 0] % 3, 1] % 3, 2] % 3, 1] % 8][0, i % 3] % 3, 1]

    assert len(five.source()) < 3 * len(two.source())
    values = np.random.default_rng(2).integers(0, 50, (8, 3, 3)).astype(np.int32)
    m.from_numpy(values)
    five()
    for i, v in enumerate(values):
        other = values[v[v[v[v[i % 3, 0] % 3, 1] % 3, 2] % 3, 1] % 8]
        assert out[i] == v[other[0, i % 3] % 3, 1]


def test_what_changes_between_is_read_in_order(arch):
    v = qd.Vector.field(3, qd.i32, shape=4, layout=qd.Layout.SOA)

    @qd.kernel
    def run() -> qd.types.vector(3, qd.i32):
        k = 1
        v[0] = [10, 20, 30]
        first = v[0][k] + v[k - 1][qd.atomic_add(k, 1)] + v[0][k]
        v[0][k] += v[0][k - 1] * 100
        v[0][v[0][0] % 2] = k
        return qd.Vector([first, v[0][2], v[0][0]])

    assert list(run()) == [20 + 20 + 30, 2030, 2]
