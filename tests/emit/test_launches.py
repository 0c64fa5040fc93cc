"""Iteration counts that the host works out, the forms of tasks, and values computed where they are used."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest

import quadrants as qd
from quadrants.emit import batches, dialects
from quadrants.emit.render import render
from quadrants.fastcache import entry
from quadrants.ir import cost
from quadrants.launch.recipe import Recipe
from quadrants.launch.tasks import TaskLaunch

CODES = {"i8": "b", "u8": "B", "u1": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q"}


def evaluate(program, block: bytes) -> int:
    """What a program of `quadrants.launch.tasks` is for one argument block."""
    if isinstance(program, int):
        return program
    stack: list[int] = []
    for step in program:
        if step[0] == "const":
            stack.append(step[1])
        elif step[0] in CODES:
            stack.append(struct.unpack_from("<" + CODES[step[0]], block, step[1])[0])
        elif step[0] == "wrap":
            stack.append((stack.pop() + 2**31) % 2**32 - 2**31)
        else:
            b, a = stack.pop(), stack.pop()
            values = {"add": a + b, "sub": a - b, "mul": a * b, "min": min(a, b), "max": max(a, b)}
            values |= {"and": a & b, "or": a | b, "xor": a ^ b}
            values |= {"floordiv": a // b if b else 0, "mod": a % b if b else 0}
            stack.append(values[step[0]])
    assert len(stack) == 1
    return stack[0]


@pytest.fixture
def launches(monkeypatch, arch):
    """A function from a kernel and its arguments to (launches, layout, module) in CUDA, with a thread an iteration."""
    monkeypatch.setattr(batches, "MOST", 1)

    def launches_of(kernel, *args):
        seen = []

        def watched(module, dialect, *rest, **options):
            rendered = render(module, dialect, *rest, **options)
            seen.append((rendered.launches, rendered.layout, module))
            return rendered

        monkeypatch.setattr("quadrants.emit.render.render", watched)
        kernel.source(*args, arch="cuda")
        return seen[-1]

    return launches_of


def block(layout, module, **values) -> bytes:
    """An argument block with these scalars, and with extents given as name=(2, 3)."""
    out = bytearray(layout.size)
    for var in module.params:
        if var.name in values:
            struct.pack_into("<" + CODES[var.type.name], out, layout.values[var.id], values[var.name])
    for decl in module.arrays:
        if decl.name in values:
            struct.pack_into(f"<{decl.ndim}i", out, layout.arrays[decl.number][1], *values[decl.name])
    return bytes(out)


@qd.kernel
def extents(x: qd.types.ndarray(qd.f32, 2), n: qd.i32):
    for i, j in x:
        x[i, j] = 0.0
    for i in range(n + 1):
        x[i, 0] = 0.0
    for i, j in qd.ndrange((-2, n), 3):
        x[i + 2, j] = 0.0
    for i in range(n // 4 - x.shape[0], x.shape[1] * 2):
        x[0, i] = 0.0
    for i in range(min(n, x.shape[0]), n % 7):
        x[0, i] = 0.0
    for i in range(5):
        x[0, i] = 0.0


@pytest.mark.parametrize("n", [-(2**31), -9, 0, 3, 100, 2**31 - 1])
def test_counts(launches, n):
    found, layout, module = launches(extents, np.zeros((2, 2), np.float32), 1)
    assert [launch.form for launch in found] == ["flat"] * 6
    packed = block(layout, module, n=n, x=(6, 7))
    wrapped = (n + 1 + 2**31) % 2**32 - 2**31
    shrunk = (n // 4 - 6 + 2**31) % 2**32 - 2**31
    want = [42, max(0, wrapped), 3 * max(0, n + 2), max(0, 14 - shrunk), max(0, n % 7 - min(n, 6)), 5]
    assert [evaluate(launch.count, packed) for launch in found] == want
    assert found[-1].count == 5


def test_no_iterations_where_an_extent_is_empty(launches):
    found, layout, module = launches(extents, np.zeros((2, 2), np.float32), 1)
    assert evaluate(found[0].count, block(layout, module, n=0, x=(0, 7))) == 0


@qd.kernel
def numbers_of_other_types(x: qd.types.ndarray(qd.f32, 1), a: qd.u8, b: qd.i64, v: qd.types.vector(3, qd.i32)):
    for i in range(a):
        x[i] = 0.0
    for i in range(qd.i32(b)):
        x[i] = 0.0
    for i in range(v[2]):
        x[i] = 0.0


def test_counts_from_other_types(launches):
    found, layout, module = launches(numbers_of_other_types, np.zeros(2, np.float32), 1, 2, qd.Vector([1, 2, 3]))
    packed = bytearray(block(layout, module, a=200, b=2**32 + 5))
    vector = next(var for var in module.params if var.name == "v")
    struct.pack_into("<3i", packed, layout.values[vector.id], 7, 8, 9)
    assert [launch.form for launch in found] == ["flat"] * 3
    assert [evaluate(launch.count, bytes(packed)) for launch in found] == [200, 5, 9]


@qd.kernel
def decided_on_the_device(x: qd.types.ndarray(qd.i32, 1)):
    for i in range(x[0]):
        x[i] = 0


def test_a_count_that_only_the_device_knows(launches):
    found, _, _ = launches(decided_on_the_device, np.zeros(2, np.int32))
    loop = found[-1]
    assert loop.form == "stride" and loop.count is None and loop.blocks * loop.block_dim == 2048


@pytest.mark.parametrize("extent", [0, 1, 4000, 10**6])
def test_chunks_of_a_processor(monkeypatch, launches, extent):
    """A thread does neighbouring iterations, enough to be worth its while; what knows its thread has one of its own."""
    cuda = dialects.get("cuda")
    monkeypatch.setattr(dialects, "get", lambda name: replace(cuda, processor=True))

    @qd.kernel
    def total(x: qd.types.ndarray(qd.f32, 1)) -> qd.f32:
        s = 0.0
        for i in x:
            s += x[i]
        for i in x:
            x[i] += qd.f32(qd.simt.block.thread_idx())
        return s

    found, layout, module = launches(total, np.zeros(2, np.float32))
    assert [launch.form for launch in found] == ["serial", "chunk", "flat", "serial"]
    threads = evaluate(found[1].count, block(layout, module, x=(extent,)))
    assert found[1].block_dim == 1 and found[1].blocks > 0
    assert threads == -(-extent // cost.grain_of(next(task for task in module.tasks if task.loop)))


def test_a_reduction_strides_with_a_known_count(launches):
    @qd.kernel
    def total(x: qd.types.ndarray(qd.f32, 1)) -> qd.f32:
        s = 0.0
        for i in x:
            s += x[i]
        return s

    found, layout, module = launches(total, np.zeros(2, np.float32))
    assert [launch.form for launch in found] == ["serial", "stride", "serial"]
    assert evaluate(found[1].count, block(layout, module, x=(1000,))) == 1000


@qd.kernel
def named(x: qd.types.ndarray(qd.f32, 1), m: qd.i32):
    n = x.shape[0]
    half = n // 2
    for i in range(half):
        x[i] = half + m
    scale = 2.0 * m
    for i in range(n):
        x[i] *= scale


def test_names_of_what_the_arguments_give_cost_no_task(launches):
    found, layout, module = launches(named, np.zeros(6, np.float32), 3)
    assert [launch.form for launch in found] == ["flat", "flat"] and not module.shared
    assert [evaluate(launch.count, block(layout, module, x=(9,))) for launch in found] == [4, 9]
    x = np.ones(6, np.float32)
    named(x, 3)
    assert np.array_equal(x, np.array([36, 36, 36, 6, 6, 6], np.float32))


@qd.kernel
def changing(x: qd.types.ndarray(qd.f32, 1), m: qd.i32) -> qd.i32:
    n = m
    if m > 3:
        n = 3
    first = x[0]
    for i in range(n):
        x[i] = first
    n += 1
    return n


def test_values_that_change_or_come_from_memory_stay_in_a_task(launches):
    found, _, module = launches(changing, np.zeros(6, np.float32), 3)
    assert [launch.form for launch in found] == ["serial", "stride", "serial"]
    assert {"n", "first"} <= {var.name.rstrip("_") for var in module.shared}
    x = np.arange(6, dtype=np.float32) + 5
    assert changing(x, 9) == 4 and x.tolist() == [5, 5, 5, 8, 9, 10]


def test_launches_of_hip_are_those_of_cuda(arch):
    x = np.zeros((2, 2), np.float32)
    texts = [extents.source(x, 1, arch=name) for name in ("cuda", "hip")]
    assert texts[0].count("flat, blocks of 128") == texts[1].count("flat, blocks of 128") == 6
    assert dialects.get("hip").block_dim == dialects.get("cuda").block_dim


def test_launches_survive_the_disk():
    recipe = Recipe(
        name="k", entry="qd_kernel_k", size=24, frame=216, error=0, seed=8,
        launches=(
            TaskLaunch("k_0_serial", "serial", "serial", 1, 1),
            TaskLaunch("k_1_range_for", "range_for", "flat", 128, (("i32", 8), ("const", 0), ("max",)), 64),
            TaskLaunch("k_2_range_for", "range_for", "stride", 256, None, blocks=8),
        ),
    )  # fmt: skip
    assert entry.decode(entry.Entry([], [], recipe, "key").encode()).recipe == recipe


@qd.kernel
def loops_of_many(x: qd.types.ndarray(qd.f32, 1), y: qd.types.ndarray(qd.f32, 2)):
    qd.loop_config(block_dim=32)
    for i in range(32 * x.shape[0]):  # brief
        total = qd.simt.subgroup.reduce_all_add_tiled(y[i // 32, i % 32], 5)
        if i % 32 == 0:
            x[i // 32] = total
    qd.loop_config(block_dim=32)
    for i in range(32 * x.shape[0]):  # long
        for k in range(1000):
            y[i // 32, i % 32] += qd.sin(x[i // 32] * k)
    qd.loop_config(block_dim=32)
    for i in range(32 * x.shape[0]):  # the number of the thread is that of the iteration
        y[i // 32, i % 32] = qd.simt.block.global_thread_idx()
    qd.loop_config(block_dim=32)
    for i in range(6400):  # few
        x[i % 10] = 1.0
    for i, j in qd.ndrange(y.shape[0], y.shape[1]):  # mostly nothing to do
        if y[i, j] > 3.0:
            y[i, j] = qd.sin(y[i, j])
    for i, j in qd.ndrange(y.shape[0], y.shape[1]):
        y[i, j] = qd.sin(y[i, j])


def test_blocks_that_are_brief_do_several_rounds(launches):
    found, _, _ = launches(loops_of_many, np.zeros(10, np.float32), np.zeros((10, 32), np.float32))
    assert [launch.form for launch in found] == ["stride", "flat", "flat", "flat", "stride", "flat"]
    assert found[0].blocks * 32 == found[4].blocks * found[4].block_dim == 2048


@pytest.mark.parametrize("words", [1, 9000])
def test_brief_blocks_and_conditions_reach_all_iterations(arch, words):
    """More iterations than a device has threads, and fewer."""

    @qd.kernel
    def sums(y: qd.types.ndarray(qd.f32, 2), x: qd.types.ndarray(qd.f32, 1)):
        qd.loop_config(block_dim=32)
        for i in range(32 * x.shape[0]):
            qd.atomic_add(x[i // 32], y[i // 32, i % 32])
        for i, j in qd.ndrange(y.shape[0], y.shape[1]):
            if y[i, j] > 3.0:
                y[i, j] = -y[i, j]

    y = (np.arange(32 * words) % 7).astype(np.float32).reshape(words, 32)
    wanted, x = np.where(y > 3, -y, y), np.zeros(words, np.float32)
    total = y.sum(1)
    sums(y, x)
    assert (x == total).all() and (y == wanted).all()
