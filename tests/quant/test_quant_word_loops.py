"""`qd.loop_config(bit_vectorize=True)`: what an iteration for a whole word gives is what one for each cell gives."""

from __future__ import annotations

import itertools
import linecache
import random

import numpy as np
import pytest

import quadrants as qd

q = qd.types.quant
ROWS, COLUMNS = 6, 96
NEAR = list(itertools.product((-1, 0, 1), repeat=2))


def bits(form=None, word=32, offset=None):
    x = qd.field(form or q.int(1, False))
    node = qd.root.dense(qd.ij, (ROWS, COLUMNS // word)).quant_array(qd.j, word, max_num_bits=word)
    node.place(x, offset=offset)
    return x


def content(x):
    i0, j0 = x._offset or (0, 0)
    return np.array([[x[i0 + i, j0 + j] for j in range(COLUMNS)] for i in range(ROWS)])


def start(x, seed=0):
    form = x.quant
    values = np.random.default_rng(seed).integers(0, 2, (ROWS, COLUMNS)).astype(np.int32)
    x.from_numpy(-values if form.signed else values)
    return values


def life(cells):
    around = [np.roll(cells, (i, j), (0, 1)) for i, j in itertools.product((-1, 0, 1), repeat=2) if (i, j) != (0, 0)]
    total = sum(around)
    return ((total == 3) | ((total == 2) & (cells == 1))).astype(int)


@pytest.mark.parametrize("word", [8, 16, 32])
@pytest.mark.parametrize("by_word", [False, True])
def test_the_game_of_life_on_a_torus(arch, by_word, word):
    x, y = bits(word=word), bits(word=word)

    @qd.kernel
    def step():
        qd.loop_config(bit_vectorize=by_word)
        for i, j in y:
            total = 0
            for a, b in qd.static(NEAR):
                if qd.static((a, b) != (0, 0)):
                    total += x[(i + a) % ROWS, (j + b) % COLUMNS]
            y[i, j] = (total == 3) or (total == 2 and x[i, j] == 1)

    cells = start(x)
    step()
    assert np.array_equal(content(y), life(cells))
    assert ("qd_plane" in step.source(arch="cuda")) == (by_word and word == 32)
    assert ("qd_plane" in step.source(arch="cpu")) == (word == 32)


@pytest.mark.parametrize("form", [q.int(1), q.int(1, False)], ids=str)
@pytest.mark.parametrize("offset", [None, (-3, 5)])
def test_the_game_of_life_between_walls(arch, form, offset):
    x, y = bits(form, offset=offset), bits(form, offset=offset)
    i0, j0 = offset or (0, 0)
    sign = -1 if form.signed else 1

    @qd.kernel
    def step():
        qd.loop_config(bit_vectorize=True)
        for i, j in y:
            total = 0
            for a, b in qd.static(NEAR):
                if qd.static((a, b) != (0, 0)):
                    if i0 <= i + a and i + a < i0 + ROWS and j0 <= j + b < j0 + COLUMNS:
                        total += x[i + a, j + b]
            alive = x[i, j] == sign
            y[i, j] = total == 3 * sign or (total == 2 * sign and alive)

    cells = start(x, 1)
    step()
    walled = np.pad(cells, 1)
    total = sum(
        walled[1 + a : 1 + a + ROWS, 1 + b : 1 + b + COLUMNS]
        for a, b in itertools.product((-1, 0, 1), repeat=2)
        if (a, b) != (0, 0)
    )
    assert np.array_equal(abs(content(y)), ((total == 3) | ((total == 2) & (cells == 1))).astype(int))
    assert "qd_plane" in step.source(arch="cpu")


def test_cells_of_several_bits(arch):
    y = qd.field(q.int(4))
    qd.root.dense(qd.ij, (ROWS, COLUMNS // 8)).quant_array(qd.j, 8, 32).place(y)
    other = qd.field(q.int(4))
    qd.root.dense(qd.ij, (ROWS, COLUMNS // 8)).quant_array(qd.j, 8, 32).place(other)
    for i, j in itertools.product(range(ROWS), range(COLUMNS)):
        other[i, j] = i * j % 16

    @qd.kernel
    def step(k: qd.i32):
        qd.loop_config(bit_vectorize=True)
        for i, j in y:
            if j % 7 == 6:
                continue
            y[i, j] = other[i, (j + 1) % COLUMNS] + k
            y[i, j] += i
            if y[i, j] > 3:
                y[i, j] = -1

    step(2)
    wrapped = lambda v: (v + 8) % 16 - 8  # noqa: E731
    wanted = [[wrapped(wrapped(wrapped(i * ((j + 1) % COLUMNS)) + 2) + i) for j in range(COLUMNS)] for i in range(ROWS)]
    wanted = [[0 if j % 7 == 6 else -1 if v > 3 else v for j, v in enumerate(row)] for row in wanted]
    assert content(y).tolist() == wanted
    text = step.source(2, arch="cpu")
    assert "atomic_cas" not in text[text.index("step_0") :]


@pytest.mark.parametrize("width", [1, 4])
def test_grouped_indices(arch, width):
    form = q.int(width, False)
    x, y = (qd.field(form) for _ in range(2))
    for field in (x, y):
        qd.root.dense(qd.ij, (ROWS, COLUMNS * width // 32)).quant_array(qd.j, 32 // width, 32).place(field)
    cells = np.random.default_rng(4).integers(0, 1 << width, (ROWS, COLUMNS)).astype(np.int32)
    x.from_numpy(cells)

    @qd.kernel
    def step():
        qd.loop_config(bit_vectorize=True)
        for I in qd.grouped(y):
            y[I] = x[I] + 1
            y[I] = y[I] + x[I]

    step()
    assert np.array_equal(content(y), (2 * cells + 1) % (1 << width))
    text = step.source(arch="cpu")
    assert "atomic_cas" not in text[text.index("step_0") :] and ("qd_plane" in text) == (width == 1)


def test_updates_of_other_cells_keep_words_apart(arch):
    y = qd.field(q.int(4))
    qd.root.dense(qd.ij, (ROWS, COLUMNS // 8)).quant_array(qd.j, 8, 32).place(y)

    @qd.kernel
    def step():
        qd.loop_config(bit_vectorize=True)
        for i, j in y:
            y[i, j] += 1
            y[(i + 1) % ROWS, (j + 1) % COLUMNS] += 1

    @qd.func
    def bump(field: qd.template(), i, j):
        field[i, j] += 1

    @qd.kernel
    def through_a_function():
        qd.loop_config(bit_vectorize=True)
        for i, j in y:
            bump(y, i, j)
            bump(y, i, (j + 1) % COLUMNS)

    step()
    assert (content(y) == 2).all()
    through_a_function()
    assert (content(y) == 4).all()


def test_a_loop_that_writes_elsewhere_is_one_over_cells(arch):
    x, y = bits(), bits()
    cells = start(x, 2)

    @qd.kernel
    def shift():
        qd.loop_config(bit_vectorize=True)
        for i, j in x:
            y[i, (j + 1) % COLUMNS] = x[i, j]

    shift()
    assert np.array_equal(content(y), np.roll(cells, 1, 1))


def test_other_fields_may_be_written_too(arch):
    x, y, z = bits(), bits(), qd.field(qd.i32, (ROWS, COLUMNS))
    total = qd.field(qd.i32, ())
    cells = start(x, 3)

    @qd.kernel
    def step():
        qd.loop_config(bit_vectorize=True)
        for i, j in y:
            y[i, j] = 1 - x[i, j]
            z[i, j] = x[i, j] * 3
            total[None] += x[i, j]

    step()
    assert np.array_equal(content(y), 1 - cells) and np.array_equal(z.to_numpy(), 3 * cells)
    assert total[None] == cells.sum()


def test_a_plain_field_is_looped_over_as_ever(arch):
    z = qd.field(qd.i32, 8)

    @qd.kernel
    def step():
        qd.loop_config(bit_vectorize=True)
        for i in z:
            z[i] = i

    step()
    assert z.to_numpy().tolist() == list(range(8))


def test_indices_are_checked_in_debug_mode(init):
    init(debug=True)
    x, y = bits(), bits()

    @qd.kernel
    def step():
        qd.loop_config(bit_vectorize=True)
        for i, j in y:
            y[i, j] = x[i, j + 1]

    with pytest.raises(qd.QuadrantsAssertionError, match="Accessing field"):
        step()


def drawn(rng, names, depth):
    """A random expression of small whole numbers."""
    if depth == 0 or rng.random() < 0.15:
        kind = rng.random()
        if kind < 0.2:
            return str(rng.randrange(-3, 4))
        if names and kind < 0.5:
            return rng.choice(names)
        a, b = rng.randrange(-1, 2), rng.randrange(-40, 41)
        return f"{rng.choice('xs')}[(i + {a}) % ROWS, (j + {b}) % COLUMNS]"
    a, b = drawn(rng, names, depth - 1), drawn(rng, names, depth - 1)
    kind = rng.randrange(12)
    if kind < 4:
        return f"({a} {rng.choice(['+', '-', '+', '*'])} {b})"
    if kind < 6:
        return f"({a} {rng.choice(['&', '|', '^'])} {b})"
    if kind < 8:
        return f"qd.cast({a} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {b}, qd.i32)"
    if kind == 8:
        return f"(-{a})"
    if kind == 9:
        return f"(~{a})"
    return f"({a} if {condition(rng, names, depth - 1)} else {b})"


def condition(rng, names, depth):
    kind = rng.randrange(5)
    if kind == 0:
        return f"j + {rng.randrange(-9, 9)} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {rng.randrange(-3, 99)}"
    if kind == 1:
        return f"i {rng.choice(['<', '>', '=='])} {rng.randrange(6)}"
    if kind == 2 and depth > 0:
        return f"({condition(rng, names, 0)} {rng.choice(['and', 'or'])} {condition(rng, names, 0)})"
    a, b = drawn(rng, names, min(depth, 1)), drawn(rng, names, 0)
    return f"{a} {rng.choice(['<', '>=', '==', '!='])} {b}"


def program(seed):
    rng = random.Random(seed)
    names: list = []
    lines = ["def step(by_word: qd.template()):", "    qd.loop_config(bit_vectorize=by_word)", "    for i, j in y:"]
    for k in range(rng.randrange(1, 4)):
        lines.append(f"        v{k} = {drawn(rng, names, rng.randrange(1, 3))}")
        names.append(f"v{k}")
    for _ in range(rng.randrange(3)):
        lines.append(f"        if {condition(rng, names, 1)}:")
        lines.append(f"            {rng.choice(names)} = {drawn(rng, names, 1)}")
        if rng.random() < 0.5:
            lines += ["        else:", f"            {rng.choice(['y[i, j]', *names])} = {drawn(rng, names, 1)}"]
    lines.append(f"        y[i, j] = {drawn(rng, names, 2)}")
    return "\n".join(lines)


def run(text, name, fields):
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = {"qd": qd, "ROWS": ROWS, "COLUMNS": COLUMNS, **fields}
    exec(compile(text, file, "exec"), scope)  # noqa: S102
    return qd.kernel(scope["step"])


def test_random_bodies_give_the_same_by_words_and_by_cells(arch):
    at_once = 0
    small = q.int(1, False, compute=qd.i32)
    x, s, y = bits(small), bits(q.int(1)), bits(small)
    start(x, 5)
    start(s, 6)
    for seed in range(40 if qd.cfg.arch == qd.cpu else 8):
        text = program(seed)
        step = run(text, f"bits{seed}", {"x": x, "s": s, "y": y})
        y.fill(0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("quadrants.passes.packed_places.word_loop", lambda task, always: None)
            step(False)
        wanted = content(y)
        y.fill(0)
        step(True)
        assert np.array_equal(content(y), wanted), text
        at_once += "qd_plane" in step.source(True, arch="cpu")
    assert at_once > 0.6 * (seed + 1)
