"""Random trees, random programs on them, and a model of both: a dictionary of values, and sets of active cells."""

import itertools
import math
import random

import numpy as np

import quadrants as qd


def count(x) -> int:
    """How many cells a loop over a field or node visits."""

    @qd.kernel
    def visit() -> qd.i32:
        n = 0
        for I in qd.grouped(x):
            n += 1
        return n

    return visit()


KINDS = ("dense", "pointer", "bitmasked")


class Level:
    """A node of the chain: its kind, the axes that it divides, how often, and the size of chunks of a list."""

    def __init__(self, kind, axes, dims, chunk=0):
        self.kind, self.axes, self.dims, self.chunk = kind, axes, dims, chunk

    def __repr__(self):
        return f"{self.kind}{dict(zip(self.axes, self.dims))}" + (f" by {self.chunk}" if self.chunk else "")


def random_chain(rng: random.Random) -> list[Level]:
    """One to four nodes, at least one of them sparse."""
    while True:
        rank = rng.randint(1, 3)
        levels: list[Level] = []
        for _ in range(rng.randint(1, 4)):
            axes = sorted(rng.sample(range(rank), rng.randint(1, rank)))
            levels.append(Level(rng.choice(KINDS), axes, [rng.choice((1, 2, 3, 4)) for _ in axes]))
        if rng.random() < 0.4:
            at = rng.randint(0, len(levels))
            size = rng.choice((3, 8, 21))
            levels.insert(at, Level("dynamic", [rank], [size], rng.choice((1, 2, 4, size))))
        used = {axis for level in levels for axis in level.axes}
        if used != set(range(len(used))) or all(level.kind == "dense" for level in levels):
            continue
        if math.prod(math.prod(level.dims) for level in levels) <= 600 and len(used) <= 3:
            return levels


def build(chain: list[Level], nodes: list | None = None):
    """The innermost of the nodes that a chain makes below `qd.root`; all of them are added to `nodes`."""
    node = qd.root
    for level in chain:
        axes = qd.axes(*level.axes)
        if level.kind == "dynamic":
            node = node.dynamic(axes, level.dims[0], chunk_size=level.chunk)
        else:
            node = getattr(node, level.kind)(axes, level.dims)
        if nodes is not None:
            nodes.append(node)
    return node


def visited(x, offset: tuple) -> np.ndarray:
    """1 for the cells that a loop over `x` visits."""
    rank = len(offset)
    seen, first = np.zeros(x.shape, np.int32), qd.Vector(list(offset), qd.i32)

    @qd.kernel
    def visit(seen: qd.types.ndarray(qd.i32, rank)):
        for I in qd.grouped(x):
            seen[I - first] += 1

    visit(seen)
    return seen


# What `x` is stored as: a number, bits of a word that it shares with `y`, or bits of a word with its neighbours.
STORED = ("numbers", "numbers", "bits", "words")


def random_quant(rng: random.Random):
    """A quantised type that has the whole numbers below 2^12, and wraps behind some power of two."""
    bits = rng.choice((13, 16))
    return rng.choice((qd.types.quant.int(bits), qd.types.quant.fixed(bits, max_value=2.0 ** (bits - 1))))


