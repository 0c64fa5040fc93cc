"""Device text for loops that wait for memory: batches of iterations, tiles of blocks, vectors in one access."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest
import throughput_shapes as shapes
from emit_kit import compile_cuda, require_nvrtc
from test_launches import evaluate

import quadrants as qd
from quadrants.emit import batches, forms, tiles


def text_of(kernel, *args) -> str:
    require_nvrtc()
    text = kernel.source(*args, arch="cuda")
    compile_cuda([(kernel.__name__, text)])
    return text


def floats(n: int = 8):
    return np.zeros(n, np.float32)


def test_all_loads_come_before_any_store():
    text = text_of(shapes.saxpy, 2.0, floats(), floats())
    first, second = text.split("#pragma unroll")[1:]
    assert "const int32_t qd_first = blockIdx.x * 512 + threadIdx.x;" in text
    assert "qd_x_in[qd_k] = x[i];" in first and "qd_y_in[qd_k] = y[i];" in first
    assert "y[i] = a * qd_x_in[qd_k] + qd_y_in[qd_k];" in second and "x[i]" not in second
    # Both loops end where the array does.
    assert first.count("if (i >= x_shape0) continue;") == second.count("if (i >= x_shape0) continue;") == 1


def test_updates_of_own_cells_are_loads_and_stores_and_names_of_indices_are_computed_twice():
    text = text_of(shapes.own, floats(), floats())
    first, second = text.split("#pragma unroll")[1:]
    assert "int32_t k = i - 2;" in first and "int32_t k = i - 2;" in second
    assert "y[i] = qd_y_in[qd_k] + qd_x_in[qd_k] * qd_x_in[qd_k];" in second


def test_bytes_decide_how_many_iterations_a_thread_does():
    text = text_of(shapes.wide, np.zeros((3, 4)), np.zeros((3, 4)))
    assert "const uint64_t qd_first = (uint64_t)blockIdx.x * 256 + threadIdx.x;" in text
    assert "double qd_x_in[2];" in text
    assert batches.MOST == 4 and "* 512 + threadIdx.x" in text_of(shapes.filled, floats())
    assert "qd_y_in" not in text_of(shapes.filled, floats())


@pytest.mark.parametrize("kernel", [shapes.gathered, shapes.twice])
def test_one_iteration_a_thread(kernel):
    # Loads that wait for others or for stores.
    text = text_of(kernel, floats(), floats())
    assert "#pragma unroll" not in text and "if (i >= y_shape0) return;" in text


@pytest.mark.parametrize("kernel", [shapes.guarded, shapes.chosen])
def test_several_rounds_of_a_block(kernel):
    # Loads that are not done in any case, and small blocks that the user asked for: brief ones.
    text = text_of(kernel, floats(), floats())
    assert "qd_p < qd_count; qd_p += qd_threads)" in text


@pytest.mark.parametrize(("count", "threads"), [(0, 0), (1, 1), (4, 1), (5, 2), (2**31 - 1, 2**29)])
def test_threads_that_the_host_starts(count, threads):
    assert forms._shared(count, 4) == threads
    assert evaluate(forms._shared((("i32", 0),), 4), struct.pack("<i", count)) == threads


def test_few_iterations_have_a_thread_each():
    small, large = qd.field(qd.f32, shape=1 << 10), qd.field(qd.f32, shape=batches.FEWEST)
    assert "#pragma unroll" not in text_of(filled_field, small)
    assert "#pragma unroll" in text_of(filled_field, large)


def test_functions_of_their_arguments_may_be_called():
    x, y = (qd.field(qd.f32, shape=batches.FEWEST_OF_HEAVIER) for _ in range(2))
    text = text_of(shapes.through_function, x, y)
    first, second = text.split("#pragma unroll")[1:]
    assert "qd_x_in[qd_k] = x[i];" in first and "squared(qd_x_in[qd_k])" in second
    assert "#pragma unroll" not in text_of(shapes.through_memory, floats(), floats())
    assert "#pragma unroll" not in text_of(shapes.through_reference, floats(), floats())


def test_the_more_a_loop_computes_the_more_iterations_it_needs():
    few, many = ([qd.field(qd.f32, shape=n) for _ in range(2)] for n in (batches.FEWEST, batches.FEWEST_OF_HEAVIER))
    assert "#pragma unroll" not in text_of(shapes.long_sum, *few)
    assert "#pragma unroll" in text_of(shapes.long_sum, *many)


@qd.kernel
def filled_field(x: qd.template()):
    for i in x:
        x[i] = 1.0


def test_blocks_do_tiles_where_iterations_read_their_neighbours():
    a, b = (qd.field(qd.f32, shape=(21, 66, 160)) for _ in range(2))
    text = text_of(shapes.blur, a, b)
    assert "/* A block does 2 x 4 x 32 iterations" in text
    # Tiles begin where rows of memory do, and the loop where the user says.
    assert "const int32_t i = blockIdx.x / 80 * 2 + threadIdx.x / 128;" in text
    assert "const int32_t j = blockIdx.x / 5 % 16 * 4 + threadIdx.x / 32 % 4;" in text
    assert "const int32_t k = blockIdx.x % 5 * 32 + threadIdx.x % 32;" in text
    assert "if (i < 1 || j < 2 || k < 1 || k >= 159) return;" in text


def test_grouped_indices_have_neighbours_too():
    a, b = (qd.field(qd.f32, shape=(512, 512)) for _ in range(2))
    text = text_of(shapes.blur_grouped, a, b)
    assert "/* A block does 8 x 32 iterations" in text
    assert not re.search(r"if \(.* >= 512.*return;", text)  # no tile reaches out of the loop


def test_rows_where_nothing_is_gained():
    large = [qd.field(qd.f32, shape=(4096, 32)) for _ in range(2)]
    assert "A block does" not in text_of(shapes.plain_rows, *large)
    flat = [qd.field(qd.f32, shape=(40000, 3)) for _ in range(2)]
    assert "A block does" not in text_of(shapes.blur_grouped, *flat)  # threads past the end of rows would idle
    small = [qd.field(qd.f32, shape=(64, 64)) for _ in range(2)]
    assert 64 * 64 < tiles._FEWEST and "A block does" not in text_of(shapes.blur_grouped, *small)


def test_vectors_are_added_whole():
    x = qd.Vector.field(2, qd.f32, shape=64)
    into = qd.Vector.field(2, qd.f32, shape=3)
    wide = qd.Vector.field(4, qd.f32, shape=3)
    text = text_of(shapes.scattered, x, into, wide)
    assert re.search(r"qd_atomic_add_vec2_f32\(&into\[.*\], ", text)
    assert re.search(r"qd_atomic_add_vec4_f32\(&wide\[.*\], ", text)
    assert text.count("qd_atomic_sub_f32(&into") == 2  # one a component
    assert "(qd_vec4_f32 *)__builtin_assume_aligned(args.wide, 16);" in text


def test_vectors_that_are_not_aligned_are_added_by_component():
    x = qd.Vector.field(2, qd.f32)
    into, wide, odd = qd.Vector.field(2, qd.f32), qd.Vector.field(4, qd.f32), qd.field(qd.f32)
    qd.root.dense(qd.i, 64).place(odd, x)
    qd.root.dense(qd.i, 3).place(odd_too := qd.field(qd.f32), into, wide)
    text = text_of(shapes.scattered, x, into, wide)
    assert odd_too is not odd
    assert "vec2_f32(&into" not in text and "vec4_f32(&wide" not in text and "__builtin_assume_aligned" not in text
    assert text.count("qd_atomic_add_f32(") == 1 + 2 + 4
