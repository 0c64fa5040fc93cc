"""On a processor a thread does a chunk of neighbouring iterations: each of them is done once, as the CPU does it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from opencl_device import is_processor

import quadrants as qd

pytestmark = pytest.mark.cpu_only
pytest.importorskip("pyopencl", reason="needs pyopencl: pip install pyopencl")

# Of 5,000 iterations and more a loop this light has several chunks.
SHAPES = [(7, 11003), (3, 5, 7001), (2, 3, 4, 5003), (60001, 2), (50021, 1)]
BOUNDS = list(itertools.product([(0, 40), (3, 41), (-4, 0), (5, 5), (6, 2)], repeat=2))


@pytest.fixture
def processor(opencl):
    """`processor(**options)` starts the runtime on a processor."""
    if not is_processor():
        pytest.skip("needs OpenCL on a processor: apt install pocl-opencl-icd")
    return opencl


@pytest.fixture(params=[0, 1, 3, 64], ids=lambda most: f"{most}_chunks" if most else "chunks")
def chunks(request, processor):
    """As many chunks at most as that; 0: as many as are chosen."""
    processor(saturating_grid_dim=request.param)


def forms(kernel, *args) -> set[str]:
    """The forms of the tasks of a kernel, as the listing at the end of its text has them."""
    listing = kernel.source(*args).rpartition("/* Launches, in order:")[2]
    return {line.split()[2].rstrip(",") for line in listing.splitlines() if line.startswith(" *     ")}


def test_iterations_of_one_axis(chunks):
    for first, last in [(0, 1), (0, 40013), (5, 40013), (-7, 40013), (-40013, -3), (9, 9), (9, 3)]:
        done = qd.ndarray(qd.i32, 40030)

        @qd.kernel
        def count(first: qd.i32, last: qd.i32, x: qd.types.NDArray[qd.i32, 1]):
            for i in range(first, last):
                x[abs(i)] += i

        count(first, last, done)
        wanted = np.zeros(40030, np.int32)
        for i in range(first, last):
            wanted[abs(i)] += i
        assert (done.to_numpy() == wanted).all(), (first, last)
        assert forms(count, first, last, done) == {"chunk"}


def test_iterations_up_to_the_last_number(chunks):
    done = qd.ndarray(qd.i32, 20000)

    @qd.kernel
    def count(x: qd.types.NDArray[qd.i32, 1]):
        for i in range(2147483647 - 20000, 2147483647):
            x[i - (2147483647 - 20000)] += i

    count(done)
    assert (done.to_numpy() == np.arange(2147483647 - 20000, 2147483647)).all()


@pytest.mark.parametrize(
    ("first", "last"), [(-(2**31), 0), (-1, 2**31 - 1), (-(2**31), 2**31 - 1)], ids=["below", "above", "all"]
)
def test_more_iterations_than_numbers_above_zero(processor, first, last):
    processor()

    @qd.kernel
    def count(first: qd.i32, last: qd.i32) -> qd.u32:
        found = qd.u32(0)
        for i in range(first, last):
            if (i * 7) & 1023 == 5:  # one of 1,024
                found += 1
        return found

    assert count(first, last) == (last - first + 1) // 1024


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_iterations_of_several_axes(chunks, shape):
    done, numbers = qd.field(qd.i32, shape), np.arange(np.prod(shape), dtype=np.int32).reshape(shape)

    @qd.kernel
    def count():
        for at in qd.grouped(done):
            number = 0
            for axis in qd.static(range(len(shape))):
                number = number * shape[axis] + at[axis]
            done[at] += number + 1

    count()
    assert (done.to_numpy() == numbers + 1).all()
    assert forms(count) == {"chunk"}


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_bounds_known_at_launch(chunks, bounds):
    (a, b), (c, d) = bounds
    done = qd.ndarray(qd.i32, (50, 50))

    @qd.kernel
    def count(a: qd.i32, b: qd.i32, c: qd.i32, d: qd.i32, x: qd.types.NDArray[qd.i32, 2]):
        for i, j in qd.ndrange((a, b), (c, d)):
            for k in range(40):
                x[i + 5, j + 5] += k
        for i, j in qd.ndrange((a, b), (2, 30)):
            x[i + 5, j + 5] += 7

    count(a, b, c, d, done)
    wanted = np.zeros((50, 50), np.int32)
    wanted[a + 5 : max(a, b) + 5, c + 5 : max(c, d) + 5] += 780
    wanted[a + 5 : max(a, b) + 5, 7:35] += 7
    assert (done.to_numpy() == wanted).all()


def test_a_length_that_only_the_device_knows(chunks):
    many, done = qd.field(qd.i32, ()), qd.field(qd.i32, 30000)

    @qd.kernel
    def count():
        for i in range(many[None]):
            done[i] += i

    for last in (0, 1, 29999, 30000):
        many[None] = last
        done.fill(0)
        count()
        assert (done.to_numpy() == np.where(np.arange(30000) < last, np.arange(30000), 0)).all()


def test_random_numbers_are_those_of_the_cpu(chunks):
    def numbers():
        x, y = qd.field(qd.f32, 30011), qd.field(qd.f32, (7, 4001))

        @qd.kernel
        def draw():
            for i in x:
                x[i] = qd.random()
            for i, j in y:
                y[i, j] = qd.random() + qd.random()
            for i in range(3, 30000):
                x[i] += qd.random()

        draw()
        return x.to_numpy(), y.to_numpy()

    found = numbers()
    qd.init(arch=qd.cpu)
    for ours, theirs in zip(found, numbers(), strict=True):
        assert (ours == theirs).all()


def test_sums_and_their_minimum(chunks):
    values = np.random.default_rng(3).integers(-1000, 1000, 50021).astype(np.int32)
    x = qd.ndarray(qd.i32, 50021)
    x.from_numpy(values)

    @qd.kernel
    def total(x: qd.types.NDArray[qd.i32, 1]) -> qd.types.vector(2, qd.i32):
        s, least = 0, 10000
        for i in x:
            s += x[i] * 3
            qd.atomic_min(least, x[i])
        return qd.Vector([s, least])

    assert list(total(x)) == [3 * values.sum(), values.min()]


def test_exact_sums_without_fast_math(processor):
    """Without fast_math terms are added in the order of the text within a thread."""
    processor(fast_math=False, saturating_grid_dim=1)
    values = np.random.default_rng(5).random(4096, dtype=np.float32)
    x = qd.ndarray(qd.f32, 4096)
    x.from_numpy(values)

    @qd.kernel
    def total(x: qd.types.NDArray[qd.f32, 1], out: qd.types.NDArray[qd.f32, 1]):
        for _ in range(1):
            s = 0.0
            for i in range(x.shape[0]):
                s += x[i]
            out[0] = s

    out = qd.ndarray(qd.f32, 1)
    total(x, out)
    wanted = np.float32(0)
    for value in values:
        wanted = np.float32(wanted + value)
    assert out[0] == wanted


def test_a_break_and_a_continue(chunks):
    done = qd.field(qd.i32, (5, 9001))

    @qd.kernel
    def skip():
        for i, j in done:
            if (i + j) % 3 == 0:
                continue
            for k in range(5):
                if k == 3:
                    break
                done[i, j] += k

    skip()
    i, j = np.indices((5, 9001))
    assert (done.to_numpy() == np.where((i + j) % 3 == 0, 0, 3)).all()


def test_threads_that_are_asked_for_stay(processor):
    """What asks for its thread, or shares memory, has the blocks that it asks for."""
    processor()
    x = qd.ndarray(qd.i32, 256)

    @qd.kernel
    def places(x: qd.types.NDArray[qd.i32, 1]):
        qd.loop_config(block_dim=64)
        for i in range(256):
            x[i] = qd.simt.block.thread_idx()

    places(x)
    assert (x.to_numpy() == np.arange(256) % 64).all()
    assert forms(places, x) == {"flat"}
