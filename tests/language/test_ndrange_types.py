"""Which types the indices of `qd.ndrange` have, and where they begin."""

from __future__ import annotations

import quadrants as qd


def test_bounds_of_ndrange_that_are_literals_are_default_ip(init):
    """i64 * u32 is i64, and i32 * u32 would wrap as u32. As in the reference, loops of `range` stay i32."""
    init(default_ip=qd.i64)
    r = qd.field(qd.i64, 9)

    @qd.kernel
    def run(u: qd.u32, n: qd.i32):
        for i in qd.ndrange((-1, 2)):
            r[i + 1] = -(i * u)
        for i, j in qd.ndrange((1, n), (0, n)):
            r[3] = -(i * u)
            if j == 1:
                r[4] = -(j * u)
        for i in qd.ndrange((qd.i32(1), n)):
            r[5] = -(i * u)
        for i in range(1, 2):
            r[6] = -(i * u)
        for _ in range(1):
            for i, j in qd.ndrange(2, 2, axes=(1, 0)):
                if i + j == 2:
                    r[7] = -(i * u)
        for index in qd.grouped(qd.ndrange((1, 2))):
            r[8] = -(index[0] * u)

    u = 3016801197
    run(u, 2)
    wrapped = -u % 2**32
    assert r.to_numpy().tolist() == [u, 0, -u, -u, -u, wrapped, wrapped, -u, wrapped]


def test_literal_bounds_of_other_types_begin_where_they_say(arch):
    x = qd.field(qd.i64, 6)

    @qd.kernel
    def run(n: qd.u64):
        for i in qd.ndrange((qd.cast(1, qd.u64), 2)):
            x[i] = i
        for i in qd.ndrange((qd.u64(2), n)):
            x[i] = i
        for i, _ in qd.ndrange((qd.i64(3), 4), (qd.u32(1), 2)):
            x[i] = i
        for i in qd.ndrange((4, n + 2)):
            x[i] = i

    run(3)
    assert x.to_numpy().tolist() == [0, 1, 2, 3, 4, 0]
