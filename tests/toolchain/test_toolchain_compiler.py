"""Which compiler is taken, and what is remembered about it."""

from __future__ import annotations

import os

import pytest
from toolchain_kit import SOURCE, answer

from quadrants.toolchain import build, compiler, process
from quadrants.toolchain.cache import DiskCache
from quadrants.toolchain.errors import CompilerNotFound, ToolchainError


def script(path, text):
    path.write_text("#!/bin/sh\n" + text + "\n")
    path.chmod(0o755)


def test_gcc_is_known_with_the_features_of_this_cpu(gcc, monkeypatch):
    monkeypatch.setenv("QD_CC", gcc)
    found = compiler.find_compiler()
    assert (found.path, found.kind) == (gcc, "gcc")
    assert "gcc version" in found.version
    assert found.target.count("-") >= 2
    assert found.native in (("-march=native",), ("-mcpu=native",))
    assert "-m" in found.cpu and "native" not in found.cpu


def test_a_compiler_for_other_processors_is_not_told_native(gcc, monkeypatch, tmp_path):
    """Its driver takes the flag and hands it on to a compiler proper that knows no such processor."""
    script(tmp_path / "cross", 'test "$1" = "-###" && echo " /usr/lib/cc1 -quiet - \\"$2\\" -mabi=lp64" >&2')
    monkeypatch.setenv("QD_CC", str(tmp_path / "cross"))
    found = compiler.find_compiler()
    assert (found.native, found.cpu) == ((), "-mabi=lp64")


