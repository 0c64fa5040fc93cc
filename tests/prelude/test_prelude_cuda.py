"""The CUDA prelude compiles: every helper becomes device code."""

from __future__ import annotations

import pytest
from prelude_kit import ENVIRONMENT
from test_prelude_render import everything

from quadrants.emit import dialects
from quadrants.emit.prelude import Prelude
from quadrants.ir.types import f32, f64
from quadrants.toolchain import nvrtc
from quadrants.toolchain.errors import CompilerNotFound


def require_nvrtc():
    try:
        nvrtc.find()
    except CompilerNotFound as error:
        pytest.skip(f"needs NVRTC: pip install nvidia-cuda-nvrtc ({error})")


@pytest.mark.parametrize("arch, fast_math", [("compute_75", False), ("compute_90", True)])
def test_every_helper_compiles(arch, fast_math):
    require_nvrtc()
    prelude = Prelude(dialects.get("cuda").spelling)
    names = [prelude.need(*request) for request in everything("cuda", shapes=((2,), (3,), (4, 4), (5, 5)))]
    # As functions with external linkage all of them become code, though no kernel calls them.
    text = (
        prelude.render(ENVIRONMENT)
        .replace("__device__ static inline", "__device__")
        .replace("__device__ static", "__device__")
    )
    options = ["--relocatable-device-code=true", *(["--use_fast_math"] if fast_math else [])]
    code = nvrtc.compile(text, "prelude", arch, options).decode()
    for name in names:
        if name.startswith("qd_") and name not in ("qd_lane", "qd_print"):
            assert name in code, name


def test_a_kernel_that_fails_exits():
    require_nvrtc()
    prelude = Prelude(dialects.get("cuda").spelling)
    fail = prelude.need("check", "fail", "if")
    text = (
        prelude.render(ENVIRONMENT)
        + f"""
extern "C" __global__ void k(qd_error *error, float *x) {{
    qd_lane lane;
    lane.error = error;
    lane.worker = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (x[lane.worker] < 0)
        {fail}(&lane, 3, lane.worker, x[lane.worker]);
    x[lane.worker] = 1;
}}"""
    )
    assert "exit;" in nvrtc.compile(text, "k", "compute_80").decode()


@pytest.mark.parametrize("t, instruction", [(f32, "div.rn.ftz.f32"), (f64, "div.rn.f64")], ids=str)
def test_floor_division_of_an_exact_quotient(t, instruction):
    """Where a plain quotient of f32 is approximate."""
    require_nvrtc()
    prelude = Prelude(dialects.get("cuda").spelling)
    floor, scalar = prelude.need("float", "floordiv", t), prelude.type(t)
    kernel = """
extern "C" __global__ void k(T *x) {
    x[0] = CALL(x[1], x[2]);
    x[3] = x[4] / x[5];
}
"""
    text = prelude.render(ENVIRONMENT) + kernel.replace("T ", f"{scalar} ").replace("CALL", floor)
    code = nvrtc.compile(text, "k", "compute_90", nvrtc.flags({"fast_math": True})).decode()
    assert code.count(instruction) == (1 if t is f32 else 2)
