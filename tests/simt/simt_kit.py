"""Kernels of CUDA and HIP text on the emulator, with NumPy arrays for device memory."""

from __future__ import annotations

import ctypes

import numpy as np

from quadrants._ext import simt
from quadrants.toolchain import build
from quadrants.toolchain.cc import CcOptions

FULL = 0xFFFFFFFF


class Program:
    """Tasks of one text. `run` passes arrays as pointers and NumPy scalars as values."""

    def __init__(self, text: str, *tasks: str, flavour: str = "cuda", options: CcOptions = CcOptions()):
        self.library = build.load_simt(text, tasks[0], tasks, flavour, options, None)
        make = simt.make_function
        self.tasks = {
            task: make(self.library.address(task), self.library.warp, self.library.cooperative, task) for task in tasks
        }

    def run(self, *values, grid=1, block=32, shared=0, task=None):
        held = []
        for value in values:
            if isinstance(value, np.ndarray):
                held.append(ctypes.c_void_p(value.ctypes.data))
            elif isinstance(value, (bytes, bytearray)):
                held.append(ctypes.create_string_buffer(bytes(value), max(len(value), 1)))
            else:
                held.append(np.ctypeslib.as_ctypes(np.array(value)))
        addresses = [ctypes.addressof(value) for value in held]
        simt.launch(self.tasks[task or next(iter(self.tasks))], grid, block, shared, addresses)


def kernel(body: str, parameters: str, *, before: str = "", flavour: str = "cuda", **options) -> Program:
    """One kernel `k`; `t` is the thread's number in the block and `i` in the grid."""
    text = f"""{before}
extern "C" __global__ void k({parameters}) {{
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    (void)t, (void)i;
    {body}
}}
"""
    return Program(text, "k", flavour=flavour, **options)
