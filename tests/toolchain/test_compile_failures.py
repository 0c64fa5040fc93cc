"""A kernel whose text no compiler takes: one warning and a RuntimeError with the facts, and the program goes on."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

import pytest

import quadrants as qd
from quadrants.emit import render as rendering
from quadrants.runtime.emulated import EmulatedBackend
from quadrants.toolchain import build, hiprtc, nvrtc
from quadrants.toolchain.errors import CompileError, CompilerNotFound

BROKEN = "\n#error broken on purpose\n"


def _without(module) -> str | None:
    try:
        module.find()
    except CompilerNotFound as error:
        return str(error).splitlines()[0]
    return None


def _nvrtc(self, kernel, args, recipe, text, options):
    code = build.build_binary("cuda", text, recipe.name, "sm_90", nvrtc.flags(options), self.cache)
    raise AssertionError(f"compiled to {len(code)} bytes")


def _hiprtc(self, kernel, args, recipe, text, options):
    code = build.build_binary("hip", text, recipe.name, "gfx90a", (), self.cache)
    raise AssertionError(f"compiled to {len(code)} bytes")


@pytest.fixture
def fails(monkeypatch):
    """Starts a toolchain, the vendors' without their devices, and breaks the text of kernels named `broken`."""
    made = rendering.render

    def render(module, *rest):
        found = made(module, *rest)
        return dataclasses.replace(found, text=found.text + BROKEN) if module.name.startswith("broken") else found

    def start(toolchain: str):
        options = {"arch": qd.cpu, "offline_cache": False, "ad_stack_experimental_enabled": True}
        if toolchain != "c":
            options |= {"arch": qd.amdgpu if toolchain == "hiprtc" else qd.cuda, "emulate": True}
        compiler = {"nvrtc": (nvrtc, _nvrtc), "hiprtc": (hiprtc, _hiprtc)}.get(toolchain)
        if compiler is not None:
            missing = _without(compiler[0])
            if missing:
                pytest.skip(missing)
            real = EmulatedBackend.build

            def chosen(self, kernel, args, recipe, text, options):
                broken = recipe.name.startswith("broken")
                return (compiler[1] if broken else real)(self, kernel, args, recipe, text, options)

            monkeypatch.setattr(EmulatedBackend, "build", chosen)
        qd.init(**options)
        monkeypatch.setattr(rendering, "render", render)

    yield start
    qd.reset()


def kernels():
    x, y = (qd.field(qd.f32, 4, needs_grad=True) for _ in range(2))

    @qd.kernel
    def broken():
        for i in x:
            y[i] = x[i] * x[i]
        for i in x:
            y[i] += qd.sin(x[i])

    @qd.kernel
    def works():
        for i in x:
            x[i] = 2.0

    return x, broken, works


@pytest.mark.parametrize("derivative", [False, True])
@pytest.mark.parametrize("toolchain", ["c", "emulator", "nvrtc", "hiprtc"])
def test_the_error_and_the_warning_say_what_failed(fails, capfd, toolchain, derivative):
    fails(toolchain)
    x, broken, works = kernels()
    source = (broken.grad if derivative else broken).source()
    capfd.readouterr()
    with pytest.raises(RuntimeError) as caught:
        (broken.grad if derivative else broken)()
    said = str(caught.value)
    name = "broken_reverse_grad" if derivative else "broken"
    arch = qd.cfg.arch.name
    tasks = [f"{name}_{k}_struct_for" for k in range(2)]
    for fact in (name, "test_compile_failures.py:", arch, f"{len(source.encode())} bytes of source", *tasks,
                 "broken on purpose", "Source kept in"):  # fmt: skip
        assert fact in said, fact
    assert isinstance(caught.value, CompileError) and "broken on purpose" in caught.value.log
    warned = capfd.readouterr().err
    assert warned.count(f"Kernel '{name}'") == 1 and said in warned
    os.unlink(caught.value.source_path)
    works()
    assert x[1] == 2.0


def test_a_compiler_that_says_nothing(fails, capfd, tmp_path, monkeypatch):
    fails("c")
    x, broken, works = kernels()
    works()
    silent = tmp_path / "cc"
    silent.write_text('#!/bin/sh\ncase "$*" in *-version*|*dumpmachine*|*-###*) exec cc "$@";; esac\nexit 3\n')
    silent.chmod(0o755)
    qd.init(arch=qd.cpu, offline_cache=False)
    x, broken, works = kernels()
    monkeypatch.setenv("QD_CC", str(silent))
    capfd.readouterr()
    with pytest.raises(RuntimeError, match="the compiler said nothing") as caught:
        broken()
    assert "Kernel 'broken'" in str(caught.value) and "bytes of source" in str(caught.value)
    assert str(caught.value) in capfd.readouterr().err
    os.unlink(caught.value.source_path)
    monkeypatch.delenv("QD_CC")
    works()
    assert x[1] == 2.0


@pytest.mark.parametrize("toolchain", ["nvrtc", "hiprtc"])
def test_a_vendor_that_says_nothing(fails, toolchain, monkeypatch):
    fails(toolchain)
    x, broken, works = kernels()
    if toolchain == "nvrtc":
        monkeypatch.setattr(nvrtc, "_text", lambda library, program, what: b"\0")
    else:
        said = {"status": 6, "reason": "HIPRTC_ERROR_COMPILATION", "log": ""}
        monkeypatch.setattr(hiprtc, "_ask", lambda *_: (said, b"", ""))
    with pytest.raises(RuntimeError, match="said nothing") as caught:
        broken()
    assert "Kernel 'broken'" in str(caught.value) and "bytes of source" in str(caught.value)
    os.unlink(caught.value.source_path)
    works()
    assert x[1] == 2.0


PROGRAM = """
import sys
import quadrants as qd
from quadrants.emit import render as rendering

qd.init(arch=qd.cpu, offline_cache=False)
x = qd.field(qd.f32, 4)

@qd.kernel
def broken():
    for i in x:
        x[i] = 1.0

made = rendering.render
def render(*args):
    found = made(*args)
    found.text += "#error broken on purpose"
    return found
rendering.render = render
try:
    broken()
except RuntimeError as error:
    print("caught", type(error).__name__)
"""


def test_a_program_that_catches_it_ends_well(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "QD_TMP_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "caught CompileError"), done.stderr
    assert done.stderr.count("was not compiled for") == 1


def test_a_template_of_the_user_that_writes_wrong_text(tmp_path, capfd):
    """The compiler's words are in the error alone: the log has one line."""
    (tmp_path / "c").mkdir()
    text = '{% extends "builtin/c/task.c.j2" %}\n{% block header %}#error by mistake\n{{ super() }}{% endblock %}\n'
    (tmp_path / "c" / "task.c.j2").write_text(text)
    qd.init(arch=qd.cpu, offline_cache=False, template_path=[str(tmp_path)])
    _, broken, _ = kernels()
    capfd.readouterr()
    with pytest.raises(CompileError, match="by mistake") as caught:
        broken()
    os.unlink(caught.value.source_path)
    check = f"Templates of {tmp_path} took part in the source: `python -m quadrants templates check {tmp_path}`"
    assert check in str(caught.value)
    logged = capfd.readouterr().err
    assert "The compiler refused the source of kernel 'broken'" in logged and "which templates of yours wrote" in logged
    assert "by mistake" not in logged
    qd.reset()
