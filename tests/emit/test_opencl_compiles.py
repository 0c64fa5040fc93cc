"""What runs on the CPU is OpenCL C too: the kernels of every example and of every differential program."""

from __future__ import annotations

import importlib

import pytest
from emit_kit import rendered_in
from harness import load, program_names
from opencl_kit import check_opencl, require_clang

import quadrants as qd
from quadrants.emit import sample
from quadrants.examples._catalogue import names
from quadrants.examples._run import Run


@pytest.mark.sampled
@pytest.mark.parametrize("name", names())
def test_kernels_of_the_examples(name):
    require_clang()
    with rendered_in("opencl") as texts:
        importlib.import_module(f"quadrants.examples.{name}").main(Run(name, frames=1, picture=False))
    check_opencl(texts)


@pytest.mark.sampled
@pytest.mark.parametrize("name", program_names())
def test_kernels_of_the_differential_programs(name, capfd):
    require_clang()
    program = load(name)
    qd.init(arch=qd.cpu, **getattr(program, "INIT", {}))
    with rendered_in("opencl") as texts:
        program.run(qd)
        getattr(program, "beyond", lambda qd: None)(qd)
    check_opencl(texts)


def test_one_of_everything():
    require_clang()
    check_opencl([("sample", sample.rendered("opencl"))])
