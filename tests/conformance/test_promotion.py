"""language.md 10.2, matrix-math.md 1.1: the type of every operator's result for all 144 pairs of operand types.

A type is read off by storing a probe into a variable of that type: an integer whose low bits differ at every width and
which every real type rounds differently.
"""

import kernel_ops as ops
import numpy as np
import pytest
from support import ALL, ON_REFERENCE

import quadrants as qd

PROBE = 0x01F1F2F3F4F5F6F7
INTEGRAL = tuple(t for t in ALL if t[0] != "f")
ARITHMETIC = [
    ("add", ops.add), ("sub", ops.sub), ("mul", ops.mul), ("select_left", ops.select_left),
    ("choose_right", ops.choose_right),
    ("maximum", ops.maximum), ("minimum", ops.minimum), ("floor_div", ops.floor_div), ("modulo", ops.modulo),
    ("raw_div", ops.raw_div),
]  # fmt: skip
BITWISE = [("bit_and", ops.bit_and), ("bit_or", ops.bit_or), ("bit_xor", ops.bit_xor)]
LEFT = [("shift_left", ops.shift_left), ("shift_right", ops.shift_right), ("logical_right", ops.logical_right)]
COMPARE = [row[:2] for row in ops.COMPARISON]


def promoted(a: str, b: str) -> str:
    """The rule: reals beat integers, the wider wins, unsigned wins at equal width; u1 yields to everything."""
    if a == b:
        return a
    real = [t for t in (a, b) if t[0] == "f"]
    if real:
        return max(real, key=lambda t: int(t[1:]))
    return max((a, b), key=lambda t: (0 if t == "u1" else int(t[1:]), t[0] == "u"))


def _table_kernel(table: list[tuple], left: str, rights: tuple[str, ...]):
    funcs = [row[1] for row in table]
    left_type, right_types = getattr(qd, left), [getattr(qd, t) for t in rights]

    @qd.kernel
    def probe_row(
        c: qd.i32,
        probe: qd.i64,
        as_int: qd.types.ndarray(dtype=qd.i64, ndim=2),
        as_real: qd.types.ndarray(dtype=qd.f64, ndim=2),
        negative: qd.types.ndarray(dtype=qd.i32, ndim=2),
    ):
        for k, f in qd.static(enumerate(funcs)):
            for b, right_type in qd.static(enumerate(right_types)):
                y = f(qd.cast(c, left_type), qd.cast(c, right_type))
                y = probe
                as_int[k, b] = qd.cast(y + y, qd.i64)
                as_real[k, b] = qd.cast(y, qd.f64)
                y = -1
                negative[k, b] = y < 0

    return probe_row


def _name(as_int: int, as_real: float, negative: int) -> str:
    if np.isinf(as_real):
        return "f16"
    if as_real == float(PROBE) and as_int == int(2 * float(PROBE)):
        return "f64"
    if as_real == float(np.float32(PROBE)):
        return "f32"
    if as_int == 0:
        return "u1"
    width = max(w for w in (8, 16, 32, 64) if as_int & ((1 << w) - 1) == 2 * PROBE & ((1 << w) - 1))
    return ("i" if negative else "u") + str(width)


def result_types(table: list[tuple], left: str, rights: tuple[str, ...]) -> dict[str, list[str]]:
    """For each operation of `table`: the type of its result for `left` with each of `rights`."""
    shape = (len(table), len(rights))
    as_int, as_real, negative = np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape, np.int32)
    _table_kernel(table, left, rights)(1, PROBE, as_int, as_real, negative)
    return {
        row[0]: [_name(int(as_int[k, b]), as_real[k, b], negative[k, b]) for b in range(len(rights))]
        for k, row in enumerate(table)
    }


def _assert_types(table: list[tuple], left: str, rights: tuple[str, ...], want: list[str]) -> None:
    for name, types in result_types(table, left, rights).items():
        wrong = [f"{left} {name} {r} is {t}, not {w}" for r, t, w in zip(rights, types, want, strict=True) if t != w]
        assert not wrong, "; ".join(wrong)


