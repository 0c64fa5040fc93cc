"""What the tests of HIP text share."""

from __future__ import annotations

import re

import pytest

from quadrants.toolchain import hiprtc
from quadrants.toolchain.errors import CompilerNotFound

# The first two have matrix units and 64 lanes; the third is of the family that has 32 unless told otherwise.
CHIPS = ("gfx90a", "gfx942", "gfx1030")


def known_chips() -> list[str]:
    """Those of CHIPS that the HIPRTC of this machine can compile for; the first in any case."""
    try:
        archs = hiprtc.supported_archs()
    except CompilerNotFound:
        archs = []
    return [chip for chip in CHIPS if chip in archs] or [CHIPS[0]]


def require_hiprtc() -> None:
    """Skip the test where HIPRTC is missing."""
    try:
        hiprtc.find()
    except CompilerNotFound as error:
        pytest.skip(f"needs HIPRTC: apt-get install libamdhip64-dev ({error})")


def compile_hip(texts: list, chip: str = CHIPS[0]) -> None:
    """Compile (kernel name, HIP text) pairs; every task must be a kernel of the code object."""
    assert texts, "no kernel was compiled"
    for name, text in texts:
        code = hiprtc.compile(text, name, chip, hiprtc.flags(chip))
        assert tasks_of(text)
        for task in tasks_of(text):
            assert f"{task}.kd".encode() in code


def compile_together(texts: list, chip: str = CHIPS[0], at_once: int = 24) -> None:
    """As `compile_hip`, several texts at a time, each in a namespace: most of a small compile is its start."""
    assert texts, "no kernel was compiled"
    for first in range(0, len(texts), at_once):
        some = texts[first : first + at_once]
        whole = "".join(
            f"namespace n{k} {{\n{text.replace(EXTERN, '__global__')}\n}}\n" for k, (_, text) in enumerate(some)
        )
        code = hiprtc.compile(whole, some[0][0], chip, hiprtc.flags(chip))
        for k, (_, text) in enumerate(some):
            for task in tasks_of(text):
                assert f"_ZN{len(str(k)) + 1}n{k}7qd_user{len(task)}{task}E".encode() in code


EXTERN = 'extern "C" __global__'


def tasks_of(text: str) -> list[str]:
    """The names of the kernels of a text."""
    return re.findall(rf"^{EXTERN}[^\n]*\n(\w+)\(", text, re.MULTILINE)
