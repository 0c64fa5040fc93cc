"""What kernels do with quantised fields: assignments, atomics, vectors, structs, functions, neighbours in a word."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

from .model import Fixed, Float, Int

q = qd.types.quant


def packed(*types, bits=32, shape=8, **options):
    fields = [qd.field(t) for t in types]
    word = qd.BitpackedFields(max_num_bits=bits)
    word.place(*fields, **options)
    qd.root.dense(qd.i, shape).place(word)
    return fields


def array(form, cells=8, bits=32, outer=4):
    x = qd.field(form)
    qd.root.dense(qd.i, outer).quant_array(qd.i, cells, max_num_bits=bits).place(x)
    return x


def content(x):
    return [x[i] for i in range(x.shape[0])]


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_neighbours_in_a_word_keep_their_bits(arch, bits):
    x, y, z = packed(q.int(3), q.int(bits // 2 - 3, False), q.int(bits // 4), bits=bits, shape=64)
    flags = array(q.int(1, False), bits, bits, 64 // bits if bits < 64 else 1)

    @qd.kernel
    def fill():
        for i in x:
            x[i] = i
        for i in y:
            y[i] = 3 * i + 1
        for i in range(64):
            z[63 - i] = -i
        for i in flags:
            flags[i] = i % 3

    fill()
    a, b, c = Int(3), Int(bits // 2 - 3, False), Int(bits // 4)
    assert content(x) == [a.stored(i) for i in range(64)]
    assert content(y) == [b.stored(3 * i + 1) for i in range(64)]
    assert content(z) == [c.stored(i - 63) for i in range(64)]
    assert content(flags) == [i % 3 % 2 for i in range(flags.shape[0])]


@pytest.mark.parametrize("asked", [False, True])
def test_variables_may_have_any_names(arch, asked):
    """A loop that goes word by word names variables after the field and the loop's."""
    x, found = array(q.int(5, False), 6), qd.field(qd.i32, 24)

    @qd.kernel
    def step():
        qd.loop_config(bit_vectorize=asked)
        for i in x:
            x_word = i % 3
            i_word = i % 5
            i_lane = i % 2
            x[i] = i_lane
            if i % 4 == 1:
                x_word += 1
            x[i] += x_word + i_word
            found[i] = x_word + 10 * i_word + 100 * i_lane

    step()
    expected = [(i % 3 + (i % 4 == 1), i % 5, i % 2) for i in range(24)]
    assert content(x) == [sum(numbers) for numbers in expected]
    assert found.to_numpy().tolist() == [a + 10 * b + 100 * c for a, b, c in expected]


def test_augmented_assignments(arch):
    x, y = packed(q.int(8), q.fixed(8), shape=8)
    for i in range(8):
        x[i], y[i] = 12 + i, 0.25

    @qd.kernel
    def change():
        for i in range(1):
            x[0] &= 5
            x[1] |= 16
            x[2] *= 2
            x[3] //= 2
            x[4] ^= 255
            x[5] -= 100
            x[6] += 120
            x[7] <<= 3
            y[0] *= 1.5
            y[1] /= 2.0
            y[2] -= 1.0
            y[3] += 0.75

    change()
    assert content(x) == [
        12 & 5,
        13 | 16,
        28,
        7,
        Int(8).stored(16 ^ 255),
        -83,
        Int(8).stored(138),
        Int(8).stored(19 * 8),
    ]
    assert content(y)[:4] == [0.375, 0.125, -0.75, -1.0]


@pytest.mark.parametrize("parallel", [False, True])
def test_atomics_return_what_was_there(arch, parallel):
    x, y, g = packed(q.int(8), q.fixed(8), q.float(5, 10))
    old = qd.ndarray(qd.f32, 6)

    @qd.kernel
    def change(old: qd.types.ndarray()):
        for i in range(1 if qd.static(parallel) else 2):
            if i == 0:
                old[0] = qd.atomic_add(x[0], 100)
                old[1] = qd.atomic_add(x[0], 100)
                old[2] = qd.atomic_sub(x[0], 1)
                old[3] = qd.atomic_add(y[0], 0.3)
                old[4] = qd.atomic_sub(y[0], 0.1)
                old[5] = qd.atomic_add(g[0], 1.5)

    change(old)
    assert old.to_numpy().tolist() == [0, 100, -56, 0, 38 / 128, 0]
    assert (x[0], y[0], g[0]) == (-57, 25 / 128, 1.5)


