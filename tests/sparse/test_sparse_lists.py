"""Random histories of lists, which are filled beyond their room, written by index and deactivated, against Python's."""

import random

import numpy as np
import pytest

import quadrants as qd

LISTS = 3


class World:
    """Lists of `most` elements at most. around: the node that lists are in; "" is none, so that there is one list."""

    def __init__(self, around: str, most: int, chunk: int):
        self.most, self.count = most, LISTS if around else 1
        x, y = qd.field(qd.i32), qd.Vector.field(2, qd.i32)
        above = {
            "": lambda: qd.root,
            "dense": lambda: qd.root.dense(qd.i, LISTS),
            "pointer": lambda: qd.root.pointer(qd.i, LISTS),
            "bitmasked": lambda: qd.root.bitmasked(qd.i, LISTS),
            "pointer dense": lambda: qd.root.pointer(qd.i, 1).dense(qd.i, LISTS),
        }
        outer = above[around]()
        node = outer.dynamic(qd.j if around else qd.i, most, chunk_size=chunk)
        node.place(x)
        other = outer.dynamic(qd.j if around else qd.i, most, chunk_size=chunk)
        other.place(y)
        self.lists: list[list[int]] = [[] for _ in range(self.count)]
        rank = 2 if around else 1

        @qd.kernel
        def append(i: qd.i32, count: qd.i32, value: qd.i32):
            for _ in range(count):
                qd.append(node, [i for _ in qd.static(range(rank - 1))], value)
                qd.append(other, [i for _ in qd.static(range(rank - 1))], qd.Vector([value, -value]))

        @qd.kernel
        def write(i: qd.i32, k: qd.i32, value: qd.i32):
            index = qd.Vector([i, k] if qd.static(rank == 2) else [k])
            x[index] = value
            y[index] = qd.Vector([value, -value])

        @qd.kernel
        def clear(i: qd.i32):
            qd.deactivate(node, [i for _ in qd.static(range(rank - 1))])
            qd.deactivate(other, [i for _ in qd.static(range(rank - 1))])

        @qd.kernel
        def look(i: qd.i32, content: qd.types.ndarray(qd.i32, 1), told: qd.types.ndarray(qd.i32, 1)):
            told[0] = qd.length(node, [i for _ in qd.static(range(rank - 1))])
            told[1] = qd.length(other, [i for _ in qd.static(range(rank - 1))])
            for k in range(content.shape[0]):
                index = qd.Vector([i, k] if qd.static(rank == 2) else [k])
                content[k] = x[index] - y[index][1]

        @qd.kernel
        def visit(told: qd.types.ndarray(qd.i32, 1)):
            for index in qd.grouped(x):
                told[0] += 1
            for index in qd.grouped(y):
                told[1] += 1

        self._append, self._write, self._clear, self._look, self._visit = append, write, clear, look, visit

    def append(self, i: int, count: int, value: int) -> None:
        self._append(i, count, value)
        self.lists[i] += [value] * min(count, self.most - len(self.lists[i]))

    def write(self, i: int, k: int, value: int) -> None:
        self._write(i, k, value)
        self.lists[i] += [0] * (k + 1 - len(self.lists[i]))
        self.lists[i][k] = value

    def clear(self, i: int) -> None:
        self._clear(i)
        self.lists[i] = []

    def check(self, history: list) -> None:
        for i, wanted in enumerate(self.lists):
            content, told = np.zeros(self.most, np.int32), np.zeros(2, np.int32)
            self._look(i, content, told)
            assert told.tolist() == [len(wanted)] * 2, (i, history)
            assert content.tolist() == [2 * v for v in wanted] + [0] * (self.most - len(wanted)), (i, history)
        told = np.zeros(2, np.int32)
        self._visit(told)
        assert told.tolist() == [sum(map(len, self.lists))] * 2, history


@pytest.mark.parametrize("around", ["", "dense", "pointer", "bitmasked", "pointer dense"])
@pytest.mark.parametrize("most, chunk", [(16, 8), (20, 8), (5, 1), (12, 32)])
def test_histories_of_lists(sparse, around, most, chunk):
    rng = random.Random(f"{around} {most} {chunk}")
    world = World(around, most, chunk)
    # The least one that went wrong: appends that found no room counted when the list was deactivated.
    steps = [("append", 0, most + 1, 7), ("append", world.count - 1, 3, 8), ("clear", 0)]
    for _ in range(25):
        i = rng.randrange(world.count)
        steps.append(
            rng.choice(
                [
                    ("append", i, rng.randrange(1, 2 * most), rng.randrange(1, 99)),
                    ("append", i, rng.randrange(1, 4), rng.randrange(1, 99)),
                    ("write", i, rng.randrange(most), rng.randrange(1, 99)),
                    ("clear", i),
                ]
            )
        )
    for k, (name, *arguments) in enumerate(steps):
        getattr(world, name)(*arguments)
        world.check(steps[: k + 1])