def test_clang_goes_before_gcc_and_gcc_before_cc(gcc, monkeypatch, tmp_path):
    monkeypatch.delenv("QD_CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("cc", "gcc", "clang"):
        script(tmp_path / name, f'PATH=/usr/bin:/bin exec {gcc} "$@"')
        compiler._found.clear()
        assert compiler.find_compiler().path == str(tmp_path / name)


@pytest.mark.parametrize("version, first", [("14.0.6", "gcc"), ("15.0.7", "clang")])
def test_a_clang_without_halves_goes_last(gcc, monkeypatch, tmp_path, version, first):
    monkeypatch.delenv("QD_CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    script(tmp_path / "clang", f"echo 'Debian clang version {version}'; echo 'Target: x86_64-pc-linux-gnu'")
    script(tmp_path / "gcc", f'PATH=/usr/bin:/bin exec {gcc} "$@"')
    compiler._found.clear()
    assert compiler.find_compiler().path == str(tmp_path / first)
    (tmp_path / "gcc").unlink()
    monkeypatch.setattr(compiler, "_zig", lambda: None)
    compiler._found.clear()
    assert compiler.find_compiler().path == str(tmp_path / "clang")


@pytest.mark.parametrize(
    "kind, version, target, has",
    [
        ("gcc", "gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)", "x86_64-linux-gnu", False),
        ("gcc", "gcc version 12.2.0 (Debian 12.2.0-14)", "x86_64-linux-gnu", True),
        ("gcc", "gcc version 11.4.0", "aarch64-linux-gnu", True),
        ("clang", "Debian clang version 14.0.6", "x86_64-pc-linux-gnu", False),
        ("zig", "clang version 18.1.6", "x86_64-unknown-linux", True),
        ("other", "", "", True),
    ],
)
def test_which_compilers_have_halves(kind, version, target, has):
    assert compiler.Compiler("cc", ("cc",), kind, version, target, (), "", "").has_halves == has


def test_a_broken_first_choice_gives_way_to_the_next(gcc, monkeypatch, tmp_path):
    monkeypatch.delenv("QD_CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    script(tmp_path / "clang", "echo no such luck; exit 1")
    script(tmp_path / "gcc", f'PATH=/usr/bin:/bin exec {gcc} "$@"')
    compiler._found.clear()
    assert compiler.find_compiler().path == str(tmp_path / "gcc")


def test_none_at_all_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.delenv("QD_CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(compiler, "_zig", lambda: None)
    compiler._found.clear()
    with pytest.raises(CompilerNotFound) as caught:
        compiler.find_compiler()
    assert "apt install gcc" in str(caught.value) and "pip install ziglang" in str(caught.value)
    assert isinstance(caught.value, RuntimeError)


def test_qd_cc_that_is_not_there_is_an_error_although_gcc_is(gcc, monkeypatch):
    monkeypatch.setenv("QD_CC", "/nowhere/cc")
    with pytest.raises(CompilerNotFound, match="^QD_CC names /nowhere/cc, which is not there. Set it to") as caught:
        compiler.find_compiler()
    there = next(filter(None, map(compiler.which, ("clang", "gcc", "cc"))))
    assert f"as in QD_CC={there}, or unset it." in str(caught.value) and "apt install" not in str(caught.value)


def test_qd_cc_that_is_no_compiler_is_named(monkeypatch, tmp_path):
    script(tmp_path / "cc", "echo no compiler; exit 3")
    monkeypatch.setenv("QD_CC", str(tmp_path / "cc"))
    told = f"QD_CC={tmp_path}/cc: The C compiler {tmp_path}/cc failed its probe: .* exit status 3 and said: no compiler"
    with pytest.raises(ToolchainError, match=told):
        compiler.find_compiler()


def test_qd_cc_may_have_arguments(gcc, monkeypatch):
    monkeypatch.setenv("QD_CC", f"{gcc} -pipe")
    assert compiler.find_compiler().command == (gcc, "-pipe")


@pytest.mark.parametrize("name", ["my cc", "it's", 'a"b', "line\nfeed", "back\\slash"])
def test_qd_cc_may_be_any_path(gcc, monkeypatch, tmp_path, name):
    script(tmp_path / name, f'exec {gcc} "$@"')
    monkeypatch.setenv("QD_CC", str(tmp_path / name))
    compiler._found.clear()
    found = compiler.find_compiler()
    assert found.command == (str(tmp_path / name),) and found.kind == "gcc"
    assert answer(build.load_c(SOURCE, "k"))(20) == 41
    compiler._found.clear()


@pytest.mark.parametrize("text", ["'", 'gcc "', "gcc -DX='1", "gcc \\"])
def test_qd_cc_that_cannot_be_read_says_so(monkeypatch, text):
    monkeypatch.setenv("QD_CC", text)
    with pytest.raises(CompilerNotFound, match="Close the quote"):
        compiler.find_compiler()


@pytest.mark.parametrize("link", ["0", "1"], ids=["object", "shared object"])
@pytest.mark.parametrize("variable", ["TMPDIR", "QD_TMP_DIR"])
@pytest.mark.parametrize("name", ["with space", "it's", 'a"b', "line\nfeed", "back\\slash", "$(true)"])
def test_folders_for_temporary_files_may_have_any_name(gcc, monkeypatch, tmp_path, name, variable, link):
    (tmp_path / name).mkdir()
    monkeypatch.setenv(variable, str(tmp_path / name))
    monkeypatch.setenv("QD_LINK", link)
    compiler._found.clear()
    plain = compiler._probe((gcc,), "")
    monkeypatch.delenv(variable)
    assert compiler._probe((gcc,), "") == plain  # the name of no folder is part of what a compiler is
    monkeypatch.setenv(variable, str(tmp_path / name))
    build.forget()
    assert answer(build.load_c(f"{SOURCE}// {variable}", "k"))(20) == 41
    compiler._found.clear()


def test_qd_cc_that_fails_is_an_error_with_its_words(monkeypatch, tmp_path):
    script(tmp_path / "cc", "echo licence expired; exit 3")
    monkeypatch.setenv("QD_CC", str(tmp_path / "cc"))
    with pytest.raises(ToolchainError, match="licence expired"):
        compiler.find_compiler()


def test_qd_cc_that_cannot_start(monkeypatch, tmp_path):
    (tmp_path / "cc").write_bytes(b"\x7fELF nonsense")
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("QD_CC", str(tmp_path / "cc"))
    with pytest.raises(ToolchainError, match="cannot be started"):
        compiler.find_compiler()


def test_a_compiler_without_native_still_serves(gcc, monkeypatch, tmp_path):
    script(tmp_path / "cc", f'case "$*" in *native*) echo "error: native"; exit 1;; esac\nexec {gcc} "$@"')
    monkeypatch.setenv("QD_CC", str(tmp_path / "cc"))
    assert compiler.find_compiler().native == ()


def test_the_probe_is_kept_on_disk_until_the_compiler_changes(gcc, monkeypatch, tmp_path):
    cache = DiskCache(str(tmp_path / "cache"))
    path = tmp_path / "cc"
    script(path, f'exec {gcc} "$@"')
    monkeypatch.setenv("QD_CC", str(path))
    first = compiler.find_compiler(cache)

    def no_process(*args, **kwargs):
        raise AssertionError("a process was started")

    with monkeypatch.context() as patch:
        patch.setattr(process, "run", no_process)
        compiler._found.clear()
        assert compiler.find_compiler(cache) == first
        script(path, f'exec {gcc} "$@"  # another one')
        compiler._found.clear()
        with pytest.raises(AssertionError, match="a process was started"):
            compiler.find_compiler(cache)
    assert compiler.find_compiler(cache).identity != first.identity


def test_another_cpu_is_another_identity(gcc, monkeypatch):
    monkeypatch.setenv("QD_CC", gcc)
    compiler._found.clear()
    first = compiler.find_compiler()
    monkeypatch.setattr(compiler, "_cpu_stamp", lambda: "a processor of the next decade")
    compiler._found.clear()
    assert compiler.find_compiler().identity != first.identity
    compiler._found.clear()


def test_which_follows_path_only_for_bare_names(monkeypatch, tmp_path):
    script(tmp_path / "tool", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compiler.which("tool") == str(tmp_path / "tool")
    assert compiler.which(str(tmp_path / "tool")) == str(tmp_path / "tool")
    os.chmod(tmp_path / "tool", 0o644)
    assert compiler.which("tool") is None