def test_sums_of_fixed_numbers_round_each_term(arch):
    _, y = packed(q.int(8), q.fixed(8))

    @qd.kernel
    def add():
        for i in range(100):
            y[0] += 0.003
            y[1] += 0.005

    add()
    form, wanted = Fixed(8), [0.0, 0.0]
    for _ in range(100):
        wanted = [form.added(wanted[0], 0.003), form.added(wanted[1], 0.005)]
    assert content(y)[:2] == wanted


@pytest.mark.parametrize("op", ["max", "min", "mul", "and", "or", "xor", "exchange"])
def test_other_atomics_are_refused_with_the_line(arch, op):
    x, _ = packed(q.int(8), q.int(3))
    function = getattr(qd, f"atomic_{op}")

    @qd.kernel
    def change():
        function(x[0], 5)

    with pytest.raises(
        qd.QuadrantsTypeError, match=f"'atomic_{op}' does not work on a field of the quantised type qi8"
    ) as e:
        change()
    assert "test_quant_kernels.py" in str(e.value)


def test_bitwise_operators_are_for_integers(arch):
    y, _ = packed(q.fixed(8), q.int(3))

    @qd.kernel
    def change():
        y[0] |= 5

    with pytest.raises(qd.QuadrantsTypeError, match="unsupported operand type"):
        change()


def test_vectors_and_swizzles(arch):
    v = qd.Vector.field(3, [q.int(5), q.int(6), q.int(7)])
    word = qd.BitpackedFields(32)
    word.place(v)
    qd.root.dense(qd.i, 4).place(word)
    sums = qd.ndarray(qd.i32, 4)

    @qd.kernel
    def change(n: qd.i32, sums: qd.types.ndarray()):
        for i in v:
            v[i] = qd.Vector([i, 2 * i, 3 * i])
            v[i] += qd.Vector([1, 2, 3])
            v[i].xy = v[i].yx
            v[i][n] += 40
            v[i].z -= 1
            sums[i] = v[i].sum() + v[i][n]

    change(1, sums)
    rows = [[2 * i + 2, Int(6).stored(i + 41), 3 * i + 2] for i in range(4)]
    assert [v[i].to_list() for i in range(4)] == rows
    assert sums.to_numpy().tolist() == [sum(row) + row[1] for row in rows]


def test_components_that_run_time_chooses(arch):
    m = qd.Matrix.field(2, 2, q.fixed(7))
    word = qd.BitpackedFields(32)
    word.place(m)
    qd.root.dense(qd.i, 4).place(word)
    old = qd.ndarray(qd.f32, 4)

    @qd.kernel
    def change(row: qd.i32, column: qd.i32, old: qd.types.ndarray()):
        for i in m:
            m[i][row, column] = i * 0.125
            old[i] = qd.atomic_add(m[i][row, column], 0.25)

    for row in range(2):
        for column in range(2):
            change(row, column, old)
            assert old.to_numpy().tolist() == [0.0, 0.125, 0.25, 0.375]
            assert [m[i][row, column] for i in range(4)] == [0.25, 0.375, 0.5, 0.625]
    assert m[1].to_list() == [[0.375, 0.375], [0.375, 0.375]]


def test_structs(arch):
    s = qd.Struct.field({"a": q.int(5), "b": q.fixed(8)})
    word = qd.BitpackedFields(16)
    word.place(s)
    qd.root.dense(qd.i, 4).place(word)

    @qd.kernel
    def change():
        for i in s:
            s[i].a = i + 1
            s[i].b = 0.25 * i
        for i in range(3):
            s[i + 1].a -= 9

    @qd.kernel
    def copy():
        s[3] = s[1]

    change()
    copy()
    assert [s[i].to_dict() for i in range(4)] == [
        {"a": 1, "b": 0.0}, {"a": -7, "b": 0.25}, {"a": -6, "b": 0.5}, {"a": -7, "b": 0.25}
    ]  # fmt: skip


