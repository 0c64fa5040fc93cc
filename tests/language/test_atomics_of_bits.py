"""Bitwise atomics on u1, as the assignments `|= &= ^=` do them."""

from __future__ import annotations

import pytest

import quadrants as qd


@pytest.mark.parametrize(
    "op, start, wanted", [("atomic_or", 0, 1), ("atomic_and", 1, 0), ("atomic_xor", 1, 1), ("atomic_xor", 0, 0)]
)
def test_bitwise_atomics(arch, op, start, wanted):
    flags, update = qd.field(qd.u1, 4), getattr(qd, op)

    @qd.kernel
    def run(n: qd.i32):
        for i in range(n):
            update(flags[2], i % 2 == 1)

    flags[2] = start
    run(4)
    assert [int(flags[k]) for k in range(4)] == [0, 0, wanted, 0]


@pytest.mark.parametrize("op", ["atomic_add", "atomic_min", "atomic_max", "atomic_mul"])
def test_others_are_refused(arch, op):
    flags, update = qd.field(qd.u1, 4), getattr(qd, op)

    @qd.kernel
    def run():
        update(flags[2], True)

    with pytest.raises(qd.QuadrantsTypeError, match=f"'{op}' does not work on u1"):
        run()
