"""Compiled templates on disk: used when they fit, made again when they do not, never in the way."""

from __future__ import annotations

import importlib.util
import marshal
import os
import pickle
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from quadrants.emit import bytecode, environment, overrides, sample
from quadrants.emit.bytecode import COMPILED, SUFFIX
from quadrants.toolchain.cache import DiskCache


@pytest.fixture
def builtin(tmp_path, monkeypatch):
    """A copy of the built-in templates, without compiled ones, and a cache to keep them in."""
    folder = tmp_path / "builtin"
    apart = shutil.ignore_patterns("__pycache__", "*.py", COMPILED)
    shutil.copytree(environment.builtin_folder(), folder, ignore=apart)
    monkeypatch.setattr(environment, "builtin_folder", lambda: folder)
    environment.keep_in(DiskCache(str(tmp_path / "cache")))
    environment._environment.cache_clear()
    yield folder
    environment.keep_in(None)
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
    return sorted(path for path in folder.rglob("*" + SUFFIX) if path.is_file())


def test_a_second_process_parses_nothing(builtin, parsed, tmp_path):
    text = render()
    assert "c/task.c.j2" in parsed and compiled(tmp_path / "cache")
    parsed.clear()
    assert render() == text and parsed == []


def test_a_second_process_parses_no_template_of_the_user(builtin, parsed, tmp_path):
    folder = tmp_path / "mine"
    (folder / "c").mkdir(parents=True)
    (folder / "c" / "task.c.j2").write_text(
        '{% extends "builtin/c/task.c.j2" %}{% block header %}// mine{% endblock %}'
    )
    text = render(folder)
    assert "// mine" in text and "c/task.c.j2" in parsed
    parsed.clear()
    overrides.watching.cache_clear()
    assert render(folder) == text and parsed == []


