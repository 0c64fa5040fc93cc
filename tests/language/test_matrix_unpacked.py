"""matrix-math.md 18.5: `unpacked=True` rows of structs, whose elements are members of their own."""

import dataclasses

import pytest

import quadrants as qd


@qd.dataclass
class Row:
    """A row of 32 numbers that lives in registers."""

    r: qd.types.vector(32, qd.f32, unpacked=True)
    tag: qd.i32


@qd.dataclass
class Pair:
    """A struct whose member has an unpacked row."""

    first: Row
    scale: qd.f32


def test_static_loop_over_a_row(arch) -> None:
    @qd.kernel
    def run(x: qd.f32) -> qd.f32:
        row = Row()
        for i in qd.static(range(32)):
            row.r[i] = x * i
        row.r[3] += 0.5
        total = 0.0
        for i in qd.static(range(32)):
            total += row.r[i]
        return total + row.tag

    assert run(1.0) == sum(range(32)) + 0.5


def test_rows_of_fields_and_nested_structs(arch) -> None:
    f = Row.field(shape=3)

    @qd.kernel
    def run() -> qd.f32:
        for k in range(3):
            for i in qd.static(range(32)):
                f[k].r[i] = k * 100 + i
        p = Pair()
        p.first.r[7] = f[2].r[7]
        return p.first.r[7]

    assert run() == 207
    assert f.get_member_field("_r5").to_numpy().tolist() == [5, 105, 205]


def test_errors_in_kernels(arch) -> None:
    @qd.kernel
    def run_time_index(i: qd.i32):
        row = Row()
        row.r[i] = 1.0

    @qd.kernel
    def past_the_end():
        row = Row()
        row.r[32] = 1.0

    @qd.kernel
    def as_a_value():
        row = Row()
        x = row.r  # noqa: F841 - the value is what fails

    @qd.kernel
    def arithmetic() -> qd.f32:
        row = Row()
        return (row.r + 1).sum()

    with pytest.raises(qd.QuadrantsSyntaxError, match="requires a python-int index"):
        run_time_index(1)
    with pytest.raises(qd.QuadrantsSyntaxError, match=r"unpacked vector index out of bounds: r\[32\] \(count=32\)"):
        past_the_end()
    for kernel in (as_a_value, arithmetic):
        with pytest.raises(qd.QuadrantsCompilationError):
            kernel()


def test_only_for_struct_members(arch) -> None:
    t = qd.types.vector(4, qd.f32, unpacked=True)
    assert "unpacked=True" in t.to_string()
    for call in (lambda: t(0), lambda: t.field(shape=2), lambda: t.ndarray(2)):
        with pytest.raises(qd.QuadrantsSyntaxError, match="unpacked=True"):
            call()
    with pytest.raises(qd.QuadrantsSyntaxError, match="unpacked=True"):

        @qd.kernel
        def run(v: t):
            pass

        run(qd.Vector([1.0, 2.0, 3.0, 4.0]))
    with pytest.raises(qd.QuadrantsSyntaxError, match="unpacked=True"):

        @dataclasses.dataclass
        class Plain:
            v: t

        @qd.kernel
        def take(p: Plain):
            p.v[0]  # noqa: B018

        take(Plain(qd.Vector([1.0, 2.0, 3.0, 4.0])))
    with pytest.raises(qd.QuadrantsSyntaxError, match="collides"):

        @qd.dataclass
        class Clash:
            r: t
            _r0: qd.f32
