"""Quantised fields below sparse nodes: what is active, lists, derivatives, and words that threads share. Random trees
have them too (sparse_kit.py)."""

from __future__ import annotations

import numpy as np
import pytest
import sparse_kit

import quadrants as qd

TREES = {
    "pointer": lambda root: root.pointer(qd.i, 16),
    "pointer_dense": lambda root: root.pointer(qd.i, 4).dense(qd.i, 4),
    "bitmasked": lambda root: root.bitmasked(qd.i, 16),
    "dense_bitmasked": lambda root: root.dense(qd.i, 4).bitmasked(qd.i, 4),
    "dynamic": lambda root: root.dynamic(qd.i, 16, chunk_size=4),
}


def in_word(tree: str, *fields, bits: int = 32):
    word = qd.BitpackedFields(max_num_bits=bits)
    word.place(*fields)
    TREES[tree](qd.root).place(word)


@pytest.mark.parametrize("tree", TREES)
def test_a_word_for_each_cell(sparse, tree):
    a, b = qd.field(qd.types.quant.int(5)), qd.field(qd.types.quant.int(7, False))
    in_word(tree, a, b)

    @qd.kernel
    def write():
        for i in range(16):
            if i % 3 == 0:
                a[i] = i - 8
                b[i] = i * 7

    @qd.kernel
    def more():
        for i in b:
            a[i] += 1

    write()
    at = [i for i in range(16) if i % 3 == 0]
    assert [a[i] for i in range(16)] == [i - 8 if i in at else 0 for i in range(16)]
    assert [b[i] for i in range(16)] == [i * 7 if i in at else 0 for i in range(16)]
    active = sparse_kit.visited(a, (0,))
    assert active.all() if tree in ("dynamic", "pointer_dense") else np.nonzero(active)[0].tolist() == at
    more()
    assert [a[i] for i in range(16)] == [(i - 8 if i in at else 0) + int(active[i]) for i in range(16)]
    assert [b[i] for i in at] == [i * 7 for i in at]
    a[4] = -3
    assert a[4] == -3 and b[4] == 0 and sparse_kit.visited(b, (0,))[4] == 1


@pytest.mark.parametrize("tree", ["pointer", "bitmasked", "dynamic", "pointer_dense"])
def test_a_word_for_several_cells(sparse, tree):
    """Threads of several words, and several threads of one word, store at once."""
    a = qd.field(qd.types.quant.fixed(8, max_value=64.0))
    node = TREES[tree](qd.root)
    node.quant_array(qd.i, 4, max_num_bits=32).place(a)

    @qd.kernel
    def write(first: qd.i32, end: qd.i32):
        for i in range(first, end):
            if i % 5 == 0:
                a[i] = i * 0.5
            else:
                a[i] += 1.0

    @qd.kernel
    def double():
        for i in a:
            a[i] *= 2

    write(8, 24)
    wanted = np.array([0 if not 8 <= i < 24 else i * 0.5 if i % 5 == 0 else 1.0 for i in range(64)])
    assert [a[i] for i in range(64)] == wanted.tolist()
    double()
    assert [a[i] for i in range(64)] == (2 * wanted).tolist()
    active = sparse_kit.visited(a, (0,))
    assert active[8:24].all() and active.sum() == {"dynamic": 24, "pointer_dense": 32}.get(tree, 16)
    a.from_numpy(np.arange(64, dtype=np.float32) / 2)
    assert [a[i] for i in range(64)] == [i / 2 if active[i] else 0.0 for i in range(64)]


def test_floats_with_one_exponent(sparse):
    kind = qd.types.quant.float(exp=6, frac=12)
    p, q = qd.field(kind), qd.field(kind)
    word = qd.BitpackedFields(max_num_bits=32)
    word.place(p, q, shared_exponent=True)
    qd.root.pointer(qd.ij, 4).bitmasked(qd.ij, 2).place(word)
    p[3, 5] = 2.0

    @qd.kernel
    def fill():
        for i, j in p:
            q[i, j] = 0.5 * p[i, j]

    fill()
    assert (p[3, 5], q[3, 5], p[3, 4], q[0, 0]) == (2.0, 1.0, 0.0, 0.0)
    assert sparse_kit.visited(p, (0, 0)).sum() == 1


def test_entries_of_lists(sparse):
    a, b = qd.field(qd.types.quant.int(9)), qd.field(qd.types.quant.int(7))
    word = qd.BitpackedFields(max_num_bits=16)
    word.place(a, b)
    lists = qd.root.dense(qd.i, 3).dynamic(qd.j, 20, chunk_size=4)
    lists.place(word)

    @qd.kernel
    def fill():
        for i in range(3):
            for j in range(2 * i + 1):
                a[i].append(qd.Vector([100 + j, j - 50]))

    fill()
    assert [[a[i, j] for j in range(6)] for i in range(3)] == [
        [100, 0, 0, 0, 0, 0], [100, 101, 102, 0, 0, 0], [100, 101, 102, 103, 104, 0]
    ]  # fmt: skip
    assert [b[2, j] for j in range(6)] == [-50, -49, -48, -47, -46, 0]


def test_a_derivative_leaves_active_what_is(sparse):
    kind = qd.types.quant.fixed(20, max_value=512.0)
    x, loss = qd.field(kind, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)
    word = qd.BitpackedFields(max_num_bits=64)
    word.place(x, x.grad)
    qd.root.pointer(qd.i, 8).dense(qd.i, 2).place(word)

    @qd.kernel
    def energy():
        for i in x:
            loss[None] += x[i] * x[(i + 4) % 16]

    for i in (0, 1, 4, 9):
        x[i] = i + 1
    active = sparse_kit.visited(x, (0,))
    with qd.ad.Tape(loss):
        energy()
    wanted = np.zeros(16)
    values = [x[i] for i in range(16)]
    for i in np.nonzero(active)[0]:
        wanted[i] += values[(i + 4) % 16]
        wanted[(i + 4) % 16] += values[i] * active[(i + 4) % 16]
    assert loss[None] == 5.0 and [x.grad[i] for i in range(16)] == wanted.tolist()
    assert sparse_kit.visited(x, (0,)).tolist() == active.tolist()


def test_a_dense_word_beside_sparse_nodes(sparse):
    x, q = qd.field(qd.f32), qd.field(qd.types.quant.int(8))
    qd.root.pointer(qd.i, 4).place(x)
    bits = qd.BitpackedFields(32)
    bits.place(q)
    qd.root.dense(qd.i, 8).place(bits)
    x[1], q[3] = 2.0, -5
    assert x.to_numpy().tolist() == [0, 2, 0, 0] and [q[k] for k in range(8)] == [0, 0, 0, -5, 0, 0, 0, 0]


def test_copies_from_dense_fields(sparse):
    """Where memory is a device's, what is copied is there too."""
    v, x = qd.Vector.field(2, qd.types.quant.int(18)), qd.field(qd.types.quant.int(13))
    in_word("pointer_dense", v, x, bits=64)
    w, y = qd.Vector.field(2, qd.i32, 16), qd.field(qd.i32, 16)
    numbers = np.arange(16, dtype=np.int32)
    w.from_numpy(np.stack([numbers, -numbers], -1))
    y.from_numpy(3 * numbers)
    v.copy_from(w)
    x.copy_from(y)
    assert [(*v[i], x[i]) for i in range(16)] == [(i, -i, 3 * i) for i in range(16)]
