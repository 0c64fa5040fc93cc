"""Kills, races, full disks, foreign folders, damage: no wrong result, at most one message, and the next run works."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest
from cache_kit import MACHINE_CODE, finish

from quadrants.toolchain.compiler import which

PROGRAM = """
import sys
import quadrants as qd
from quadrants.toolchain import build

qd.init(offline_cache_file_path=sys.argv[1], log_level="warn", enable_fallback=False)

@qd.kernel
def first(n: qd.i32) -> qd.i32:
    return n + 1

@qd.kernel(fastcache=True)
def second(n: qd.i32) -> qd.i32:
    return n + 2

@qd.kernel
def third(a: qd.types.ndarray()):
    for i in a:
        a[i] = a[i] * 2 + 1

a = qd.ndarray(qd.i32, (4,))
assert first(1) == 2, "first"
print("first", flush=True)
assert second(1) == 3, "second"
third(a)
assert a.to_numpy().tolist() == [1, 1, 1, 1], "third"
print(build.statistics.compiled, build.statistics.loaded)
"""


def counts(out: str) -> list[int]:
    """[compiled, loaded] as PROGRAM prints them."""
    return [int(n) for n in out.strip().splitlines()[-1].split()]


def warnings_in(err: str) -> list[str]:
    return [line for line in err.splitlines() if line.startswith("[W")]


@pytest.fixture
def run(python, cache, tmp_path):
    """Run PROGRAM, always from the same file, to its end: (counts, standard error)."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)

    def once(folder=None, **env):
        out, err = finish(python.file(path, folder or cache.root, **env))
        assert "Traceback" not in err
        return counts(out), err

    return once


def test_a_second_process_runs_no_compiler(run):
    assert run() == ([3, 0], "")
    assert run() == ([0, 3], "")


def test_switched_off_by_environment(run, cache, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    for _ in range(2):
        assert run(QD_OFFLINE_CACHE="0", XDG_CACHE_HOME=str(home)) == ([3, 0], "")
    assert not cache.root.exists()
    assert [path for path in home.rglob("*") if path.suffix in MACHINE_CODE] == []


@pytest.mark.cpu_only  # about $QD_CC
def test_killed_during_a_compile(python, run, cache, tmp_path):
    gcc = which("gcc")
    if gcc is None:
        pytest.skip("needs gcc (system package gcc)")
    slow = tmp_path / "slow-cc"
    marker = tmp_path / "second-compile"
    # The first compile is quick; the second hangs until it is killed.
    slow.write_text(
        f'#!/bin/sh\ncase "$*" in *-###*) exec {gcc} "$@";; esac\n'
        f'if [ -e {marker}.1 ]; then touch {marker}.2; exec sleep 600; fi\ntouch {marker}.1\nexec {gcc} "$@"\n'
    )
    slow.chmod(0o755)
    child = python(PROGRAM, cache.root, QD_CC=str(slow))
    deadline = time.monotonic() + 120
    while not os.path.exists(f"{marker}.2"):
        assert time.monotonic() < deadline and child.poll() is None, child.communicate()
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    child.wait()
    slow.write_text(slow.read_text().replace(f"[ -e {marker}.1 ]", "false"))
    assert len(cache.binaries()) == 1  # what was compiled before is on disk already
    assert run() == ([3, 0], "")  # another compiler: the default one
    assert run() == ([0, 3], "")


def test_two_processes_at_once(python, run, cache):
    children = [python(PROGRAM, cache.root) for _ in range(3)]
    results = [finish(child) for child in children]
    assert all(err == "" for _, err in results)
    assert all(sum(counts(out)) == 3 for out, _ in results)
    assert run() == ([0, 3], "")


@pytest.mark.parametrize("damage", [b"", b"garbage", None, "swap"], ids=["empty", "garbage", "truncated", "swapped"])
def test_damaged_files_are_replaced(run, cache, damage):
    assert run()[0] == [3, 0]
    files = cache.files()
    contents = [path.read_bytes() for path in files]
    for at, path in enumerate(files):
        if damage == "swap":
            same = [k for k, other in enumerate(files) if other.suffix == path.suffix and k != at]
            path.write_bytes(contents[same[0]] if same else b"")
        else:
            path.write_bytes(contents[at][: len(contents[at]) // 2] if damage is None else damage)
    found, err = run()
    assert found == [3, 0]
    assert err.count("UserWarning") == 1 and "Failed to read from cache" in err  # the entry of the fastcache kernel
    assert run() == ([0, 3], "")


def test_a_file_in_the_way(run, cache):
    cache.root.write_text("not a folder")
    for _ in range(2):
        found, err = run()
        assert found == [3, 0]
        assert len(warnings_in(err)) == 1 and "it is a file, not a folder" in err
    assert cache.root.read_text() == "not a folder"
    cache.root.unlink()
    assert run() == ([3, 0], "")
    assert run() == ([0, 3], "")


needs_root = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.geteuid() != 0, reason="needs to be run as root on Linux"
)


@needs_root
def test_a_folder_of_another_user(run, cache):
    assert run()[0] == [3, 0]
    os.chown(cache.root, 65534, 65534)
    for _ in range(2):
        found, err = run()
        assert found == [3, 0]
        assert len(warnings_in(err)) == 1 and "belongs to another user" in err
    os.chown(cache.root, 0, 0)
    assert run() == ([0, 3], "")


@needs_root
def test_files_of_another_user_are_not_loaded(run, cache):
    assert run()[0] == [3, 0]
    for path in cache.files():
        os.chown(path, 65534, 65534)
    assert run()[0] == [3, 0]
    assert run() == ([0, 3], "")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MiB, which is full soon."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"needs the right to mount a file system ({mounted.stderr.decode().strip()})")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@needs_root
def test_a_full_disk(run, small_disk):
    filler = small_disk / "filler"
    handle = os.open(filler, os.O_CREAT | os.O_WRONLY)
    with contextlib.suppress(OSError):  # no space left on device
        while os.write(handle, b"x" * 4096):
            pass
    os.close(handle)
    folder = small_disk / "qdcache"
    for _ in range(2):
        found, err = run(folder)
        assert found == [3, 0]
        assert len(warnings_in(err)) == 1 and "No space left on device" in err
    filler.unlink()
    assert run(folder)[0] == [3, 0]
    assert run(folder) == ([0, 3], "")