def _reference_quirk(a: str, b: str) -> bool:
    """The reference lets u1 win over 8-bit integers when it stands on the right, and aborts or errs for some pairs."""
    return {a, b} & {"u1"} != set() and {a, b} & {"i8", "u8"} != set()


def _rights(left: str, candidates: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(t for t in candidates if not (ON_REFERENCE and _reference_quirk(left, t)))


@pytest.mark.parametrize("left", ALL)
def test_arithmetic(arch, left: str) -> None:
    """+ - * // % raw_div max min select and the conditional promote."""
    rights = _rights(left, ALL)
    table = ARITHMETIC
    if ON_REFERENCE:
        table = [row for row in ARITHMETIC if row[0] not in ("maximum", "minimum", "floor_div", "modulo", "raw_div")]
    _assert_types(table, left, rights, [promoted(left, r) for r in rights])


@pytest.mark.parametrize("left", INTEGRAL)
def test_bitwise(arch, left: str) -> None:
    """& | ^ promote among integers."""
    rights = _rights(left, INTEGRAL)
    _assert_types(BITWISE, left, rights, [promoted(left, r) for r in rights])


@pytest.mark.parametrize("left", [t for t in INTEGRAL if t != "u1"])
def test_shifts_keep_the_left_type(arch, left: str) -> None:
    """<< >> bit_shr have the type of the left operand."""
    rights = tuple(t for t in INTEGRAL if t != "u1")
    if ON_REFERENCE:
        rights = (left,)
    _assert_types(LEFT, left, rights, [left] * len(rights))


@pytest.mark.parametrize("left", ALL)
def test_comparisons_are_boolean(arch, left: str) -> None:
    """Every comparison gives u1."""
    rights = _rights(left, ALL)
    _assert_types(COMPARE, left, rights, ["u1"] * len(rights))


@pytest.mark.parametrize("left", ALL)
def test_true_division(arch, left: str) -> None:
    """/ is real: integers become default_fp first."""
    rights = ALL
    real = lambda t: t if t[0] == "f" else "f32"  # noqa: E731
    want = [promoted(real(left), real(r)) for r in rights]
    _assert_types([("true_div", ops.true_div)], left, rights, want)


@pytest.mark.parametrize("left", [t for t in ALL if t != "u1"])
def test_power_with_integer_exponent_keeps_the_base(arch, left: str) -> None:
    """base ** integer has the type of the base."""
    rights = ("i32",) if ON_REFERENCE else tuple(t for t in INTEGRAL if t != "u1")
    if ON_REFERENCE and left in ("i8", "i16"):
        return
    _assert_types([("power", ops.power)], left, rights, [left] * len(rights))


def test_booleans(arch) -> None:
    """u1 arithmetic is modulo 2; with wider operands it counts."""

    @qd.kernel
    def boolean_arithmetic(a: qd.i32, b: qd.i32) -> qd.types.vector(9, qd.f32):
        t, f = a > b, a < b
        s = 0
        s += t
        s += t
        return qd.Vector([t + t, t - t, t * t, -t, ~t, t + 1, (t + f) * 2.5, t ^ t, s])

    assert boolean_arithmetic(3, 2).to_list() == [0, 0, 1, 1, 0, 2, 2.5, 0, 2]


def test_default_types(arch) -> None:
    """Literals take default_ip and default_fp, and a f64 product sees the rounded literal."""

    @qd.kernel
    def literals(x: qd.f64) -> qd.types.vector(2, qd.f64):
        return qd.Vector([x * 0.1, qd.cast(1, qd.f64) / 3])

    assert literals(1.0).to_list() == [float(np.float32(0.1)), 1 / 3]
    qd.init(arch=arch, default_fp=qd.f64, default_ip=qd.i64)

    @qd.kernel
    def wide_literals() -> tuple[qd.f64, qd.i64]:
        return 1 / 3 + 0.1 * 1, 3000000000 * 2

    assert tuple(wide_literals()) == (1 / 3 + 0.1, 6000000000)