def test_functions_and_templates(arch):
    x, y = packed(q.int(9), q.int(9))

    @qd.func
    def bump(field: qd.template(), i, by):
        field[i] += by
        return field[i]

    @qd.kernel
    def change(a: qd.template(), b: qd.template()) -> qd.i32:
        total = 0
        for i in range(8):
            total += bump(a, i, i) - bump(b, i, 1)
        return total

    assert change(x, y) == 28 - 8 and change(y, x) == sum(i + 1 for i in range(8)) - sum(i + 1 for i in range(8))
    assert content(x) == [i + 1 for i in range(8)] == content(y)


def test_functions_that_change_what_they_get(arch):
    x, y = packed(q.int(9), q.int(9))

    @qd.real_func
    def twice(n: qd.ref(qd.i32)) -> qd.i32:
        n = 2 * n
        return n + 1

    @qd.kernel
    def change() -> qd.i32:
        x[2] = 5
        a = x[2]
        r = twice(a)
        x[2] = a
        return r

    assert change() == 11 and x[2] == 10 and content(y) == [0] * 8


def test_functions_that_change_a_template(arch):
    x, _ = packed(q.int(9), q.int(9))

    @qd.func
    def triple(n: qd.template()):
        n *= 3

    @qd.kernel
    def change():
        for i in x:
            x[i] = i
            triple(x[i])

    change()
    assert content(x) == [3 * i for i in range(8)]


@pytest.mark.runtime(exclude=("metal", "vulkan"))
def test_the_address_of_a_number_is_that_of_its_word(arch):
    x, y = packed(q.int(9), q.int(9))
    v = array(q.int(4))

    @qd.kernel
    def addresses(n: qd.i32) -> qd.types.vector(4, qd.i64):
        a = qd.cast(qd.get_addr(x, [n]), qd.i64)
        return qd.Vector(
            [
                qd.cast(qd.get_addr(y, [n]), qd.i64) - a,
                qd.cast(qd.get_addr(x, [n + 1]), qd.i64) - a,
                qd.cast(qd.get_addr(v, [7]), qd.i64) - qd.cast(qd.get_addr(v, [0]), qd.i64),
                qd.cast(qd.get_addr(v, [8]), qd.i64) - qd.cast(qd.get_addr(v, [0]), qd.i64),
            ]
        )

    assert list(addresses(2)) == [0, 4, 0, 4]


def test_slices_are_refused(arch):
    x = qd.field(q.int(4))
    qd.root.dense(qd.ij, (16, 2)).quant_array(qd.j, 8, 32).place(x)

    @qd.kernel
    def load():
        for _ in range(32):
            part = x[0:16, 0:16]  # noqa: F841

    with pytest.raises(qd.QuadrantsTypeError, match="quantised"):
        load()


def test_an_index_that_is_stored_to_is_evaluated_once(arch):
    x, y = packed(q.int(4), q.int(4))

    @qd.kernel
    def change():
        for _ in range(1):
            x[0] = 3
            x[x[0]] = 2  # x[3]
            x[x[3]] = 0  # x[2]
            y[x[3]] += 1
            x[x[0]] += x[x[3]] + 1
            x[x[0]], y[x[0]] = x[0], x[3]

    change()
    assert content(x)[:4] == [3, 0, 0, 3] and content(y)[:4] == [0, 0, 1, 3]


def test_stores_side_by_side_see_one_another(arch):
    x, y, z = packed(q.int(10), q.int(10), q.int(12))

    @qd.kernel
    def change():
        for i in x:
            x[i] = i + 1
            y[i] = x[i] * 2
            z[i] = y[i] + x[i]
            x[i] = 0 - z[i]
            y[(i + 1) % 8] = y[i]

    change()
    assert content(x) == [-3 * (i + 1) for i in range(8)] and content(z) == [3 * (i + 1) for i in range(8)]


def test_joined_stores_write_a_word_once(arch):
    x, y = packed(q.int(13), q.int(19, False))

    @qd.kernel
    def change():
        for i in range(8):
            a = i * 3
            x[(i + 1) % 8] = a
            y[(i + 1) % 8] = a + 1

    text = change.source(arch="cpu")
    change()
    assert "atomic_cas" not in text[text.index("change_0") :]
    assert content(x) == [21, *range(0, 21, 3)] and content(y) == [22, *range(1, 22, 3)]


