"""What the tests of OpenCL share: a runtime on whatever device there is, a processor too."""

from __future__ import annotations

import pytest

import quadrants as qd
from quadrants import arch


@pytest.fixture
def opencl(monkeypatch, tmp_path):
    """`opencl(**options)` starts the runtime; reset after the test."""
    if not arch.is_arch_supported(qd.opencl):
        pytest.skip("needs an OpenCL device: apt install pocl-opencl-icd, pip install pyopencl")
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path))
    yield lambda **options: qd.init(arch=qd.opencl, enable_fallback=False, **options)
    qd.reset()


def is_processor() -> bool:
    """Whether the device of `opencl` is one like the host's."""
    from quadrants.toolchain.opencl import chosen

    return chosen().is_cpu


@pytest.fixture
def queue(opencl):
    """A queue of pyopencl in a context of the test's own, without a runtime."""
    import pyopencl

    from quadrants.toolchain import opencl as compiler

    return pyopencl.CommandQueue(pyopencl.Context([compiler.chosen().device]))
