"""Derivatives of kernels that read neighbours, over fields on random trees: exact, and they leave active what is.

QD_SPARSE_TREES and QD_SPARSE_SEED are those of test_sparse_random.py.
"""

import random

import numpy as np
import pytest
import sparse_kit
from test_sparse_random import COUNT, FIRST

import quadrants as qd


@pytest.mark.parametrize("seed", [*range(3), *range(FIRST, FIRST + COUNT)])
def test_random_trees(init, seed):
    init(ad_stack_experimental_enabled=True)
    rng = random.Random(seed)
    chain = sparse_kit.random_chain(rng)
    rank = len({axis for level in chain for axis in level.axes})
    offset = tuple(rng.choice((0, -3, 5)) for _ in range(rank))
    x, loss = qd.field(qd.f32, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)
    node = sparse_kit.build(chain)
    together = rng.random() < 0.7
    node.place(x, *[x.grad] * together, offset=offset)
    if not together:
        qd.root.dense(qd.axes(*range(rank)), node.shape).place(x.grad, offset=offset)
    times = qd.field(qd.i32)
    sparse_kit.build(chain).place(times, offset=offset)
    shape, step = node.shape, [rng.choice((-1, 1, 2)) for _ in range(rank)]
    first, size, moved = (qd.Vector(list(v), qd.i32) for v in (offset, shape, step))

    @qd.kernel
    def energy():
        for I in qd.grouped(x):
            at = I + moved - first
            for k in qd.static(range(rank)):
                at[k] = at[k] % size[k]
            t = x[at + first]
            for _ in range(times[I]):
                t = t * t
            loss[None] += x[I] * t + 3 * x[at + first] + 1

    cells = list(np.ndindex(*shape))
    for index in rng.sample(cells, rng.randint(1, min(len(cells), 12))):
        x[tuple(int(i) + o for i, o in zip(index, offset))] = float(rng.randint(1, 5))
    for index in rng.sample(cells, rng.randint(1, min(len(cells), 8))):
        times[tuple(int(i) + o for i, o in zip(index, offset))] = rng.randint(0, 2)
    visited, values = sparse_kit.visited(x, offset), x.to_numpy()
    with qd.ad.Tape(loss):
        energy()
    wanted, gradient, powers = 0.0, np.zeros(shape), 2 ** times.to_numpy()
    for index in zip(*np.nonzero(visited)):
        there = tuple((i + s) % n for i, s, n in zip(index, step, shape))
        value, power = values[there], powers[index]
        wanted += values[index] * value**power + 3 * value + 1
        gradient[index] += value**power
        gradient[there] += values[index] * power * value ** (power - 1) + 3
    if together:
        gradient[visited == 0] = 0
    told = f"{chain}, offset {offset}, step {step}, together {together}"
    assert loss[None] == wanted, told
    np.testing.assert_array_equal(x.grad.to_numpy(), gradient, err_msg=told)
    np.testing.assert_array_equal(sparse_kit.visited(x, offset), visited, err_msg=told)
