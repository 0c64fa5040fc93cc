"""The HIP prelude compiles: every helper becomes device code."""

from __future__ import annotations

import pytest
from prelude_kit import ENVIRONMENT
from test_prelude_render import everything

from quadrants.emit import dialects
from quadrants.emit.prelude import Prelude
from quadrants.ir.types import f16, f32, i16, i64, u8
from quadrants.toolchain import hiprtc
from quadrants.toolchain.errors import CompilerNotFound


def require_hiprtc():
    try:
        hiprtc.find()
    except CompilerNotFound as error:
        pytest.skip(f"needs HIPRTC: apt-get install libamdhip64-dev ({error})")


def kept(text: str) -> str:
    """The same text with all its functions in the code, though no kernel calls them."""
    for qualifiers in ("__device__ static inline", "__device__ static"):
        text = text.replace(qualifiers, "__attribute__((used)) __device__")
    return text


@pytest.mark.parametrize(
    "chip, fast_math, shapes",
    [
        ("gfx90a", True, ((2,),)),
        pytest.param("gfx90a", False, ((3,), (3, 3)), marks=pytest.mark.slow),
        pytest.param("gfx1030", False, ((2,), (4, 4)), marks=pytest.mark.slow),
    ],
)
def test_every_helper_compiles(chip, fast_math, shapes):
    require_hiprtc()
    prelude = Prelude(dialects.get("hip").spelling)
    names = [prelude.need(*request) for request in everything("hip", shapes=shapes)]
    code = hiprtc.compile(kept(prelude.render(ENVIRONMENT)), "prelude", chip, hiprtc.flags(chip, fast_math=fast_math))
    for name in names:
        if name.startswith("qd_") and name not in ("qd_lane", "qd_print"):
            assert name.encode() in code, name


@pytest.mark.parametrize("chip", ["gfx90a", "gfx1030"])
def test_reductions_compile(chip):
    require_hiprtc()
    prelude = Prelude(dialects.get("hip").spelling)
    names = []
    for how in ("add", "min", "max"):
        for t in (f16, f32, i16, i64, u8):
            names += [prelude.need("reduce", "warp", how, t, lanes) for lanes in (64, 32, 1)]
            names.append(prelude.need("reduce", "block", how, t))
    code = hiprtc.compile(kept(prelude.render(ENVIRONMENT)), "reduce", chip, hiprtc.flags(chip))
    assert all(name.encode() in code for name in names)
