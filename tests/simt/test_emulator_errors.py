"""Launches that cannot work end with an error that says why, never with a hang."""

from __future__ import annotations

import re

import numpy as np
import pytest
from simt_kit import Program, kernel

from quadrants._ext import simt
from quadrants.toolchain import build
from quadrants.toolchain.errors import CompileError, ToolchainError


@pytest.mark.parametrize(
    "body, said",
    [
        (
            "if (t >= 4) return; __syncthreads();",
            "threads 4-39 never reached the __syncthreads where threads 0-3 wait: threads 4-39 ended",
        ),
        ("if (t != 7) __syncthreads();", "thread 7 never reached the __syncthreads where threads 0-6, 8-39 wait: "),
        (
            "if (t == 9) __syncwarp(); else __syncthreads_or(t);",
            "thread 9 never reached the __syncthreads_or where threads 0-8, 10-39 wait: "
            "thread 9 waits in __syncwarp(0xffffffff)",
        ),
        (
            "if (t < 32) __syncthreads(); else __syncthreads_and(1);",
            "its threads are in different barriers: threads 0-31 wait in __syncthreads; "
            "threads 32-39 wait in __syncthreads_and",
        ),
        (
            "if (t < 32) { if (t & 1) __shfl_sync(0xffffffffu, t, 0); else __ballot_sync(0xffffffffu, 1); }",
            "wait in __ballot_sync(0xffffffff)",
        ),
        ("__syncwarp(t & 1 ? 1u : 0xffffffffu);", "calls __syncwarp with a mask that leaves out its own lane"),
        ("for (unsigned k = 0; k < t; ++k) __syncthreads();", "never reached the __syncthreads where"),
    ],
)  # fmt: skip
def test_threads_that_wait_in_vain(body, said):
    program = kernel(f"if (blockIdx.x == 2) {{ {body} }}", "")
    with pytest.raises(RuntimeError, match="Kernel 'k', block 2 of 5: .*" + re.escape(said)) as caught:
        program.run(grid=5, block=40)
    assert simt.last_error() == str(caught.value)
    program.run(grid=2, block=40)  # the emulator is none the worse for it
    assert simt.last_error() != str(caught.value)


def test_what_one_launch_printed_before_it_failed_is_kept(capfd):
    with pytest.raises(RuntimeError):
        kernel('printf("%d\\n", t); if (t) __syncthreads();', "").run(block=2)
    assert sorted(capfd.readouterr().out.split()) == ["0", "1"]


@pytest.mark.parametrize(
    "flavour, grid, block, shared, said",
    [
        ("cuda", 0, 1, 0, "a grid of 0 blocks"),
        ("cuda", 2**31, 1, 0, "a grid of 2147483648 blocks"),
        ("cuda", 1, 0, 0, "blocks of 0 threads"),
        ("hip", 1, 1025, 0, "blocks of 1025 threads; they should have 1 to 1024"),
        ("cuda", 1, 1, 227 * 1024 + 1, "232449 bytes of shared memory a block; the limit is 232448"),
        ("cuda", 1, 1, 227 * 1024 - 3, "232449 bytes of shared memory a block; the limit is 232448"),
        ("hip", 1, 1, 64 * 1024 + 1, "65537 bytes of shared memory a block; the limit is 65536"),
    ],
)
def test_limits_of_a_launch(flavour, grid, block, shared, said):
    before = "" if shared != 227 * 1024 - 3 else "__shared__ int few;"
    program = kernel(f"{before} extern __shared__ char s[]; s[0] = x[0];", "char *x", flavour=flavour)
    with pytest.raises(RuntimeError, match=f"Kernel 'k' cannot be launched with {said}"):
        program.run(np.zeros(1, np.int8), grid=grid, block=block, shared=shared)


def test_all_that_the_only_task_declares_counts():
    program = kernel("__shared__ int many[3000]; extern __shared__ char s[]; many[t] = s[0] = x[0];", "char *x")
    with pytest.raises(RuntimeError, match="232452 bytes of shared memory a block; the limit is 232448"):
        program.run(np.zeros(1, np.int8), shared=227 * 1024 - 12000 + 4)


def test_the_largest_launch():
    program = kernel("extern __shared__ char s[]; s[227 * t] = t; __syncthreads(); x[t] = s[227 * (t ^ 1)];", "char *x")
    x = np.zeros(1024, np.int8)
    program.run(x, block=1024, shared=227 * 1024)
    assert (x.view(np.uint8) == (np.arange(1024) ^ 1) % 256).all()


def test_threads_that_were_said_not_to_wait():
    library = build.load_simt('extern "C" __global__ void k() { __syncthreads(); }', "k", ["k"], "cuda")
    function = simt.make_function(library.address("k"), 32, False, "k")
    with pytest.raises(RuntimeError, match="__syncthreads in a kernel that was made without cooperation"):
        simt.launch(function, 1, 32)


def test_a_task_that_is_not_there():
    with pytest.raises(ToolchainError, match="no qd_entry_other"):
        build.load_simt('extern "C" __global__ void k() {}', "k", ["k"], "cuda").address("other")


@pytest.mark.parametrize("flavour, foreign", [("cuda", "__ballot(1)"), ("hip", "__ballot_sync(~0u, 1)")])
def test_the_words_of_the_other_language_do_not_compile(flavour, foreign):
    with pytest.raises(CompileError, match="__ballot") as caught:
        kernel(f"{foreign};", "", flavour=flavour)
    assert caught.value.dialect == "c++" and "on kernel 'k' (dialect c++" in str(caught.value)


@pytest.mark.parametrize("call", ["atomicAdd((long long *)x, 1ll)", "atomicMin((float *)x, 1.f)"])
def test_atomics_that_cuda_lacks_do_not_compile(call):
    with pytest.raises(CompileError, match="atomic"):
        kernel(f"{call};", "void *x")


def test_other_warps_are_refused():
    with pytest.raises(ValueError, match="32 lanes"):
        simt.make_function(Program('extern "C" __global__ void k() {}', "k").library.address("k"), 16, False, "k")
