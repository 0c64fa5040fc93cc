"""Compiled templates on disk: used when they fit, made again when they do not, never in the way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from quadrants.emit import environment, sample
from quadrants.emit.bytecode import TemplateBytecode


@pytest.fixture
def builtin(tmp_path, monkeypatch):
    """A copy of the built-in templates, without compiled ones, and a user's cache folder."""
    folder = tmp_path / "builtin"
    shutil.copytree(environment.builtin_folder(), folder, ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    monkeypatch.setattr(environment, "builtin_folder", lambda: folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    environment._environment.cache_clear()
    yield folder
    environment._environment.cache_clear()


@pytest.fixture
def parsed(monkeypatch):
    """Names of the templates that were parsed, in order."""
    import jinja2

    names: list = []
    parse = jinja2.Environment._parse

    def watched(self, source, name, filename):
        names.append(name)
        return parse(self, source, name, filename)

    monkeypatch.setattr(jinja2.Environment, "_parse", watched)
    return names


def render(folder=None) -> str:
    """The sample kernel, in an environment as fresh as that of a new process."""
    environment._environment.cache_clear()
    return sample.rendered("c", folder)


def compiled(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.jinja"))


def test_a_second_process_parses_nothing(builtin, parsed):
    text = render()
    assert "c/task.c.j2" in parsed and compiled(builtin)
    parsed.clear()
    assert render() == text and parsed == []


def test_an_edit_counts_even_when_size_and_time_stay(builtin, parsed):
    render()
    file = builtin / "c" / "task.c.j2"
    status, text = file.stat(), file.read_text()
    file.write_text(text.replace("of one launch share", "OF ONE LAUNCH SHARE"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    parsed.clear()
    assert "OF ONE LAUNCH SHARE" in render() and parsed == ["c/task.c.j2"]


@pytest.mark.parametrize("damage", [b"", b"j2", b"\0" * 100])
def test_a_damaged_file_is_made_again(builtin, parsed, damage):
    text = render()
    for file in compiled(builtin):
        file.write_bytes(damage)
    parsed.clear()
    assert render() == text and parsed
    parsed.clear()
    assert render() == text and not parsed


def test_another_jinja2_makes_its_own(builtin, parsed, monkeypatch):
    render()
    parsed.clear()
    initialise = TemplateBytecode.__init__

    def of_another(self, root):
        initialise(self, root)
        self._made_by = b"another"

    monkeypatch.setattr(TemplateBytecode, "__init__", of_another)
    render()
    assert "c/task.c.j2" in parsed


def test_templates_of_users_are_compiled_elsewhere(builtin, parsed, tmp_path):
    folder = tmp_path / "mine"
    (folder / "c").mkdir(parents=True)
    (folder / "c" / "task.c.j2").write_text('{% extends "builtin/c/task.c.j2" %}')
    render(folder)
    assert compiled(tmp_path / "cache") and not compiled(folder)
    parsed.clear()
    render(folder)
    assert parsed == []


def test_a_folder_that_cannot_be_written_is_no_trouble(builtin, parsed, tmp_path, monkeypatch):
    def refuse(path, *args, **options):
        raise PermissionError(path)

    monkeypatch.setattr(os, "makedirs", refuse)
    assert "sample" in render()
    assert not compiled(tmp_path)


def test_python_may_be_told_to_write_none_beside_the_source(builtin, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    render()
    assert not compiled(builtin) and compiled(tmp_path / "cache")


def test_a_start_imports_no_jinja2(tmp_path):
    """Once a process has compiled a kernel, the templates of the next lie ready."""
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, quadrants as qd\n"
        "qd.init(arch=qd.cpu)\n"
        "@qd.kernel\n"
        "def one() -> qd.i32:\n"
        "    return 1\n"
        "for _ in sys.argv[1:]: one()\n"
        "print([m for m in sys.modules if m.startswith('jinja2')])\n"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def modules(*argv: str) -> str:
        command = [sys.executable, str(program), *argv]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[-1]

    assert "jinja2" in modules("compile")
    assert modules() == "[]"
