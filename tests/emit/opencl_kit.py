"""What the tests of OpenCL text share: clang reads it as a driver would, without a device."""

from __future__ import annotations

import shutil
import subprocess

import pytest

_FLAGS = (
    "-x", "cl", "-cl-std=CL1.2", "-target", "spir64", "-Xclang", "-finclude-default-header", "-fsyntax-only", "-Wall",
    "-Wno-unused", "-Werror", "-",
)  # fmt: skip
_CLANGS = ("clang", *(f"clang-{version}" for version in range(22, 13, -1)))


def require_clang() -> None:
    """Skip the test where clang is missing."""
    if _clang() is None:
        pytest.skip("needs clang: apt install clang")


def check_opencl(texts: list, without: tuple[str, ...] = ()) -> None:
    """Read (kernel name, OpenCL text) pairs as OpenCL C 1.2, warnings being errors, `without` some extensions."""
    assert texts, "no kernel was compiled"
    lacking = [word for name in without for word in ("-Xclang", f"-cl-ext=-{name}")]
    for name, text in texts:
        clang = _clang()
        assert clang is not None
        done = subprocess.run([clang, *lacking, *_FLAGS], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{name}:\n{done.stderr}\n{text}"


def _clang() -> str | None:
    return next((path for path in map(shutil.which, _CLANGS) if path), None)
