"""`python -m quadrants`."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from toolchain_kit import ROOT

from quadrants import cli
from quadrants._version import DISTRIBUTION, __version_str__
from quadrants.cli import doctor, probes
from quadrants.emit.environment import builtin_folder
from quadrants.toolchain import drivers, hiprtc, nvrtc
from quadrants.toolchain.cache import DiskCache, make_key
from quadrants.toolchain.compiler import own_store


def test_alone_it_lists_the_commands(capsys):
    assert cli.main([]) == 0
    out = capsys.readouterr().out
    assert "cache" in out and "doctor" in out
    for command in cli.available():
        assert command.summary in out


def test_an_unknown_command(capsys):
    assert cli.main(["nope"]) == 2
    assert "no command 'nope'" in capsys.readouterr().err


def test_a_command_of_another_layer_is_offered_once_it_is_there(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(cli, "COMMANDS", [*cli.COMMANDS, cli.Command("extra", "qd_extra_command", "something more")])
    assert "extra" not in [command.name for command in cli.available()]
    (tmp_path / "qd_extra_command.py").write_text("def main(argv):\n    print('ran', argv)\n    return 7\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "extra" in [command.name for command in cli.available()]
    assert cli.main(["extra", "a"]) == 7 and capsys.readouterr().out == "ran ['a']\n"


def test_cache_info_and_clear(capsys, tmp_path):
    root = str(tmp_path / "cache")
    assert cli.main(["cache", "info", "--path", root]) == 0
    assert "does not exist yet" in capsys.readouterr().out and not os.path.exists(root)
    cache = DiskCache(root)
    cache.put(make_key("a"), b"x" * 960)
    cache.put(make_key("b"), b"x" * 960)
    assert cli.main(["cache", "info", "--path", root]) == 0
    out = capsys.readouterr().out
    assert root in out and "entries  2" in out and "2.0 kB" in out and f"2 of version {cache.version}" in out
    assert cli.main(["cache", "clear", "--path", root]) == 0
    assert "Removed 2 entries (2.0 kB)" in capsys.readouterr().out
    assert cache.info().entries == 0


def test_cache_takes_the_folder_from_the_environment(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("QD_OFFLINE_CACHE_FILE_PATH", str(tmp_path / "named"))
    cli.main(["cache", "info"])
    assert str(tmp_path / "named") in capsys.readouterr().out
    monkeypatch.delenv("QD_OFFLINE_CACHE_FILE_PATH")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    cli.main(["cache", "info"])
    assert str(tmp_path / "xdg" / "quadrants" / "qdcache") in capsys.readouterr().out


def test_clear_takes_templates_and_answers_of_compilers_along(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("QD_OFFLINE_CACHE_FILE_PATH", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own_store.cache_clear()
    DiskCache(str(tmp_path / "quadrants" / "qdcache")).put(make_key("a"), b"x", ".jinja")
    own_store().put(make_key("a"), b"x", ".cc")
    assert cli.main(["cache", "clear"]) == 0
    own_store.cache_clear()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_without_a_home_there_is_no_folder_to_show(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("QD_OFFLINE_CACHE_FILE_PATH", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "")
    monkeypatch.chdir(tmp_path)
    own_store.cache_clear()
    for command in (["cache", "info"], ["cache", "clear"], ["doctor"]):
        assert cli.main(command) == 0
        assert "no home folder" in capsys.readouterr().out
    own_store.cache_clear()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("argv", [["cache"], ["cache", "burn"], ["cache", "info", "--nope"]])
def test_wrong_arguments(argv, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(argv)
    assert caught.value.code == 2 and "usage: python -m quadrants cache" in capsys.readouterr().err


def test_doctor_lists_every_backend(capsys, monkeypatch):
    monkeypatch.setenv("QD_SOMETHING", "set")
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    for name in ("cpu", "cuda", "amdgpu", "vulkan", "metal", "opencl", "python"):
        assert f"\n{name} " in out
    assert "QD_SOMETHING=set" in out and "kernel cache:" in out


def test_doctor_agrees_with_what_init_would_do(gcc):
    from quadrants import arch

    for name in probes.BACKENDS:
        found = probes.examine(name)
        runs = arch.is_arch_supported(arch.cpu if name == "cpu" else arch.Arch(name))
        assert (found.state == probes.READY) == (runs and not found.missing), found
        if found.state == probes.LACKING:
            assert found.missing, found


def test_a_device_without_its_compiler_is_not_usable(monkeypatch):
    monkeypatch.setattr("quadrants.runtime.cuda.probe", lambda: True)
    monkeypatch.setattr(drivers, "cuda", lambda: drivers.Look(["device 0: Some"], []))
    monkeypatch.setattr(nvrtc, "_library", None)
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(()))
    found = probes.examine("cuda")
    assert found.state == probes.LACKING and found.found == ["device 0: Some"]
    assert len(found.missing) == 1 and found.missing[0].startswith("NVRTC: `pip install nvidia-cuda-nvrtc")


def test_a_hidden_backend_is_said_to_be(monkeypatch):
    monkeypatch.setenv("QD_ENABLE_CPU", "0")
    found = probes.examine("cpu")
    assert found.state == probes.LACKING and "unset QD_ENABLE_CPU" in " ".join(found.missing)


def test_doctor_without_a_compiler_says_what_to_install(monkeypatch):
    monkeypatch.setenv("QD_CC", "/nowhere/cc")
    found = probes.examine("cpu")
    assert found.state == probes.LACKING and "apt install gcc" in " ".join(found.missing)


@pytest.mark.parametrize("version, told", [("11.4.0", True), ("12.2.0", False)])
def test_doctor_says_when_the_compiler_has_no_halves(gcc, tmp_path, monkeypatch, version, told):
    old = tmp_path / "gcc"
    said = f"echo 'gcc version {version} (old)' >&2; echo 'Target: x86_64-linux-gnu' >&2; exit"
    old.write_text(f'#!/bin/sh\ncase "$*" in *-###*) {said};; esac\nexec {gcc} "$@"\n')
    old.chmod(0o755)
    monkeypatch.setenv("QD_CC", str(old))
    found = probes.examine("cpu")
    assert found.state == probes.READY
    line = "no f16 in kernels: install gcc 12 or clang 15, or newer ones, or set QD_CC to the path of one"
    assert (line in found.found) == told


def test_doctor_fails_where_the_cpu_cannot_compile(monkeypatch, capsys):
    monkeypatch.setattr(probes, "BACKENDS", {"cpu": probes.BACKENDS["cpu"], "vulkan": probes.BACKENDS["vulkan"]})
    assert cli.main(["doctor"]) == 0
    monkeypatch.setenv("QD_CC", "/nowhere/cc")
    assert cli.main(["doctor"]) == 1
    monkeypatch.delenv("QD_CC")
    monkeypatch.setenv("QD_ENABLE_CPU", "0")
    assert cli.main(["doctor", "--json"]) == 1


def test_doctor_for_programs(monkeypatch, capsys):
    monkeypatch.setenv("QD_SOMETHING", "set")
    assert cli.main(["doctor", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert list(said["backends"]) == list(probes.BACKENDS)
    assert said["backends"]["cpu"]["state"] == probes.READY
    assert said["version"] == __version_str__ and said["variables"]["QD_SOMETHING"] == "set"
    assert said["cache"].keys() == {"folder", "entries", "bytes"}


def test_what_is_missing_is_said_in_a_line(monkeypatch):
    """The compilers' own messages name every place that was looked at."""
    monkeypatch.setattr(nvrtc, "_library", None)
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(["/nowhere/libnvrtc.so"]))
    monkeypatch.setattr(hiprtc, "_found", None)
    monkeypatch.setattr(hiprtc, "_candidates", lambda: iter(["/nowhere/libhiprtc.so"]))
    for name, package in (("cuda", "pip install nvidia-cuda-nvrtc"), ("amdgpu", "apt install libamdhip64-dev")):
        compiler = probes.examine(name).missing[0]
        assert package in compiler and "/nowhere" not in compiler and len(compiler) < 100


