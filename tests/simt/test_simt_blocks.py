"""Threads, blocks, barriers and shared memory of the emulator."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from simt_kit import Program, kernel

FLAVOURS = pytest.mark.parametrize("flavour", ["cuda", "hip"])
POISON = 0x7FF4DEAD


@FLAVOURS
@pytest.mark.parametrize("waits", ["", "__syncthreads();"])
def test_every_thread_knows_its_place(flavour, waits):
    program = kernel(
        f"""{waits} int *o = out + 8 * i;
        o[0] = threadIdx.x; o[1] = blockIdx.x; o[2] = blockDim.x; o[3] = gridDim.x;
        o[4] = threadIdx.y + threadIdx.z + blockIdx.y + blockIdx.z; o[5] = blockDim.y * blockDim.z;
        o[6] = gridDim.y * gridDim.z; o[7] = warpSize;""",
        "int *out",
        flavour=flavour,
    )
    assert program.library.cooperative == bool(waits)
    out = np.zeros((5, 70, 8), np.int32)
    program.run(out, grid=5, block=70)
    block, thread = np.indices((5, 70))
    assert (out[..., 0] == thread).all() and (out[..., 1] == block).all()
    warp = {"cuda": 32, "hip": 64}[flavour]
    assert (out[..., 2:] == [70, 5, 0, 1, 1, warp]).all()


@FLAVOURS
@pytest.mark.parametrize("block", [1, 16, 32, 33, 100, 128, 1024])
@pytest.mark.parametrize("step", [1, 7])
def test_values_rotate_through_shared_memory(flavour, block, step):
    program = kernel(
        """__shared__ int s[1024];
        s[t] = x[i]; __syncthreads();
        int v = s[(t + step) % blockDim.x]; __syncthreads();
        s[t] = v * 2; __syncthreads();
        x[i] = s[(t + step) % blockDim.x];""",
        "int *x, int step",
        flavour=flavour,
    )
    x = np.arange(3 * block, dtype=np.int32).reshape(3, block)
    expected = 2 * np.roll(x, -2 * step, axis=1)
    program.run(x, np.int32(step), grid=3, block=block)
    assert (x == expected).all()


@pytest.mark.parametrize(
    "neighbour", ["(t + 1) % 64", "(t + 63) % 64", "t ? t - 1 : 0", "t < 63 ? t + 1 : 63", "t ^ 32"]
)
def test_a_missing_barrier_shows(neighbour):
    body = f"__shared__ int s[64]; s[t] = t; WAIT x[t] = s[{neighbour}];"
    x = np.zeros(64, np.int32)
    kernel(body.replace("WAIT", "__syncthreads();"), "int *x").run(x, block=64)
    assert POISON not in x
    kernel(body.replace("WAIT", "if (n) __syncthreads();"), "int *x, int n").run(x, np.int32(0), block=64)
    assert POISON in x


def test_a_missing_second_barrier_shows():
    body = """__shared__ int s[64]; s[t] = t; __syncthreads();
        int v = s[(t + 1) % 64]; if (n) __syncthreads();
        s[t] = -1; x[t] = v;"""
    program = kernel(body, "int *x, int n")
    x, expected = np.zeros(64, np.int32), np.roll(np.arange(64), -1)
    program.run(x, np.int32(1), block=64)
    assert (x == expected).all()
    program.run(x, np.int32(0), block=64)
    assert (x != expected).any()


@FLAVOURS
def test_shared_memory_is_spoilt_before_each_block(flavour):
    program = kernel(
        "__shared__ float f[8]; __shared__ double d; __shared__ int n; extern __shared__ float e[];"
        "x[i] = f[t] != f[t] && d != d && e[t] != e[t]; y[i] = n; __syncthreads(); f[t] = 0; d = 0; n = 0; e[t] = 0;",
        "int *x, int *y",
        flavour=flavour,
    )
    x, y = np.zeros(24, np.int32), np.zeros(24, np.int32)
    program.run(x, y, grid=3, block=8, shared=32)
    assert (x == 1).all() and (y == POISON).all()


@FLAVOURS
def test_shared_memory_that_nobody_writes_is_spoilt_too(flavour):
    x = np.zeros(8, np.int32)
    kernel("__shared__ int s[8]; x[t] = s[t];", "int *x", flavour=flavour).run(x, block=8)
    assert (x == POISON).all()


@FLAVOURS
def test_arrays_of_several_scopes_lie_apart(flavour):
    text = """
