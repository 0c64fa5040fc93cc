"""Fields that are declared together with one that is too large for any memory."""

from __future__ import annotations

import pytest

import quadrants as qd

SHAPE = (10**9, 10**9)
BYTES = 4 * 10**18

pytestmark = [pytest.mark.cpu_only, pytest.mark.filterwarnings("ignore:.*more than 32-bit indices can count")]


def told(action) -> str:
    with pytest.raises(qd.QuadrantsRuntimeError) as caught:
        action()
    return str(caught.value)


def test_the_large_one_is_named(arch):
    kept = qd.field(qd.f32, 8)
    kept.fill(3)
    small = qd.field(qd.f32, 8, needs_grad=True)
    large = qd.field(qd.f32, shape=SHAPE, name="large")
    struct = qd.Struct.field({"a": qd.f32}, shape=3)

    @qd.kernel
    def run():
        small[0] = 1.0

    for action in (
        lambda: small[0], lambda: small[0], lambda: large[0, 0], run, small.to_numpy, lambda: struct[0],
        lambda: small.grad.fill(1),
    ):  # fmt: skip
        text = told(action)
        assert "cannot allocate" in text and "use smaller fields" in text and "qd.reset" not in text
        assert f"The largest field 'large' has the shape {SHAPE} and {BYTES} bytes, declared in" in text
        assert f'File "{__file__}", line {test_the_large_one_is_named.__code__.co_firstlineno + 4}' in text
    again = qd.field(qd.f32, 8)
    again.fill(1)
    assert again[7] == 1 and kept[7] == 3


def test_the_large_one_is_named_when_nobody_has_it_any_more(arch):
    qd.field(qd.f32, shape=SHAPE)
    small = qd.field(qd.f32, 3, name="small")
    text = told(lambda: small[0])
    assert f"has the shape {SHAPE} and {BYTES} bytes, declared in" in text and "'small'" not in text
    line = test_the_large_one_is_named_when_nobody_has_it_any_more.__code__.co_firstlineno + 1
    assert f'File "{__file__}", line {line}' in text


def test_placed_ones_and_structs(arch):
    small, large = qd.field(qd.f32), qd.Vector.field(2, qd.f32)
    qd.root.dense(qd.i, 4).place(small)
    qd.root.dense(qd.ij, (10**9, 10**8)).place(large)
    assert "The largest field has the shape (1000000000, 100000000) and 800000000000000000 bytes, dec" in told(
        lambda: small[0]
    )
    declared = qd.Struct.field({"a": qd.f32, "v": qd.math.vec3}, shape=(10**9, 10**8))
    assert "The largest field '<Struct>' has the shape (1000000000, 100000000) and 1600000000000000000 bytes" in told(
        lambda: declared.a.fill(1)
    )
    assert "is dead" not in told(lambda: declared.v.fill(1))


def test_what_was_reset_says_so(arch):
    small = qd.field(qd.f32, 8)
    small.fill(1)
    qd.reset()
    assert "its memory went with qd.reset()" in told(lambda: small[0])
