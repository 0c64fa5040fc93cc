"""The text of two kernels, word for word, so that a change of the generated code is seen in review.

`python tests/emit/update_golden.py` writes the files anew.
"""

from __future__ import annotations

import re

import pytest
from emit_kit import compile_cuda, require_nvrtc
from golden_kernels import GOLDEN, PAGE, golden_texts, shown_in_docs
from hip_kit import compile_hip, require_hiprtc


@pytest.fixture(scope="module")
def texts():
    return golden_texts()


@pytest.mark.parametrize("suffix", ["c", "cu", "hip", "metal"])
@pytest.mark.parametrize("kernel", ["saxpy", "mpm"])
def test_text(texts, kernel, suffix):
    name = f"{kernel}.{suffix}"
    assert texts[name] == (GOLDEN / name).read_text(), "the generated code changed: run tests/emit/update_golden.py"


def test_the_manual_shows_it(texts):
    shown = PAGE.read_text().split("```cuda\n")[1].split("\n```")[0]
    assert shown == shown_in_docs(texts["mpm.cu"]), "the generated code changed: run tests/emit/update_golden.py"


def test_there_are_no_other_files(texts):
    assert sorted(texts) == sorted(path.name for path in GOLDEN.iterdir())


def test_it_names_no_place_of_a_machine(texts):
    for text in texts.values():
        assert not re.search(r"/(home|root|work|tmp|usr)/", text) and ".py" not in text


def test_it_compiles(texts):
    require_nvrtc()
    compile_cuda([("saxpy", texts["saxpy.cu"]), ("step", texts["mpm.cu"])])


def test_it_compiles_for_amd(texts):
    require_hiprtc()
    compile_hip([("saxpy", texts["saxpy.hip"]), ("step", texts["mpm.hip"])])
