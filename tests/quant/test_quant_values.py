"""Every format, stored and read by kernels and by the host, against exact fractions."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import quadrants as qd

from .model import Fixed, Float, Group, Int

INTS = [Int(1), Int(1, False), Int(2), Int(7, False), Int(8), Int(13), Int(19, False), Int(31), Int(32), Int(32, False)]
FIXED = [Fixed(8), Fixed(16), Fixed(16, False), Fixed(5, True, 8.0), Fixed(24, False, 0.25), Fixed(20, True, 1024.0)]
FLOATS = [Float(5, 10), Float(6, 9, False), Float(4, 6), Float(3, 2, False), Float(7, 24), Float(2, 12), Float(1, 5)]


def placed(form, shape, word):
    x = qd.field(form.type(qd))
    bits = qd.BitpackedFields(max_num_bits=word)
    bits.place(x)
    qd.root.dense(qd.i, shape).place(bits)
    return x


def through_kernels(form, values, dtype, word=32):
    """What kernels read when they have stored `values`, and what the host reads then."""
    n = len(values)
    x = placed(form, n, word)
    source, out = qd.ndarray(dtype, n), qd.ndarray(dtype, n)
    source.from_numpy(np.array(values, source.to_numpy().dtype))

    @qd.kernel
    def store(source: qd.types.ndarray()):
        for i in x:
            x[i] = source[i]

    @qd.kernel
    def load(out: qd.types.ndarray()):
        for i in x:
            out[i] = x[i]

    store(source)
    load(out)
    return out.to_numpy().tolist(), [x[i] for i in range(n)]


def by_host(form, values, word=32):
    x = placed(form, 1, word)
    out = []
    for value in values:
        x[0] = value
        out.append(x[0])
    return out


def integers():
    edges = [s * 2**k + d for k in range(31) for s in (1, -1) for d in (-1, 0, 1)]
    return [v for v in [*edges, -(2**31)] if -(2**31) <= v < 2**31]


def reals(seed=1):
    rng = random.Random(seed)
    found = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        2.5,
        1 / 3,
        0.49999997,
        0.99999994,
        1e30,
        -1e30,
        3.4e38,
        1e-45,
        2.0**24 + 2,
    ]
    found += [m * s * 2.0**k for k in range(-24, 24) for m in (1.0, 1.5, 1.0009765625, 1.9999999) for s in (1, -1)]
    found += [rng.uniform(-1, 1) * 2.0 ** rng.uniform(-30, 20) for _ in range(300)]
    found += [k * 2.0**-16 for k in range(-9, 10)]
    return np.float32(found).tolist()


@pytest.mark.parametrize("form", INTS, ids=str)
def test_ints_wrap(arch, form):
    values = integers()
    wanted = [form.stored(v) for v in values]
    dtype = qd.i32 if form.signed else qd.u32
    read, seen = through_kernels(form, [v if form.signed else v % 2**32 for v in values], dtype)
    assert read == wanted and seen == wanted
    assert by_host(form, values) == wanted


@pytest.mark.parametrize("form", [Int(33), Int(40), Int(52, False), Int(64), Int(64, False)], ids=str)
def test_wide_ints_are_computed_in_64_bits(arch, form):
    values = [*integers(), 2**40 + 5, -(2**62) - 7, 2**63 - 1]
    wanted = [form.stored(v) for v in values]
    dtype = qd.i64 if form.signed else qd.u64
    assert by_host(form, values, 64) == wanted
    read, seen = through_kernels(form, [v if form.signed else v % 2**64 for v in values], dtype, 64)
    assert read == wanted and seen == wanted


@pytest.mark.parametrize("form", FIXED, ids=str)
def test_fixed_numbers_round_halves_away_from_zero_and_wrap(arch, form):
    values = [*reals(), float(form.max_value), -float(form.max_value)]
    values += [float(k * form.scale / 2) for k in range(-20, 21)]
    wanted = [form.stored(v) for v in values]
    read, seen = through_kernels(form, values, qd.f32)
    assert read == wanted and seen == wanted
    assert by_host(form, values) == wanted


@pytest.mark.parametrize("form", FLOATS, ids=str)
def test_floats_round_their_mantissa_to_nearest(arch, form):
    values = [*reals(), *(2.0**e * (1 + 2.0**-f) for e in (-2, 3) for f in range(1, 23))]
    wanted = [form.stored(v) for v in values]
    read, seen = through_kernels(form, values, qd.f32)
    assert read == wanted and seen == wanted
    assert by_host(form, values) == wanted


def test_a_float_with_the_exponent_of_f32_has_its_infinities(arch):
    x = placed(Float(8, 24), 4, 32)

    @qd.kernel
    def store(a: qd.f32, b: qd.f32):
        x[0], x[1], x[2] = a, b, 1.5

    store(math.inf, -math.inf)
    assert [x[i] for i in range(4)] == [math.inf, -math.inf, 1.5, 0.0]
    x[3] = math.nan
    assert math.isnan(x[3])


def test_what_is_no_number_is_zero_as_fixed_number_and_the_largest_as_float(arch):
    fixed, small = placed(Fixed(16), 3, 16), placed(Float(5, 10), 3, 16)
    for k, value in enumerate((math.inf, -math.inf, math.nan)):
        fixed[k] = value
        small[k] = value
    assert [fixed[k] for k in range(3)] == [0.0] * 3
    assert [abs(small[k]) for k in range(3)] == [Float(5, 10).stored(math.inf)] * 3


@pytest.mark.parametrize(
    "forms",
    [[Float(5, 10), Float(5, 10)], [Float(6, 13, False), Float(6, 10)], [Float(5, 8), Float(5, 6), Float(5, 9, False)]],
    ids=str,
)
def test_floats_share_the_largest_exponent(arch, forms):
    fields = [qd.field(form.type(qd)) for form in forms]
    bits = qd.BitpackedFields(max_num_bits=32)
    bits.place(*fields, shared_exponent=True)
    qd.root.dense(qd.i, 2).place(bits)

    @qd.kernel
    def store(k: qd.template(), value: qd.f32):
        for i in range(1):
            fields[k][i] = value

    @qd.kernel
    def load(k: qd.template()) -> qd.f32:
        return fields[k][0]

    rng = random.Random(7)
    model, host = Group(forms), Group(forms)
    for turn in range(120):
        k = rng.randrange(len(forms))
        value = float(np.float32(rng.choice([0.0, 1.0, 1.9999999, rng.uniform(-2, 2) * 2.0 ** rng.uniform(-12, 12)])))
        store(k, value)
        model.store(k, value)
        fields[k][1] = value
        host.store(k, value)
        wanted = model.read()
        assert [load(j) for j in range(len(forms))] == wanted, (turn, k, value)
        assert [field[0] for field in fields] == wanted
        assert [field[1] for field in fields] == host.read()


def test_the_check_of_the_specification(arch):
    x, y = qd.field(qd.types.quant.int(13)), qd.field(qd.types.quant.int(19, False))
    bits = qd.BitpackedFields(max_num_bits=32)
    bits.place(x, y)
    qd.root.dense(qd.i, 10).place(bits)
    seen = qd.ndarray(qd.i32, (10, 2))

    @qd.kernel
    def store():
        for i in range(10):
            x[i] = -(2**i)
            y[i] = 2**i - 1

    @qd.kernel
    def load(seen: qd.types.ndarray()):
        for i in range(10):
            seen[i, 0], seen[i, 1] = x[i], y[i]

    store()
    load(seen)
    wanted = [[-(2**i), 2**i - 1] for i in range(10)]
    assert seen.to_numpy().tolist() == wanted and [[x[i], y[i]] for i in range(10)] == wanted
    x[0] = 4096
    assert x[0] == -4096 and y[0] == 0


def test_real_numbers_are_truncated_to_ints_in_kernels_and_refused_by_the_host(arch):
    x = placed(Int(13), 2, 16)

    @qd.kernel
    def store(a: qd.f32):
        x[0], x[1] = a, -a

    store(2.7)
    assert [x[0], x[1]] == [2, -2]
    with pytest.raises(TypeError, match="cannot be stored"):
        x[0] = 2.7
