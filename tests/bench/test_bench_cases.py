"""Every program of the GPU table gives right numbers on a tiny problem, on the arch under test."""

from __future__ import annotations

import pytest
from cases import all_cases, ceilings

import quadrants as qd
from quadrants.toolchain import nvrtc
from quadrants.toolchain.errors import CompilerNotFound


def _has_nvrtc() -> bool:
    try:
        nvrtc.find()
    except CompilerNotFound:
        return False
    return True


PROGRAMS = [name for name, case in all_cases().items() if case.rows == "gpu" and case.kind not in ("import", "init")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_gpu_program_is_right_when_tiny(init, name):
    case = all_cases()[name].make_tiny()
    init(**case.options)
    if case.needs is not None:
        pytest.importorskip(case.needs, reason=f"needs the package {case.needs}")
    work = case.work(qd)
    work.run(1)
    assert work.check() is None
    if work.reset is not None:
        work.reset()
    work.run(2)


@pytest.mark.cpu_only
def test_nothing_is_required_of_a_tiny_problem():
    for case in all_cases().values():
        tiny = case.make_tiny()
        assert tiny.target is None and tiny.limit_seconds is None
        assert all(ceiling.at_least is None for ceiling in tiny.ceilings)


@pytest.mark.cpu_only
@pytest.mark.skipif(not _has_nvrtc(), reason="needs NVRTC (pip install nvidia-cuda-nvrtc)")
@pytest.mark.parametrize(
    "text", [ceilings._SAXPY, ceilings._STENCIL, ceilings._RECURRENCE], ids=["saxpy", "stencil", "recurrence"]
)
def test_the_kernels_written_by_hand_compile(text):
    assert nvrtc.compile(text, "ceiling", arch="sm_90")[:4] == b"\x7fELF"
