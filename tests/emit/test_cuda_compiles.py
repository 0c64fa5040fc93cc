"""What runs on the CPU also compiles as CUDA C++: the kernels of every example and of every differential program."""

from __future__ import annotations

import importlib

import pytest
from emit_kit import compile_cuda, rendered_in, require_nvrtc
from harness import load, program_names

import quadrants as qd
from quadrants.emit import sample
from quadrants.examples._catalogue import names
from quadrants.examples._run import Run


@pytest.mark.sampled
@pytest.mark.parametrize("name", names())
def test_kernels_of_the_examples(name):
    require_nvrtc()
    with rendered_in("cuda") as texts:
        importlib.import_module(f"quadrants.examples.{name}").main(Run(name, frames=1, picture=False))
    compile_cuda(texts)


@pytest.mark.sampled
@pytest.mark.parametrize("name", program_names())
def test_kernels_of_the_differential_programs(name, capfd):
    require_nvrtc()
    program = load(name)
    qd.init(arch=qd.cpu, **getattr(program, "INIT", {}))
    with rendered_in("cuda") as texts:
        program.run(qd)
        getattr(program, "beyond", lambda qd: None)(qd)
    compile_cuda(texts)


def test_one_of_everything():
    require_nvrtc()
    compile_cuda([("sample", sample.rendered("cuda"))])
