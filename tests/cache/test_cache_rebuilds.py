"""The disk cache is never stale: whatever can change the result makes a kernel compile again; going back is a hit."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

import quadrants as qd
from quadrants.toolchain.compiler import which

KERNEL = """
{captured}
@qd.func
def helper(x):
    return {callee}

@qd.kernel{decoration}
def run(x: qd.f32) -> qd.f32:
    return helper(x) + GLOBAL
"""
SKELETONS = {
    "cpu": "c/task.c.j2", "cuda": "cuda/task.cu.j2", "amdgpu": "hip/task.hip.j2", "opencl": "opencl/task.cl.j2",
    "vulkan": "glsl/task.comp.j2",
    "metal": "metal/task.metal.j2",
}  # fmt: skip
BASE = {"captured": "GLOBAL = 1.0", "callee": "x * 2.0", "decoration": ""}


@pytest.mark.parametrize("decoration", ["", "(fastcache=True)"])
@pytest.mark.filterwarnings("ignore:.*PURE.VIOLATION")
@pytest.mark.parametrize(
    "change, result",
    [({"callee": "x * 3.0"}, 16.0), ({"captured": "GLOBAL = 7.0"}, 17.0)],
    ids=["callee", "captured global"],
)
def test_an_edit_is_compiled(cache, program, compiled, decoration, change, result):
    base = {**BASE, "decoration": decoration}
    for parts, expected, compiles in ((base, 11.0, 1), ({**base, **change}, result, 1), (base, 11.0, 0)):
        cache.start()
        assert program(KERNEL.format(**parts)).run(5.0) == expected
        assert compiled() == compiles


@pytest.mark.parametrize("option", [{"fast_math": False}, {"debug": True}, {"opt_level": 0}, {"default_fp": "f64"}])
def test_an_option_that_changes_the_code_is_compiled(cache, program, compiled, arch_name, option):
    # The compilers of Metal and Vulkan have no such levels; that of the emulator has.
    levels = arch_name not in ("metal", "vulkan") or os.environ.get("QD_EMULATE")
    anew = 0 if "opt_level" in option and not levels else 1
    option = {key: getattr(qd, value) if value == "f64" else value for key, value in option.items()}
    text = (
        "@qd.kernel(fastcache=True)\ndef run(n: qd.i32) -> float:\n    assert n > 0\n    return qd.sqrt(float(n)) / 3\n"
    )
    for options, compiles in (({}, 1), (option, anew), ({}, 0), (option, 0)):
        cache.start(**options)
        assert program(text).run(9) == pytest.approx(1.0)
        assert compiled() == compiles


@pytest.mark.parametrize("option", [{"random_seed": 5}, {"log_level": "error"}])
def test_an_option_that_cannot_change_the_code_is_not_compiled(cache, program, compiled, option):
    text = "@qd.kernel(fastcache=True)\ndef run(n: qd.i32) -> qd.i32:\n    return n + 1\n"
    for options, compiles in (({}, 1), (option, 0)):
        cache.start(**options)
        assert program(text).run(9) == 10
        assert compiled() == compiles


@pytest.mark.parametrize("decoration", ["", "(fastcache=True)"])
def test_an_edited_template_is_compiled(cache, program, compiled, tmp_path, arch_name, decoration):
    text = f"@qd.kernel{decoration}\ndef run(n: qd.i32) -> qd.i32:\n    return n + 1\n"
    skeleton = SKELETONS[arch_name]
    template = tmp_path / "templates" / skeleton
    template.parent.mkdir(parents=True)

    def run(comment: str) -> int:
        template.write_text(f'/* {comment} */\n{{% extends "builtin/{skeleton}" %}}\n')
        cache.start(template_path=[str(tmp_path / "templates")])
        module = program(text)
        assert module.run(1) == 2
        return compiled()

    assert [run("one"), run("another"), run("one")] == [1, 1, 0]


@pytest.mark.cpu_only  # about the files, and the C text tells what ran
@pytest.mark.parametrize("decoration", ["", "(fastcache=True)"])
def test_an_edit_that_keeps_size_and_time_is_compiled(cache, program, tmp_path, decoration):
    head = f"@qd.kernel{decoration}\ndef run(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):\n"
    included = tmp_path / "templates" / "c" / "mine.j2"
    included.parent.mkdir(parents=True)
    (included.parent / "task.c.j2").write_text(
        '{% extends "builtin/c/task.c.j2" %}\n'
        '{% block task_head %}{{ super() }}{% include "c/mine.j2" %}{% endblock %}\n'
    )

    def run(add: int) -> float:
        included.write_text(f"if (begin == 0) ((float *)x)[0] += {add}.0f;")
        os.utime(included, (1_700_000_000, 1_700_000_000))
        cache.start(template_path=[str(tmp_path / "templates")])
        x = np.ones(4, np.float32)
        program(head + "    for i in x:\n        x[i] += 1.0\n").run(x)
        return float(x[0])

    assert [run(3), run(7), run(3)] == [5.0, 9.0, 5.0]


@pytest.mark.cpu_only  # about $QD_CC
@pytest.mark.parametrize("decoration", ["", "(fastcache=True)"])
def test_another_compiler_is_compiled_with(cache, program, compiled, tmp_path, monkeypatch, decoration):
    gcc = which("gcc")
    if gcc is None:
        pytest.skip("needs gcc (system package gcc)")
    text = f"@qd.kernel{decoration}\ndef run(n: qd.i32) -> qd.i32:\n    return n + 1\n"
    wrapper = tmp_path / "my-cc"

    def run() -> int:
        monkeypatch.setenv("QD_CC", str(wrapper))
        cache.start()
        assert program(text).run(1) == 2
        return compiled()

    wrapper.write_text(f'#!/bin/sh\nexec {gcc} "$@"\n')
    wrapper.chmod(0o755)
    assert [run(), run()] == [1, 0]
    other = tmp_path / "other-cc"
    other.write_text(f'#!/bin/sh\n# another one\nexec {gcc} "$@"\n')
    other.chmod(0o755)
    wrapper = other
    assert [run(), run()] == [1, 0]


def test_a_moved_folder_still_serves(cache, program, compiled):
    text = "@qd.kernel\ndef run(n: qd.i32) -> qd.i32:\n    return n + 1\n"
    cache.start()
    assert program(text).run(1) == 2
    compiled()
    moved = cache.root.with_name("moved")
    shutil.move(cache.root, moved)
    cache.root = moved
    cache.start()
    assert program(text).run(1) == 2
    assert compiled() == 0
    assert os.listdir(moved)