__shared__ int whole[16];
extern __shared__ unsigned char pool[];
static __device__ inline int *other() { __shared__ int s[16]; return s; }
extern "C" __global__ void k(int *x) {
    static __shared__ int mine[16];
    int *left = (int *)pool, *right = (int *)(pool + 64), t = threadIdx.x, u = (t + 3) % 16;
    whole[t] = 1 + t; other()[t] = 100 + t; mine[t] = 200 + t; left[t] = 300 + t; right[t] = 400 + t;
    __syncthreads();
    x[5 * t] = whole[u]; x[5 * t + 1] = other()[u]; x[5 * t + 2] = mine[u]; x[5 * t + 3] = left[u];
    x[5 * t + 4] = right[u];
}
"""
    x = np.zeros((16, 5), np.int32)
    Program(text, "k", flavour=flavour).run(x, block=16, shared=128)
    assert (x == (np.arange(16)[:, None] + 3) % 16 + [1, 100, 200, 300, 400]).all()


@FLAVOURS
def test_barriers_that_reduce(flavour):
    program = kernel(
        """int p = x[i];
        y[3 * i] = __syncthreads_and(p); y[3 * i + 1] = __syncthreads_or(p); y[3 * i + 2] = __syncthreads_count(p);""",
        "int *x, int *y",
        flavour=flavour,
    )
    x = np.zeros((3, 70), np.int32)
    x[1, 69] = -5
    x[2] = np.arange(70) + 1
    y = np.zeros((3, 70, 3), np.int32)
    program.run(x, y, grid=3, block=70)
    assert (y == np.array([[0, 0, 0], [0, 1, 1], [1, 1, 70]])[:, None]).all()


def test_a_sum_over_the_block_as_a_tree():
    program = kernel(
        """extern __shared__ double s[];
        s[t] = x[i];
        for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
            __syncthreads();
            if (t < half) s[t] += s[t + half];
        }
        if (t == 0) total[blockIdx.x] = s[0];""",
        "const double *x, double *total",
    )
    x, total = np.random.default_rng(1).random((7, 256)), np.zeros(7)
    program.run(x, total, grid=7, block=256, shared=8 * 256)
    assert np.allclose(total, x.sum(axis=1), rtol=1e-14)


@pytest.mark.parametrize("waits", ["", "__syncthreads();"])
def test_a_thread_that_leaves_does_not_hurt_the_others(waits):
    text = f"""
static __device__ __noinline__ void check(int bad) {{ if (bad) qd_exit(); }}
extern "C" __global__ void k(int *x) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = 1; {waits}
    check(i % 3 == 1); {waits}
    x[i] = 2; {waits}
}}
"""
    x = np.zeros(200, np.int32)
    Program(text, "k").run(x, grid=4, block=50)
    assert (x == np.where(np.arange(200) % 3 == 1, 1, 2)).all()


def test_every_number_of_parameters():
    for count in range(9):
        parameters = ", ".join(["int *x", *(f"const double a{k}" for k in range(1, count))][:count])
        body = "x[i] = 1" + "".join(f" + (int)a{k}" for k in range(1, count)) + ";" if count else ";"
        x = np.zeros(4, np.int32)
        values = [x, *(np.float64(k) for k in range(1, count))][:count]
        kernel(body, parameters).run(*values, block=4)
        assert (x == (1 + sum(range(count)) if count else 0)).all()


def test_arguments_by_value_and_several_tasks():
    text = """
struct args_k { int *x; int scale; };
extern "C" __global__ void __launch_bounds__(8)
first(const __grid_constant__ args_k args, int *frame)
{
    args.x[threadIdx.x] *= args.scale;
    atomicAdd(frame, 1);
}
extern "C" __global__ void __launch_bounds__(8)
second(const __grid_constant__ args_k args, int *frame)
{
    args.x[threadIdx.x] += *frame;
}
"""
    program = Program(text, "first", "second")
    x, frame = np.arange(8, dtype=np.int32), np.zeros(1, np.int32)
    args = bytes(ctypes.c_void_p(x.ctypes.data)) + bytes(ctypes.c_int(3)) + bytes(4)
    program.run(args, frame, block=8, task="first")
    program.run(args, frame, block=8, task="second")
    assert (x == 3 * np.arange(8) + 8).all()
