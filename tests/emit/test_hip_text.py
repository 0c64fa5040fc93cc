"""The HIP text, where it is not CUDA's."""

from __future__ import annotations

import re

import cuda_shapes
import numpy as np
import pytest
from hip_kit import compile_hip, known_chips, require_hiprtc

import quadrants as qd
from quadrants.emit import sample
from quadrants.toolchain import hiprtc


@qd.kernel
def wide_blocks(x: qd.types.ndarray(dtype=qd.i64, ndim=1)):
    qd.loop_config(block_dim=1024)
    for i in range(4096):
        qd.atomic_min(x[i & 7], qd.i64(i))
        qd.atomic_max(x[i & 7], x[i])


@qd.kernel
def halves(x: qd.types.ndarray(dtype=qd.f16, ndim=1)):
    for i in x:
        qd.atomic_add(x[0], x[i] * 2 + qd.f16(0.5))


@qd.kernel
def says(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in x:
        print("cell", i, x[i])


@qd.kernel
def negated(a: qd.i32, b: qd.i32) -> qd.i32:
    return -(-(a * b)) - (-(-a))  # noqa: B002


def text_of(kernel, *args) -> str:
    return kernel.source(*args, arch="amdgpu")


def code_of(kernel, *args, chip: str = "gfx90a") -> bytes:
    return hiprtc.compile(text_of(kernel, *args), "kernel", chip, hiprtc.flags(chip))


def test_arguments_need_no_qualifier():
    text = sample.rendered("hip")
    assert "sample_1_range_for(const qd_args_sample args, qd_frame_sample *frame)" in text
    assert "__grid_constant__" not in text and "__grid_constant__" in sample.rendered("cuda")


def test_a_thread_ends_without_assembly():
    text = sample.rendered("hip")
    assert "__builtin_amdgcn_endpgm();" in text and "asm" not in text


def test_reductions_go_through_64_lanes_without_masks():
    x = np.zeros(8, np.float32)
    text = text_of(cuda_shapes.reductions, x, x[:1].copy(), np.zeros(1, np.int32))
    assert "__shfl_down(x, step)" in text and "_sync(" not in text.replace("__syncthreads", "")
    assert "step = 32;" in text and "_parts[4];" in text, "256 threads are four wavefronts"


@pytest.mark.parametrize("chip", known_chips())
def test_a_wavefront_has_64_lanes_on_every_chip(chip):
    require_hiprtc()
    code = code_of(cuda_shapes.bounds, 3, 4, np.zeros(8, np.float32), chip=chip)
    # The record of a kernel is MessagePack: a small number is one byte.
    assert code.count(b".wavefront_size" + bytes([64])) == 3 == code.count(b".wavefront_size")


def test_blocks_of_1024_threads_and_64_bit_minima():
    require_hiprtc()
    text = text_of(wide_blocks, np.zeros(4096, np.int64))
    assert "__launch_bounds__(1024)" in text and "__hip_atomic_fetch_min(p, x, __ATOMIC_RELAXED" in text
    compile_hip([("wide_blocks", text)])


def test_blocks_that_a_compute_unit_shall_hold_are_waves_of_its_four_vector_units():
    require_hiprtc()
    text = text_of(cuda_shapes.crowded, np.zeros(8, np.float32), 8)
    # Two blocks of 64 threads are two waves, and leave two of the units without one.
    assert re.findall(r"__launch_bounds__\((.*)\)", text) == ["512, 4", "64", "128"]
    compile_hip([("crowded", text)])


def test_halves_are_exchanged_within_a_word():
    require_hiprtc()
    text = text_of(halves, np.zeros(8, np.float16))
    assert "struct qd_half" in text and "qd_cas_u16(word, expected," in text
    compile_hip([("halves", text)])


def test_signs_in_a_row_are_no_decrements():
    require_hiprtc()
    text = text_of(negated, 2, 3)
    assert "--" not in text
    compile_hip([("negated", text)])


def test_print_goes_through_the_host():
    require_hiprtc()
    assert b"hidden_hostcall_buffer" in code_of(says, np.zeros(8, np.float32))
    assert b"hidden_hostcall_buffer" not in code_of(cuda_shapes.bounds, 3, 4, np.zeros(8, np.float32))