def test_the_version(capsys):
    for option in ("--version", "-V"):
        assert cli.main([option]) == 0
        assert capsys.readouterr().out == f"quadrants {DISTRIBUTION}\n"


def test_a_misspelt_command_has_a_suggestion(capsys):
    assert cli.main(["docter"]) == 2
    assert "did you mean 'doctor'?" in capsys.readouterr().err


def test_a_template_that_is_shown_is_alone_on_standard_output():
    name = "c/prelude/clock.j2"
    command = [sys.executable, "-m", "quadrants", "templates", "show", name]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONPATH": ROOT}, check=True)
    assert done.stdout == (builtin_folder() / name).read_bytes()
    assert done.stderr.startswith(b"[Quadrants] version ") and done.stderr.count(b"\n") == 1


def test_a_look_that_fails_is_a_row(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")

    def broken(found, missing):
        found.append("a half")
        raise ZeroDivisionError("driver from hell")

    monkeypatch.setitem(probes.BACKENDS, "cuda", broken)
    row = probes.examine("cuda")
    assert row.state == "the look failed" and row.found == ["a half"] and "driver from hell" in row.missing[0]
    assert "driver from hell" in doctor.table([row])


def test_the_table_lines_up(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    rows = [probes.Finding("cpu", "ready", ["a" * 10] * 12, []), probes.Finding("cuda", "not usable here", [], ["b c"])]
    lines = doctor.table(rows).splitlines()
    assert all(len(line) <= 160 for line in lines) and lines[1].startswith("-------  ")
    assert len({line.index("not usable here") for line in lines if "not usable here" in line}) == 1


@pytest.mark.parametrize("module", ["quadrants", "quadrants.tools.diagnose"])
def test_a_reader_that_leaves_early_is_no_error(module, tmp_path):
    arguments = ["doctor"] if module == "quadrants" else []
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": ROOT, "ENABLE_QUADRANTS_HEADER_PRINT": "0"},
    ) as child:
        child.stdout.close()
        err = child.stderr.read()
    assert (child.returncode, err) == (0, b"")
