"""Dumps of generated source: the text that runs, under a header that counts what a derivative keeps."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from oracle import field

import quadrants as qd

LANGUAGES = {"cpu": ("C", "c"), "cuda": ("CUDA", "cu"), "amdgpu": ("HIP", "hip"), "metal": ("MSL", "metal"),
             "vulkan": ("GLSL", "comp"), "opencl": ("OPENCL", "cl")}  # fmt: skip


@pytest.fixture
def started(init, monkeypatch):
    """Starts the arch with some variables set, and gives two kernels: a recurrence, and one that needs no stack."""

    def start(*variables, **options):
        for name in variables:
            monkeypatch.setenv(name, "1")
        init(default_fp=qd.f64, ad_stack_experimental_enabled=True, **options)
        x, y = field(np.ones(4)), field(np.ones(4))

        @qd.kernel
        def curved():
            for i in x:
                v = x[i]
                at = i
                for j in range(5):
                    v = qd.sin(v) * x[at]
                    at = (at * 3 + 1) % 4
                y[i] = v

        @qd.kernel
        def linear():
            for i in x:
                v = x[i]
                for j in range(5):
                    v = v * 0.5 + x[i] * j
                y[i] = v

        return curved, linear

    return start


def dumps(text: str, language: str) -> dict:
    """Kernel names to the texts between the markers."""
    found = re.findall(rf"^=== {language} for kernel '(\w+)' ===\n(.*?)^=== END {language} ===\n", text, re.M | re.S)
    return dict(found)


def test_the_header_counts_lines_bytes_stacks_and_pushes(started, arch_name, capfd):
    language, _ = LANGUAGES[arch_name]
    curved, linear = started(f"QD_DUMP_{language}")
    curved()
    curved.grad()
    linear.grad()
    shown = dumps(capfd.readouterr().err, language)
    ours = {name: text for name, text in shown.items() if name.startswith(("curved", "linear"))}
    assert list(ours) == ["curved", "curved_reverse_grad", "linear_reverse_grad"]
    for name, text in ours.items():
        head = re.match(r"/\* kernel (\w+), mode (\w+), (\d+) lines, (\d+) bytes\n", text)
        mode = "reverse" if name.endswith("_reverse_grad") else "none"
        assert head.groups() == (name, mode, str(text.count("\n")), str(len(text.encode())))
    line = re.compile(r"^   task (\S+): (.*?), id 0x\w{8}(?: \*/)?$", re.M)
    tasks = {name: line.findall(text) for name, text in ours.items()}
    assert [what for _, what in tasks["curved"]] == ["stacks 0 F + 0 I, pushes 0, gate=none"]
    assert [what for _, what in tasks["curved_reverse_grad"]] == ["stacks 1 F + 1 I, pushes 2, gate=none"]
    assert [what for _, what in tasks["linear_reverse_grad"]] == ["stacks 0 F + 0 I, pushes 0, gate=none"]
    assert all(task in ours["curved_reverse_grad"].split("*/", 1)[1] for task, _ in tasks["curved_reverse_grad"])


def test_the_header_shows_the_condition_behind_which_rows_are_claimed(init, arch_name, monkeypatch, capfd):
    language, _ = LANGUAGES[arch_name]
    monkeypatch.setenv(f"QD_DUMP_{language}", "1")
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)
    x, y, n = field(np.ones(64)), field(np.ones(64)), qd.field(qd.i32, ())
    passes = qd.field(qd.f64, 64, name="passes")

    @qd.kernel
    def gated():
        for i in x:
            if passes[i] > 0.5:
                v = x[i]
                for j in range(n[None]):
                    v = qd.sin(v)
                y[i] = v

    gated.grad()
    shown = dumps(capfd.readouterr().err, language)["gated_reverse_grad"]
    (line,) = [line for line in shown.splitlines() if "stacks 1 F" in line]
    assert "gate=(passes[i] > 0.5:f64)" in line


def test_the_text_below_the_header_is_the_one_that_is_compiled(started, arch_name, capfd):
    language, _ = LANGUAGES[arch_name]
    curved, _ = started(f"QD_DUMP_{language}")
    curved.grad()
    shown = dumps(capfd.readouterr().err, language)["curved_reverse_grad"]
    assert shown.split(" */\n", 1)[1].rstrip() == curved.grad.source().rstrip()


def test_any_language_also_goes_to_files(started, arch_name, capfd, tmp_path):
    language, suffix = LANGUAGES[arch_name]
    curved, _ = started("QD_DUMP_SRC", debug_dump_path=str(tmp_path))
    curved.grad()
    shown = dumps(capfd.readouterr().err, language)["curved_reverse_grad"]
    (written,) = tmp_path.glob(f"curved_reverse_grad_c*.{suffix}")
    assert written.read_text() == shown
    assert f", {len(written.read_text().splitlines())} lines, {written.stat().st_size} bytes" in shown


def test_other_languages_are_not_shown(started, arch_name, capfd):
    mine, _ = LANGUAGES[arch_name]
    curved, _ = started(*(f"QD_DUMP_{name}" for name, _ in LANGUAGES.values() if name != mine))
    curved.grad()
    assert "===" not in capfd.readouterr().err


def test_a_dump_that_cannot_be_written_is_a_warning(started, capfd, tmp_path):
    (tmp_path / "file").write_text("")
    curved, _ = started("QD_DUMP_SRC", debug_dump_path=str(tmp_path / "file"))
    curved.grad()
    assert capfd.readouterr().err.count("cannot write the dump") >= 1


PROGRAM = """
import sys
import quadrants as qd
from kept import k

qd.init(ad_stack_experimental_enabled=True, offline_cache_file_path=sys.argv[1])
x, y = (qd.ndarray(qd.f32, 3, needs_grad=True) for _ in range(2))
k.grad(x, y)
"""

KEPT = """
import quadrants as qd


@qd.kernel(fastcache=True)
def k(x: qd.types.ndarray(), y: qd.types.ndarray()):
    for i in x:
        y[i] = x[i] * x[i]
"""


def test_kernels_of_the_disk_cache_are_shown_with_a_warning(arch_name, arch_environment, tmp_path, monkeypatch):
    language, _ = LANGUAGES[arch_name]
    for name, value in arch_environment.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "kept.py").write_text(KEPT)
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setenv(f"QD_DUMP_{language}", "1")
    said = []
    for _ in range(2):
        command = [sys.executable, "program.py", str(tmp_path / "cache")]
        said.append(subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stderr)
    assert dumps(said[0], language) == dumps(said[1], language) != {}
    assert all(text.count("[warning_code=DUMP_IR_CACHE_MISMATCH]") == 1 for text in said)