def test_without_a_cache_nothing_is_written(builtin, parsed, tmp_path, monkeypatch):
    environment.keep_in(None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = sorted(tmp_path.rglob("*"))
    render()
    assert parsed and sorted(tmp_path.rglob("*")) == before


def test_an_edit_counts_even_when_size_and_time_stay(builtin, parsed):
    render()
    file = builtin / "c" / "task.c.j2"
    status, text = file.stat(), file.read_text()
    file.write_text(text.replace("of one launch share", "OF ONE LAUNCH SHARE"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    parsed.clear()
    assert "OF ONE LAUNCH SHARE" in render() and parsed == ["c/task.c.j2"]


@pytest.fixture
def decoded(monkeypatch):
    """How many times something was unmarshalled by the module under test; unpickling fails the test."""
    calls: list = []

    class Counted:
        dumps = staticmethod(marshal.dumps)

        @staticmethod
        def loads(content):
            calls.append(len(content))
            return marshal.loads(content)

    def never(*args, **options):
        raise AssertionError("something was unpickled")

    monkeypatch.setattr(bytecode, "marshal", Counted)
    monkeypatch.setattr(pickle, "load", never)
    monkeypatch.setattr(pickle, "loads", never)
    return calls


def flips(content: bytes) -> list[bytes]:
    """One bit wrong, at places all over the content."""
    out = []
    for position in range(0, len(content) * 8, max(1, len(content) * 8 // 64)):
        damaged = bytearray(content)
        damaged[position // 8] ^= 1 << position % 8
        out.append(bytes(damaged))
    return out


def test_damage_is_noticed_before_anything_is_decoded_and_mended(builtin, parsed, decoded, tmp_path):
    text = render()
    files = {path: path.read_bytes() for path in compiled(tmp_path / "cache")}
    one, content = max(files.items(), key=lambda item: len(item[1]))
    for damaged in [b"", b"j2", content[: len(content) // 2], content[:-1], content + b"\0", *flips(content)]:
        one.write_bytes(damaged)
        parsed.clear()
        decoded.clear()
        assert render() == text
        assert len(parsed) == 1 and len(decoded) == len(files) - 1
        assert one.read_bytes() == content


def test_files_that_others_could_have_written_are_not_decoded(builtin, parsed, decoded, tmp_path):
    text = render()
    for path in compiled(tmp_path / "cache"):
        path.chmod(0o666)
    decoded.clear()
    parsed.clear()
    assert render() == text and parsed and not decoded
    assert {path.stat().st_mode & 0o777 for path in compiled(tmp_path / "cache")} == {0o600}


def test_another_python_makes_its_own(builtin, parsed, tmp_path, monkeypatch):
    render()
    made = len(compiled(tmp_path / "cache"))
    for tag, magic in (("cpython-399", b"abcd"), (None, b"abcd"), (sys.implementation.cache_tag, b"abce")):
        parsed.clear()
        bytecode._made_by.cache_clear()
        monkeypatch.setattr(sys.implementation, "cache_tag", tag)
        monkeypatch.setattr(importlib.util, "MAGIC_NUMBER", magic)
        render()
        assert "c/task.c.j2" in parsed
    monkeypatch.undo()
    bytecode._made_by.cache_clear()
    assert len(compiled(tmp_path / "cache")) == 4 * made


def test_templates_of_users_are_kept_in_the_cache(builtin, parsed, tmp_path):
    folder = tmp_path / "mine"
    (folder / "c").mkdir(parents=True)
    (folder / "c" / "task.c.j2").write_text('{% extends "builtin/c/task.c.j2" %}')
    render(folder)
    assert compiled(tmp_path / "cache") and not compiled(folder)
    parsed.clear()
    render(folder)
    assert parsed == []


def test_an_error_names_the_file_it_is_in_now(builtin, tmp_path):
    """Folders with the same template share what is kept of it."""
    text = '{% extends "builtin/c/task.c.j2" %}{% block header %}{{ 1 // zero }}{% endblock %}'
    for name in ("one", "two"):
        (tmp_path / name / "c").mkdir(parents=True)
        (tmp_path / name / "c" / "task.c.j2").write_text(text)
        with pytest.raises(Exception, match="zero") as caught:
            render(tmp_path / name)
        assert str(tmp_path / name) in "".join(traceback.format_exception(caught.value))


def test_a_cache_that_cannot_be_written_is_no_trouble(builtin, parsed, tmp_path):
    (tmp_path / "file").write_text("")
    environment.keep_in(DiskCache(str(tmp_path / "file"), quiet=True))
    assert "sample" in render() and parsed


# ---- what the build of the package compiles


def test_the_package_needs_no_cache(builtin, parsed, decoded):
    environment.keep_in(None)
    bytecode.write_compiled(str(builtin), str(builtin / COMPILED))
    parsed.clear()
    assert "sample" in render() and parsed == [] and decoded


def test_damage_to_the_package_is_noticed(builtin, parsed, decoded):
    environment.keep_in(None)
    bytecode.write_compiled(str(builtin), str(builtin / COMPILED))
    text = render()
    decoded.clear()
    for path in compiled(builtin):
        path.write_bytes(flips(path.read_bytes())[40])
    parsed.clear()
    assert render() == text and parsed and not decoded


def test_what_was_edited_since_the_build_is_compiled_again(builtin, parsed):
    bytecode.write_compiled(str(builtin), str(builtin / COMPILED))
    before = compiled(builtin)
    file = builtin / "c" / "task.c.j2"
    file.write_text(file.read_text().replace("of one launch share", "OF ONE LAUNCH SHARE"))
    parsed.clear()
    assert "OF ONE LAUNCH SHARE" in render() and parsed == ["c/task.c.j2"]
    assert compiled(builtin) == before  # only a build writes there
    bytecode.write_compiled(str(builtin), str(builtin / COMPILED))
    assert len(compiled(builtin)) == len(before)


def test_this_package_was_built_with_its_templates(parsed):
    """`make build` does it; without it every process parses templates."""
    environment.keep_in(None)
    environment._environment.cache_clear()
    render()
    assert parsed == []


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
