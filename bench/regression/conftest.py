"""What the measurements share: the arch, the medians of this run, a package that is initialised for one case."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from cases import Case, all_cases  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--arch", default="cpu", help="where kernels run: cpu, cuda, ...")
    parser.addoption("--quick", action="store_true", help="only what the ratios need")


def found(name: str, arch: str) -> Case:
    """A case as it is for an arch; skips the test where there is none for it."""
    wanted = name if arch == "cpu" else f"gpu_{name}"
    case = all_cases().get(wanted)
    if case is None:
        pytest.skip(f"no case {wanted}")
    return case


@pytest.fixture(scope="session")
def medians() -> dict[str, float]:
    """Median seconds of a unit by the name of what was measured so far."""
    return {}


@pytest.fixture
def arch(request) -> str:
    return request.config.getoption("--arch")


@pytest.fixture
def quick(request) -> bool:
    return request.config.getoption("--quick")
