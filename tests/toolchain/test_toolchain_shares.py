"""Texts that several compilers share, and archives of what they make."""

import os
import shutil
import subprocess
import sys
import time

import pytest
from toolchain_kit import answer

from quadrants.toolchain import archive, build, cc, elf, library, loader, shares
from quadrants.toolchain.cache import DiskCache
from quadrants.toolchain.errors import CompileError, CompileTimeout
from quadrants.toolchain.process import Child, Finished

pytestmark = pytest.mark.skipif(not loader.available(), reason="objects are loaded on Linux with x86-64 only")

UNITS = """
extern double sqrt(double);
int first(int x);
int second(int x);
#if !defined(QD_UNITS) || QD_UNITS & 1
static int added = 1;
int first(int x) { return x + added; }
#endif
#if !defined(QD_UNITS) || QD_UNITS & 2
static int added_2 = 1;
int second(int x) { return (int)sqrt((double)(x * x)) + added_2++; }
#endif
#if !defined(QD_UNITS) || QD_UNITS & 1
int qd_answer(int x) { int (*volatile called)(int) = second; return first(x) + called(x); }
#endif
"""


@pytest.fixture
def compilers(monkeypatch):
    """Commands of the compilers that are started for a text in a file."""
    started = []
    start = cc.Job.start

    def watched(job, command, env):
        if any(word.startswith("-DQD_UNITS") for word in command):
            started.append(command)
        return start(job, command, env)

    monkeypatch.setattr(cc.Job, "start", watched)
    monkeypatch.setattr(shares, "hardware_threads", lambda: 4)
    return started


def test_two_compilers_make_one_library(compilers):
    f = answer(build.load_c(UNITS, "k", units=2))
    assert [f(20), f(20)] == [42, 43]
    assert [word for command in compilers for word in command if word.startswith("-D")] == ["-DQD_UNITS=2"]


def test_the_disk_keeps_both_halves(compilers, tmp_path):
    cache = DiskCache(str(tmp_path))
    build.load_c(UNITS, "k", cache=cache, units=2)
    build.forget()
    loaded = build.statistics.loaded
    assert answer(build.load_c(UNITS, "k", cache=cache, units=2))(20) == 42
    assert build.statistics.loaded == loaded + 1 and len(compilers) == 1


def test_the_linker_takes_what_the_loader_does_not(compilers, monkeypatch):
    def refuse(data):
        raise loader.Unsupported("not today")

    monkeypatch.setattr(library, "load_object", refuse)
    assert answer(build.load_c(f"{UNITS}// linked", "k", units=2))(20) == 42


def test_one_core_makes_one_object(compilers, monkeypatch):
    monkeypatch.setattr(shares, "hardware_threads", lambda: 1)
    assert answer(build.load_c(f"{UNITS}// alone", "k", units=2))(20) == 42
    assert not compilers


@pytest.mark.parametrize("units,cores", [(1, 4), (2, 2), (5, 2), (5, 3), (8, 8), (3, 8)])
def test_every_unit_has_one_compiler(units, cores):
    masks = shares._masks(units, min(units, cores))
    assert sum(masks) == 2**units - 1 and all(masks)
    assert sum(mask.bit_count() for mask in masks) == units


@pytest.mark.parametrize("unit", [0, 1])
def test_an_error_is_told_of_the_whole_text(compilers, unit):
    text = UNITS + f"#if !defined(QD_UNITS) || QD_UNITS & {1 << unit}\nint g(void) {{ return nowhere; }}\n#endif\n"
    with pytest.raises(CompileError, match="nowhere") as raised:
        build.load_c(text, "k", units=2)
    assert raised.value.kernel == "k"


def test_a_compiler_that_takes_too_long_is_stopped(compilers, monkeypatch, tmp_path):
    slow = tmp_path / "cc"
    real = cc.find_compiler().path
    slow.write_text(f'#!/bin/sh\ncase "$*" in *-DQD_UNITS*) sleep 60;; esac\nexec {real} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("QD_CC", str(slow))
    monkeypatch.setenv("QD_CC_TIMEOUT", "2")
    with pytest.raises(CompileTimeout):
        build.load_c(f"{UNITS}// slow", "k", units=2)


def test_an_interrupt_leaves_no_compiler(compilers, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(cc, "compile_object", interrupted)
    children = []
    start = cc.Job.start
    monkeypatch.setattr(cc.Job, "start", lambda *args: children.append(start(*args)) or children[-1])
    with pytest.raises(KeyboardInterrupt):
        shares.compile_object(UNITS, name="k", units=2)
    (other,) = children
    (command,) = compilers
    assert not other.alive() and not os.path.exists(command[-1])


def test_archives_are_those_of_ar(tmp_path):
    objects = [b"abc", b"", b"four"]
    path = tmp_path / "k.a"
    path.write_bytes(archive.joined(objects))
    assert archive.members(path.read_bytes()) == objects
    assert archive.joined([b"alone"]) == b"alone" and archive.members(b"alone") == [b"alone"]
    if shutil.which("ar"):
        listed = subprocess.run(["ar", "t", path], capture_output=True, text=True, check=True).stdout
        assert listed.split() == ["unit0.o", "unit1.o", "unit2.o"]


@pytest.mark.parametrize("cut", range(1, 140, 3))
def test_a_damaged_archive_is_refused(cut):
    objects = [cc.compile_object(text, name="k") for text in ("int f(void) { return 7; }", "int g;")]
    whole = archive.joined(objects)
    with pytest.raises(loader.Unsupported):
        loader.load(whole[:-cut])
    with pytest.raises(loader.Unsupported):
        loader.load(whole[:56] + b"\xff" * cut + whole[56 + cut :])  # from the size of the first object on


def test_two_objects_with_one_name_are_refused():
    data = elf.parse(cc.compile_object("int f(void) { return 7; }", name="k"))
    with pytest.raises(elf.Unsupported, match="two objects have 'f'"):
        elf.merged([data, data])


def test_what_has_ended_is_not_killed(monkeypatch):
    """Its number may be that of another process by then."""
    killed = []
    monkeypatch.setattr(os, "killpg", lambda *args: killed.append(args))
    child = Child([sys.executable, "-c", "print('done')"])
    assert child.finish(b"", 30.0) == Finished(0, b"done\n")
    child.stop()
    assert not killed


def test_binaries_come_in_the_order_of_their_units():
    def compile(source, name, arch, options):
        time.sleep(0.02 if options[-1].endswith("=1") else 0)
        return options[-1].encode()

    code = shares.compile_binaries(compile, "text", "k", "sm_90", ("-a",), 6)
    assert archive.members(code) == [b"-DQD_UNITS=%d" % (1 << unit) for unit in range(6)]


def test_units_that_have_not_begun_are_left_out_behind_a_failure():
    begun = []

    def compile(source, name, arch, options):
        begun.append(options[-1])
        if options[-1] == "-DQD_UNITS=1":
            raise CompileError("no", kernel=name, dialect="cuda", log="")
        time.sleep(0.1)
        return b""

    with pytest.raises(CompileError, match="no"):
        shares.compile_binaries(compile, "text", "k", "sm_90", (), 16)
    assert len(begun) < 16
