"""Many threads write neighbours in a word, and no bit of another one is lost."""

from __future__ import annotations

import pytest

import quadrants as qd

from .model import Fixed, Int

q = qd.types.quant
ROUNDS = 40


def packed(*types, bits=32, shape=4):
    fields = [qd.field(t) for t in types]
    word = qd.BitpackedFields(max_num_bits=bits)
    word.place(*fields)
    (qd.root.dense(qd.i, shape) if shape else qd.root).place(word)
    return fields


@pytest.fixture
def threads(init):
    """Several threads for few iterations each."""
    return init(cpu_max_num_threads=4)


def side_by_side(x, form, count: int):
    """A kernel whose threads are at neighbouring cells at the same time, and one that counts what is wrong then."""

    @qd.kernel
    def fill(turn: qd.i32):
        for k in range(count):
            i = k % (count // 4) * 4 + k // (count // 4)
            x[i] = i + turn

    @qd.kernel
    def wrong(turn: qd.i32) -> qd.i32:
        found = 0
        for i in range(count):
            found += qd.cast((x[i] - i - turn) % (1 << form.bits) != 0, qd.i32)
        return found

    return fill, wrong


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("form", [Int(1), Int(2), Int(4)], ids=str)
def test_stores_to_neighbours_in_a_word(threads, bits, form):
    count = 1 << 17
    x = qd.field(form.type(qd))
    qd.root.dense(qd.i, count * form.bits // bits).quant_array(qd.i, bits // form.bits, max_num_bits=bits).place(x)
    fill, wrong = side_by_side(x, form, count)
    for turn in range(ROUNDS // 4):
        fill(turn)
        assert wrong(turn) == 0


def test_stores_to_members_of_a_word(threads):
    forms = [Int(7), Int(9), Int(8), Int(8)]
    a, b, c, d = packed(*(form.type(qd) for form in forms), shape=1 << 15)
    count = 1 << 17

    @qd.kernel
    def fill(turn: qd.i32):
        for k in range(count):
            i = k % (count // 4)
            if k // (count // 4) == 0:
                a[i] = i + turn
            elif k // (count // 4) == 1:
                b[i] = i + turn
            elif k // (count // 4) == 2:
                c[i] = i + turn
            else:
                d[i] = i + turn

    @qd.kernel
    def wrong(turn: qd.i32) -> qd.i32:
        found = 0
        for i in range(1 << 15):
            same = (a[i] - i - turn) % 128 + (b[i] - i - turn) % 512 + (c[i] - i - turn) % 256 + (d[i] - i - turn) % 256
            found += qd.cast(same != 0, qd.i32)
        return found

    for turn in range(ROUNDS // 4):
        fill(turn)
        assert wrong(turn) == 0


def test_sums_in_one_word(threads):
    forms = [Int(7), Fixed(9), Int(8, False), Int(8)]
    a, b, c, d = packed(*(form.type(qd) for form in forms))

    @qd.kernel
    def add():
        qd.loop_config(block_dim=32)
        for k in range(4000):
            if k % 4 == 0:
                a[k % 8 // 4] += 1
            elif k % 4 == 1:
                b[k % 8 // 4] += 0.0078125
            elif k % 4 == 2:
                c[k % 8 // 4] += 3
            else:
                d[k % 8 // 4] -= 1

    for _ in range(ROUNDS):
        add()
    n = 500 * ROUNDS
    for k in range(2):
        steps = (2 * n + 256) % 512 - 256  # 0.0078125 is two steps of 2**-8
        assert (a[k], b[k], c[k], d[k]) == (
            forms[0].stored(n),
            steps / 256,
            forms[2].stored(3 * n),
            forms[3].stored(-n),
        )


def test_sums_and_stores_in_one_word(threads):
    low, middle, high = packed(q.int(10), q.int(10, False), q.int(12))

    @qd.kernel
    def change():
        qd.loop_config(block_dim=32)
        for k in range(3000):
            if k % 3 == 0:
                low[1] = 77
            elif k % 3 == 1:
                middle[1] += 1
            else:
                high[1] += 1

    for _ in range(ROUNDS):
        change()
    assert (low[1], middle[1], high[1]) == (77, Int(10, False).stored(1000 * ROUNDS), Int(12).stored(1000 * ROUNDS))
    assert [(low[i], middle[i], high[i]) for i in (0, 2, 3)] == [(0, 0, 0)] * 3


def test_members_of_a_shared_exponent(threads):
    x, y = qd.field(q.float(5, 10)), qd.field(q.float(5, 10))
    word = qd.BitpackedFields(32)
    word.place(x, y, shared_exponent=True)
    qd.root.dense(qd.i, 64).place(word)

    @qd.kernel
    def store():
        qd.loop_config(block_dim=32)
        for k in range(8192):
            i = k % 64
            if k // 64 % 2 == 0:
                x[i] = 1.5
            else:
                y[i] = 1.25

    for _ in range(ROUNDS):
        x.fill(0.0)
        y.fill(0.0)
        store()
        assert [(x[i], y[i]) for i in range(64)] == [(1.5, 1.25)] * 64


def test_old_numbers_are_all_different(threads):
    count, _ = packed(q.int(16, False), q.int(5))
    seen = qd.ndarray(qd.i32, 3000)

    @qd.kernel
    def draw(seen: qd.types.ndarray()):
        qd.loop_config(block_dim=32)
        for k in range(3000):
            seen[k] = qd.atomic_add(count[2], 1)

    draw(seen)
    assert sorted(seen.to_numpy().tolist()) == list(range(3000)) and count[2] == 3000
