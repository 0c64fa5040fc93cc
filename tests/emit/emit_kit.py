"""What the tests of codegen share: the text of every kernel that a piece of code compiles."""

from __future__ import annotations

from contextlib import contextmanager, suppress

import pytest

from quadrants import compile as pipeline
from quadrants.toolchain import nvrtc
from quadrants.toolchain.errors import CompilerNotFound


@contextmanager
def rendered_in(dialect: str, unless: type[Exception] | tuple = ()):
    """A list that receives (kernel name, text in `dialect`) of every specialisation compiled inside the context, but of
    those that the dialect cannot say: for which there is the exception `unless`.
    """
    texts: list = []
    compile_kernel = pipeline.compile_kernel

    def compile_and_render(kernel, args):
        plan = compile_kernel(kernel, args)
        if plan is not None:
            with suppress(unless):
                texts.append((kernel.fn.__name__, pipeline.source_of(kernel, args, dialect)))
        return plan

    pipeline.compile_kernel = compile_and_render
    try:
        yield texts
    finally:
        pipeline.compile_kernel = compile_kernel


def require_nvrtc() -> None:
    """Skip the test where NVRTC is missing."""
    try:
        nvrtc.find()
    except CompilerNotFound as error:
        pytest.skip(f"needs NVRTC: pip install nvidia-cuda-nvrtc ({error})")


def compile_cuda(texts: list) -> None:
    """Compile (kernel name, CUDA text) pairs; every task must be an entry of the cubin."""
    assert texts, "no kernel was compiled"
    for name, text in texts:
        cubin = nvrtc.compile(text, name, "sm_90", nvrtc.flags({"fast_math": True}))
        for line in text.splitlines():
            if line.startswith(f"{name}_") and line.endswith("*frame)"):
                assert line.split("(")[0].encode() in cubin
