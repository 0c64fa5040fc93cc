"""Arrays of pyopencl that tests hand over, and work on them that takes long."""

from __future__ import annotations

import numpy as np
import pytest

cl = pytest.importorskip("pyopencl", reason="needs pyopencl: pip install pyopencl")
from pyopencl import array as cl_array  # noqa: E402
from pyopencl.tools import SVMAllocator  # noqa: E402

SLOW = """
kernel void fill_late(global float *x, float value, int rounds) {
    float a = value;
    for (int k = 0; k < rounds; ++k) a = a * 1.0000001f + 1e-7f;
    x[get_global_id(0)] = a > 1e30f ? 0 : value;
}
"""
ROUNDS = 30_000_000


def shared(queue, values, allocator=None):
    """An array in shared virtual memory."""
    allocator = allocator or SVMAllocator(queue.context, queue=queue)
    return cl_array.to_device(queue, np.asarray(values), allocator=allocator)


def noting(method, calls):
    def noted(self, *args, **options):
        calls.append(self)
        return method(self, *args, **options)

    return noted