class World:
    """A tree of Quadrants, and what it should hold."""

    def __init__(self, chain: list[Level], rng: random.Random):
        self.chain, self.rng = chain, rng
        self.rank = len({axis for level in chain for axis in level.axes})
        self.offset = tuple(rng.choice((0, 0, -3, 5)) for _ in range(self.rank))
        self.stored = rng.choice(STORED)
        self.x, self.y = qd.field(rng.choice((qd.i32, qd.f32, qd.i64, qd.u8))), qd.Vector.field(2, qd.i32)
        if self.stored != "numbers":
            self.x = qd.field(random_quant(rng))
        self.dtype = self.x.dtype
        self.nodes: list = []
        node = build(chain, self.nodes)
        if self.stored == "numbers":
            node.place(self.x, self.y, offset=self.offset)
        elif self.stored == "bits":
            self.y = qd.Vector.field(2, qd.types.quant.int(rng.choice((18, 24))))
            bits = qd.BitpackedFields(max_num_bits=64)
            bits.place(self.x, self.y)
            node.place(bits, offset=self.offset)
        else:
            axes = sorted(rng.sample(range(self.rank), rng.randint(1, min(self.rank, 2))))
            lanes = Level("dense", axes, [rng.choice((2, 4)) if len(axes) == 1 else 2 for _ in axes])
            chain = self.chain = [*chain, lanes]
            node.quant_array(qd.axes(*axes), lanes.dims, max_num_bits=64).place(self.x, offset=self.offset)
            self.nodes.append(node.dense(qd.axes(*axes), lanes.dims))
            node = self.nodes[-1]
            node.place(self.y, offset=self.offset)
        self.shape = node.shape
        # What `copy_from` reads; it makes every cell active.
        self.sources = qd.field(self.dtype, self.shape), qd.Vector.field(2, qd.i32, self.shape)
        self.frames = []
        frame: dict = {}
        for level in chain:
            frame = dict(frame)
            for axis, n in zip(level.axes, level.dims):
                frame[axis] = frame.get(axis, 1) * n
            self.frames.append(frame)
        self.values: dict = {}
        self.active: list = [set() for _ in chain]  # coordinates; of a list, those of its entries

    # ------------------------------------------------------------ the model

    def coords(self, k: int, index: tuple) -> tuple:
        """Coordinates of the cell of node `k` around a zero-based index."""
        return tuple(index[a] // (self.shape[a] // n) for a, n in sorted(self.frames[k].items()))

    def sparse(self):
        return [k for k, level in enumerate(self.chain) if level.kind != "dense"]

    def write(self, index: tuple, value: int) -> None:
        self.touch(index)
        self.values[index] = value

    def touch(self, index: tuple, depth: int | None = None) -> None:
        for k in self.sparse():
            if depth is not None and k > depth:
                continue
            at = self.coords(k, index)
            self.active[k].add(at)
            if self.chain[k].kind == "dynamic":
                own = sorted(self.frames[k]).index(self.chain[k].axes[0])
                self.active[k].update((*at[:own], n, *at[own + 1 :]) for n in range(at[own]))

    def is_active(self, index: tuple, depth: int | None = None) -> bool:
        return all(self.coords(k, index) in self.active[k] for k in self.sparse() if depth is None or k <= depth)

    def drop(self, k: int, inside) -> None:
        """Make all cells inactive that are in cells of node `k` for which `inside(coordinates)` holds."""
        for below in self.sparse():
            if below >= k:
                ratio = {a: self.frames[below][a] // n for a, n in self.frames[k].items()}
                axes = sorted(self.frames[below])

                def around(at, axes=axes, ratio=ratio):
                    return tuple(at[axes.index(a)] // r for a, r in sorted(ratio.items()))

                self.active[below] = {at for at in self.active[below] if not inside(around(at))}
        self.values = {i: v for i, v in self.values.items() if not inside(self.coords(k, i))}

    def indices(self) -> itertools.product:
        return itertools.product(*map(range, self.shape))

    def cells(self, k: int) -> itertools.product:
        return itertools.product(*(n for _, n in sorted((a, range(n)) for a, n in self.frames[k].items())))

    def first_inside(self, k: int, at: tuple) -> tuple:
        """An index in a cell of node `k`."""
        out = [0] * self.rank
        for c, (a, n) in zip(at, sorted(self.frames[k].items())):
            out[a] = c * (self.shape[a] // n)
        return tuple(out)

    # ------------------------------------------------------------ comparison

    def expected(self) -> np.ndarray:
        out = np.zeros(self.shape, np.int64)
        for index, value in self.values.items():
            out[index] = value
        return out

    def check(self, kernels, what) -> None:
        told = f"{what} on {self.chain}, offset {self.offset}, {self.stored} of {self.dtype}"
        wanted = self.expected()
        np.testing.assert_array_equal(kernels.content(0) % 256, wanted % 256, err_msg=told)
        np.testing.assert_array_equal(kernels.content(1) % 256, -wanted % 256, err_msg=told)
        if self.stored == "numbers":
            np.testing.assert_array_equal(self.x.to_numpy().astype(np.int64) % 256, wanted % 256, err_msg=told)
            np.testing.assert_array_equal(self.y.to_numpy()[..., 1], -wanted, err_msg=told)
        active = np.array([[self.is_active(i)] for i in self.indices()], np.int32).reshape(self.shape)
        np.testing.assert_array_equal(kernels.visited(), active, err_msg=f"loop after {told}")
        for k, node in enumerate(self.nodes):
            cells = [self.is_active(self.first_inside(k, at), k) for at in self.cells(k)]
            seen = kernels.visited_cells(k)
            np.testing.assert_array_equal(
                seen, np.array(cells, np.int32).reshape(node.shape), err_msg=f"loop over {node} after {told}"
            )
            if self.chain[k].kind in ("pointer", "bitmasked"):
                np.testing.assert_array_equal(kernels.asked(k).ravel(), cells, err_msg=f"{node} after {told}")


class Kernels:
    """The kernels of one world. They take their work as arrays, so that one compilation serves all programs."""

    def __init__(self, world: World):
        x, y, rank, offset, nodes = world.x, world.y, world.rank, world.offset, world.nodes
        self.world, self._loops, self._asked, self._dropped, self._made = world, {}, {}, {}, {}

        @qd.kernel
        def store(index: qd.types.ndarray(qd.i32, 2), value: qd.types.ndarray(qd.i32, 1)):
            for n in range(index.shape[0]):
                at = qd.Vector([index[n, a] + offset[a] for a in qd.static(range(rank))])
                x[at] = qd.cast(value[n], world.dtype)
                y[at][1] -= y[at][1] + value[n]

        @qd.kernel
        def add(index: qd.types.ndarray(qd.i32, 2), value: qd.types.ndarray(qd.i32, 1)):
            for n in range(index.shape[0]):
                at = qd.Vector([index[n, a] + offset[a] for a in qd.static(range(rank))])
                qd.atomic_add(x[at], qd.cast(value[n], world.dtype))
                qd.atomic_add(y[at], qd.Vector([0, -value[n]]))

        @qd.kernel
        def load(index: qd.types.ndarray(qd.i32, 2), value: qd.types.ndarray(qd.i32, 1)):
            for n in range(index.shape[0]):
                at = qd.Vector([index[n, a] + offset[a] for a in qd.static(range(rank))])
                value[n] = qd.cast(x[at], qd.i32)

        @qd.kernel
        def read(found: qd.types.ndarray(qd.i32, rank), second: qd.i32):
            for at in qd.grouped(found):
                cell = at + qd.Vector([offset[a] for a in qd.static(range(rank))])
                found[at] = y[cell][1] if second else qd.cast(x[cell], qd.i32)

        @qd.kernel
        def visit(seen: qd.types.ndarray(qd.i32, rank)):
            for at in qd.grouped(x):
                seen[at - qd.Vector([offset[a] for a in qd.static(range(rank))])] += 1

        @qd.kernel
        def double():
            for at in qd.grouped(y):
                x[at] = x[at] * 2
                y[at] += y[at]

        unit = qd.Vector([1 - min(a, 1) for a in range(rank)])

        @qd.kernel
        def guises(index: qd.types.ndarray(qd.i32, 2), bits: qd.types.ndarray(qd.f32, 1), value: qd.i32):
            for n in range(1):
                at = qd.Vector([index[0, a] + offset[a] for a in qd.static(range(rank))])
                step = qd.Vector([index[1, a] - index[0, a] for a in qd.static(range(rank))])
                x[at + step] = qd.cast(value, world.dtype)
                y[at + step][1] = -value
                row = at * (1 - unit)
                for k in qd.static(range(2)):
                    first = qd.bit_cast(bits[n], qd.i32) if k else qd.cast(bits[n], qd.i32)
                    x[row + unit * (first + offset[0])] = qd.cast(value + k, world.dtype)
                    y[row + unit * (first + offset[0])][1] = -value - k

        self.guises = guises
        self.store, self.add, self.load, self._visit, self.double = store, add, load, visit, double
        self._read = read
        # A cell that the kernel knows, so that a loop could sum up first.
        self.summed = tuple(world.rng.randrange(n) for n in world.shape)
        known = tuple(c + o for c, o in zip(self.summed, offset))

        @qd.kernel
        def sum_up(count: qd.i32, value: qd.i32):
            for _ in range(count):
                x[known] += qd.cast(value, world.dtype)
                y[known][1] -= value

        self.sum_up = sum_up
        for k, node in enumerate(nodes):
            self._make(k, node, len(node.shape), world.chain[k].kind)

    def _make(self, k: int, node, rank: int, kind: str) -> None:
        @qd.kernel
        def visit(seen: qd.types.ndarray(qd.i32, rank)):
            for at in qd.grouped(node):
                seen[at] += 1

        self._loops[k] = visit
        if kind == "dense":
            return
        if kind == "dynamic":

            @qd.kernel
            def clear(index: qd.types.ndarray(qd.i32, 2)):
                for n in range(index.shape[0]):
                    qd.deactivate(node, [index[n, a] for a in qd.static(range(rank - 1))])

            @qd.kernel
            def lengths(index: qd.types.ndarray(qd.i32, 2), found: qd.types.ndarray(qd.i32, 1)):
                for n in range(index.shape[0]):
                    found[n] = qd.length(node, [index[n, a] for a in qd.static(range(rank - 1))])

            self._dropped[k], self._asked[k] = clear, lengths
            return

        @qd.kernel
        def drop(index: qd.types.ndarray(qd.i32, 2)):
            for n in range(index.shape[0]):
                qd.deactivate(node, [index[n, a] for a in qd.static(range(rank))])

        @qd.kernel
        def make(index: qd.types.ndarray(qd.i32, 2)):
            for n in range(index.shape[0]):
                qd.activate(node, [index[n, a] for a in qd.static(range(rank))])

        @qd.kernel
        def ask(seen: qd.types.ndarray(qd.i32, rank)):
            for at in qd.grouped(seen):
                seen[at] = qd.is_active(node, at)

        self._dropped[k], self._made[k], self._asked[k] = drop, make, ask

    def content(self, second: int) -> np.ndarray:
        """The numbers of `x`, or the second ones of `y`."""
        found = np.zeros(self.world.shape, np.int32)
        self._read(found, second)
        return found.astype(np.int64)

    def visited(self) -> np.ndarray:
        seen = np.zeros(self.world.shape, np.int32)
        self._visit(seen)
        return seen

    def visited_cells(self, k: int) -> np.ndarray:
        seen = np.zeros(self.world.nodes[k].shape, np.int32)
        self._loops[k](seen)
        return seen

    def asked(self, k: int) -> np.ndarray:
        seen = np.zeros(self.world.nodes[k].shape, np.int32)
        self._asked[k](seen)
        return seen


STEPS = "store store add host load drop drop make fill all double array sum copy guises".split()


def step(world: World, kernels: Kernels, rng: random.Random) -> str:
    """One operation on both; returns what it was."""
    some = [tuple(rng.randrange(n) for n in world.shape) for _ in range(rng.choice((1, 3, 20)))]
    some = list(dict.fromkeys(some))
    index = np.array(some, np.int32).reshape(len(some), world.rank)
    values = np.array([rng.randint(1, 60) for _ in some], np.int32)
    sparse = world.sparse()
    what = rng.choice(STEPS)
    if what == "store":
        kernels.store(index, values)
        for i, v in zip(some, values):
            world.write(i, int(v))
    elif what == "add":
        kernels.add(index, values)
        for i, v in zip(some, values):
            world.write(i, world.values.get(i, 0) + int(v))
    elif what == "sum":
        count, value = rng.choice((0, 1, 5)), rng.randint(0, 4)
        kernels.sum_up(count, value)
        if count:
            world.write(kernels.summed, world.values.get(kernels.summed, 0) + count * value)
    elif what == "guises":  # sums that are one cell, and a number that is not the cell of its bits
        pair, value = (some * 2)[:2], int(values[0])
        bits = rng.randrange(world.shape[0])
        kernels.guises(np.array(pair, np.int32), np.array([bits], np.int32).view(np.float32), value)
        for first, index, v in ((None, pair[1], value), (0, pair[0], value), (bits, pair[0], value + 1)):
            world.write(index if first is None else (first, *index[1:]), v)
    elif what == "host":
        for i, v in zip(some[:2], values):
            at = tuple(c + o for c, o in zip(i, world.offset))
            assert int(world.x[at]) % 256 == world.values.get(i, 0) % 256
            world.x[at] = int(v)
            world.y[at] = [0, -int(v)]
            world.write(i, int(v))
    elif what == "load":
        kernels.load(index, values)
        assert [world.values.get(i, 0) % 256 for i in some] == (values % 256).tolist()
    elif what == "drop":
        k = rng.choice(sparse)
        cells = {world.coords(k, i) for i in some}
        if world.chain[k].kind == "dynamic":
            own = sorted(world.frames[k]).index(world.chain[k].axes[0])
            lists = {(*at[:own], *at[own + 1 :]) for at in cells}
            kernels._dropped[k](np.array(sorted(lists), np.int32).reshape(len(lists), -1))
            world.drop(k, lambda at: (*at[:own], *at[own + 1 :]) in lists)
        else:
            kernels._dropped[k](np.array(sorted(cells), np.int32))
            world.drop(k, lambda at: at in cells)
    elif what == "make":
        made = [k for k in sparse if world.chain[k].kind != "dynamic"]
        if made:
            k = rng.choice(made)
            kernels._made[k](np.array([world.coords(k, i) for i in some], np.int32))
            for i in some:
                world.touch(i, k)
    elif what == "fill":
        value = rng.randint(0, 40)
        world.x.fill(value)
        world.y.fill(-value)
        for i in world.indices():
            if world.is_active(i):
                world.values[i] = value
    elif what == "all":
        k = rng.randrange(len(world.chain))
        world.nodes[k].deactivate_all()
        below = next((s for s in sparse if s >= k), None)
        if below is not None:
            world.drop(below, lambda at: True)
    elif what == "double":
        kernels.double()
        for i in world.indices():
            if world.is_active(i):
                world.values[i] = 2 * world.values.get(i, 0)
    else:
        array = np.array([rng.randint(0, 90) for _ in world.indices()]).reshape(world.shape)
        x, y = world.sources if what == "copy" else (world.x, world.y)
        x.from_numpy(array.astype(np.int32))
        y.from_numpy(np.stack([array, -array], -1).astype(np.int32))
        if what == "copy":
            world.x.copy_from(x)
            world.y.copy_from(y)
        for i in world.indices():
            if what == "copy":
                world.touch(i)
            if world.is_active(i):
                world.values[i] = int(array[i])
    return what


def run(seed: int, programs: int = 1, steps: int = 8) -> None:
    """Some random programs on one random tree."""
    rng = random.Random(seed)
    world = World(random_chain(rng), rng)
    kernels = Kernels(world)
    for program in range(programs):
        world.nodes[0].deactivate_all()
        if world.sparse()[0] == 0:
            world.drop(0, lambda at: True)
        else:
            world.drop(world.sparse()[0], lambda at: True)
        done = []
        for _ in range(steps):
            done.append(step(world, kernels, rng))
            world.check(kernels, f"seed {seed}, program {program}: {done}")
