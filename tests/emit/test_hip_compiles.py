"""What runs on the CPU also compiles as HIP C++: the kernels of every example and of every differential program."""

from __future__ import annotations

import importlib

import cuda_shapes
import numpy as np
import pytest
from emit_kit import rendered_in
from harness import load, program_names
from hip_kit import CHIPS, compile_hip, compile_together, known_chips, require_hiprtc

import quadrants as qd
from quadrants.emit import sample
from quadrants.examples._catalogue import names
from quadrants.examples._run import Run

pytestmark = pytest.mark.sampled

KNOWN = known_chips()
SLOWLY = [pytest.param(chip, marks=pytest.mark.slow) if chip != CHIPS[0] else chip for chip in KNOWN]


@pytest.mark.parametrize("chip", SLOWLY)
@pytest.mark.parametrize("name", names())
def test_kernels_of_the_examples(name, chip):
    require_hiprtc()
    with rendered_in("hip") as texts:
        importlib.import_module(f"quadrants.examples.{name}").main(Run(name, frames=1, picture=False))
    compile_together(texts, chip)


@pytest.mark.parametrize("chip", SLOWLY)
@pytest.mark.parametrize("name", program_names())
def test_kernels_of_the_differential_programs(name, chip, capfd):
    require_hiprtc()
    program = load(name)
    qd.init(arch=qd.cpu, **getattr(program, "INIT", {}))
    with rendered_in("hip") as texts:
        program.run(qd)
        getattr(program, "beyond", lambda qd: None)(qd)
    compile_together(texts, chip)


@pytest.mark.parametrize("chip", KNOWN)
def test_one_of_everything(chip):
    require_hiprtc()
    compile_hip([("sample", sample.rendered("hip"))], chip)


@pytest.mark.parametrize("chip", KNOWN)
def test_loops(chip):
    require_hiprtc()
    x = np.zeros(8, np.float32)
    kernels = {
        "bounds": (cuda_shapes.bounds, (3, 4, x)),
        "shadows": (cuda_shapes.shadows, (3, 1.0, 2.0, 3.0)),
        "reductions": (cuda_shapes.reductions, (x, x[:1].copy(), np.zeros(1, np.int32))),
    }
    compile_hip([(name, kernel.source(*args, arch="amdgpu")) for name, (kernel, args) in kernels.items()], chip)
