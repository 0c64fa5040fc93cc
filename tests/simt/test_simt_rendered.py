"""What the templates make of kernels, run task by task with blocks of arguments that are packed here."""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from simt_kit import Program

from quadrants.emit import dialects, sample
from quadrants.emit.render import render

EMIT = Path(__file__).resolve().parents[1] / "emit"
FLAVOURS = pytest.mark.parametrize("flavour", ["cuda", "hip", "metal"])
SUFFIXES = {"cuda": "cu", "hip": "hip", "metal": "metal"}


def golden(file, kernel, flavour):
    """The tasks of a kept text."""
    text = (EMIT / "golden" / f"{file}.{SUFFIXES[flavour]}").read_text()
    return Program(text, *re.findall(rf"^({kernel}_\d\w+)\(", text, re.MULTILINE), flavour=flavour)


def mix64(x):
    """`qd_mix64` of the prelude."""
    wrap, factor = 2**64 - 1, 0xE9846AF9B1A615D
    x = (x ^ (x >> 32)) * factor & wrap
    x = (x ^ (x >> 32)) * factor & wrap
    return x ^ (x >> 28)


def uniform(seed, launch, task, iteration):
    """The first number that `qd.random` gives an iteration."""
    wrap = 2**64 - 1
    key = mix64(seed + 0x9E3779B97F4A7C15 & wrap)
    key = mix64(key ^ (launch + 0xBF58476D1CE4E5B9 & wrap))
    key = mix64(key ^ (task + 0x94D049BB133111EB & wrap))
    key = mix64(key ^ iteration)
    return (mix64(key + 0x9E3779B97F4A7C15 & wrap) >> 40) * 2.0**-24


def run_sample(flavour, x, rows, blocks):
    rendered = render(sample.module(prints=False), dialects.get(flavour), {"debug": True}, None)
    layout, frame = rendered.layout, rendered.frame
    args = bytearray(layout.size)
    pointer, shape = layout.arrays[0]
    struct.pack_into("=Qi", args, pointer, x.ctypes.data, len(x))
    assert shape == pointer + 8
    (value,) = layout.values.values()
    struct.pack_into("=i", args, value, rows)
    struct.pack_into("=QQ", args, layout.seed, 7, 3)
    memory = np.zeros(frame.size, np.uint8)
    program = Program(rendered.text, *(launch.name for launch in rendered.launches), flavour=flavour)
    for launch in rendered.launches:
        grid = 1 if launch.kind == "serial" else blocks
        program.run(args, memory, grid=grid, block=launch.block_dim, task=launch.name)
    (kind, place) = frame.results[0]
    return memory, memory[place : place + 4].view(np.float32)[0], frame.error


@FLAVOURS
def test_the_sample_kernel(flavour):
    start = np.random.default_rng(1).random(64).astype(np.float32)
    x = start.copy()
    memory, total, error = run_sample(flavour, x, 64, 2)
    expected, sums = start.copy(), 0.0
    for i in range(64):
        for p in range(4 * i, 4 * i + 4):
            expected[i] *= np.float32(uniform(7, 3, 1, p))
            sums += float(expected[i])
    assert np.allclose(x, expected, rtol=1e-6) and np.isclose(total, sums, rtol=1e-5)
    assert memory[error : error + 4].view(np.int32) == 0


@FLAVOURS
@pytest.mark.parametrize("count", [0, 1, 100, 5000])
def test_saxpy(flavour, count):
    program = golden("saxpy", "saxpy", flavour)
    x = np.random.default_rng(count).random(max(count, 1)).astype(np.float32)
    y = np.arange(max(count, 1), dtype=np.float32)
    expected = y[:count] + np.float32(1.5) * x[:count]
    args = struct.pack("=QixxxxQiif", x.ctypes.data, len(x), y.ctypes.data, len(y), count, 1.5) + bytes(4)
    frame = np.zeros(2, np.float32)
    for task in program.tasks:
        parallel = "serial" not in task
        program.run(args, frame, grid=3 if parallel else 1, block=256 if parallel else 1, task=task)
    assert np.allclose(y[:count], expected, rtol=1e-6)
    assert np.isclose(frame[0], expected.sum(dtype=float), rtol=1e-5)


@FLAVOURS
def test_moving_particles(flavour):
    program = golden("mpm", "step", flavour)
    rng = np.random.default_rng(5)
    position = (0.2 + 0.6 * rng.random((64, 2))).astype(np.float32)
    velocity = rng.standard_normal((64, 2)).astype(np.float32)
    affine = rng.standard_normal((64, 2, 2)).astype(np.float32)
    momentum, mass = np.zeros((16, 16, 2), np.float32), np.zeros((16, 16), np.float32)
    arrays = (position, momentum, velocity, affine, mass)
    args = struct.pack("=5Qfxxxx2Q", *(a.ctypes.data for a in arrays), 0.0, 1, 1)
    first = next(iter(program.tasks))
    program.run(args, np.zeros(64, np.uint8), grid=1, block=128, task=first)
    expected = np.zeros((16, 16))
    for p in position.astype(float):
        base = (p * 16 - 0.5).astype(int)
        offset = p * 16 - base
        weights = np.array([0.5 * (1.5 - offset) ** 2, 0.75 - (offset - 1) ** 2, 0.5 * (offset - 0.5) ** 2])
        expected[base[0] : base[0] + 2, base[1] : base[1] + 2] += np.outer(weights[:2, 0], weights[:2, 1])
    assert np.allclose(mass, expected, rtol=1e-4, atol=1e-6)


def test_every_helper_of_the_preludes_compiles():
    pytest.importorskip("jinja2", reason="needs the package jinja2")
    sys.path.insert(0, str(EMIT.parent / "prelude"))
    from prelude_kit import ENVIRONMENT
    from test_prelude_render import everything

    from quadrants.emit.prelude import Prelude

    entries = {
        "cuda": 'extern "C" __global__ void k() {}',
        "hip": 'extern "C" __global__ void k() {}',
        "metal": "struct A {};\n[[kernel]] void k(constant A &a, device A *b, uint3, uint3, uint3, uint3, ushort) {}",
    }
    before = {"metal": "#include <metal_stdlib>\nusing namespace metal;\nnamespace qd_real = metal::fast;\n"}
    for flavour, entry in entries.items():
        prelude = Prelude(dialects.get(flavour).spelling)
        for request in everything(flavour, shapes=((2,),)):
            prelude.need(*request)
        text = prelude.render(ENVIRONMENT).replace("__device__ static inline", "__device__")
        Program(f"{before.get(flavour, '')}{text}\n{entry}", "k", flavour=flavour)