def test_one_iteration_owns_its_word(arch):
    x, y = packed(q.int(13), q.int(10))

    @qd.kernel
    def own():
        for i in x:
            x[i] += y[(i + 1) % 8] + i

    @qd.kernel
    def shared():
        for i in x:
            x[(i + 1) % 8] += i

    body = own.source(arch="cpu")
    assert "atomic_cas" not in body[body.index("own_0") :]
    body = shared.source(arch="cpu")
    assert "cas" in body[body.index("shared_0") :]
    own()
    shared()
    assert content(x) == [i + (i - 1) % 8 for i in range(8)]


def test_one_iteration_owns_its_word_block_by_block(arch):
    x, y = qd.field(q.int(13)), qd.field(q.int(10))
    word = qd.BitpackedFields(32)
    word.place(x, y)
    qd.root.dense(qd.ij, (2, 3)).dense(qd.ij, (4, 2)).dense(qd.i, 2).place(word)

    @qd.kernel
    def own():
        for i, j in x:
            x[i, j] += 100 * i + j
            y[i, j] = x[i, j] - 5

    @qd.kernel
    def shared():
        for i, j in x:
            x[(i + 1) % 16, j] += 1

    own()
    shared()
    assert [[x[i, j], y[i, j]] for i in range(16) for j in range(6)] == [
        [100 * i + j + 1, Int(10).stored(100 * i + j - 5)] for i in range(16) for j in range(6)
    ]
    for kernel, atomic in ((own, False), (shared, True)):
        body = kernel.source(arch="cpu")
        assert ("atomic_cas" in body[body.index(f"{kernel.__name__}_0") :]) == atomic


def test_whole_loops_of_a_kernel_return_numbers(arch):
    x, g = packed(q.int(7, False), q.float(5, 12), shape=40)

    @qd.kernel
    def total() -> qd.f32:
        s = 0.0
        for i in x:
            s += x[i] * g[i]
        return s

    for i in range(40):
        x[i], g[i] = i, 0.5
    assert total() == sum(range(40)) / 2


def test_loops_that_count_to_a_quantised_number(arch):
    n, out = packed(q.int(7), q.int(20))

    @qd.kernel
    def count():
        for i in range(n[0]):
            out[i % 4] += 1
        k = 0
        while k < n[1]:
            k += 1
        out[7] = k

    n[0], n[1] = 37, 5
    count()
    assert content(out) == [10, 9, 9, 9, 0, 0, 0, 5]


def test_fixed_numbers_of_64_bits(arch):
    x, y = packed(q.fixed(40, compute=qd.f64), q.fixed(24, False, compute=qd.f64), bits=64)

    @qd.kernel
    def store(a: qd.f64, b: qd.f64):
        for i in range(8):
            x[(i + 3) % 8] = a * i - b
            y[(i + 5) % 8] += a * i

    store(0.1, 0.4)
    assert [x[(i + 3) % 8] for i in range(8)] == [round((0.1 * i - 0.4) * 2**39) / 2**39 for i in range(8)]
    assert [y[(i + 5) % 8] for i in range(8)] == [round(0.1 * i * 2**24) / 2**24 for i in range(8)]


def test_many_members(arch):
    forms = [Int(3), Fixed(4), Float(3, 4), Int(5, False), Fixed(6, False), Int(7)]
    fields = packed(*(form.type(qd) for form in forms), bits=32, shape=5)
    values = np.random.default_rng(3).uniform(-9, 9, (5, 6)).astype(np.float32)
    given = qd.ndarray(qd.f32, (5, 6))
    given.from_numpy(values)

    @qd.kernel
    def store(given: qd.types.ndarray()):
        for i in range(5):
            for k in qd.static(range(6)):
                fields[k][i] = given[i, k]

    store(given)
    for k, form in enumerate(forms):
        wanted = [form.stored(float(v) if not isinstance(form, Int) else max(int(v), -10)) for v in values[:, k]]
        assert content(fields[k]) == wanted, form
