"""Folders that cannot be used: right results all the same, and one warning."""

from __future__ import annotations

import ctypes
import os
import shutil

import pytest
from toolchain_kit import SOURCE

from quadrants import _logging
from quadrants.toolchain import build, scratch
from quadrants.toolchain.cache import DiskCache, make_key
from quadrants.toolchain.errors import ToolchainError

# Run in another process, as another user where that is the point. All is imported before the user changes.
AS_USER = """
import ctypes, hashlib, os, re, shlex, shutil, signal, subprocess, sys
from quadrants.toolchain import build, cc, progress, process
from quadrants.toolchain.cache import DiskCache
root, user, source = sys.argv[1], int(sys.argv[2]), sys.argv[3]
os.setgid(user); os.setuid(user)
cache = DiskCache(root)
for i in range(2):
    path = build.build_c(source + "//" + str(i), "k", cache=cache)
    assert ctypes.CDLL(path).qd_answer(20) == 41
cache.clean()
print(path.startswith(root), cache.info().entries)
"""


@pytest.fixture
def warnings(monkeypatch):
    lines = []
    monkeypatch.setattr(_logging, "warn", lines.append)
    return lines


def works_uncached(root, warnings, reason):
    cache = DiskCache(root)
    for i in range(3):
        path = build.build_c(SOURCE + f"// {i}", "k", cache=cache)
        assert ctypes.CDLL(path).qd_answer(20) == 41
        assert not path.startswith(str(root))
    assert cache.clean() == 0
    assert len(warnings) == 1
    assert str(root) in warnings[0] and reason in warnings[0] and "offline_cache_file_path" in warnings[0]


def test_a_file_in_the_way(tmp_path, warnings):
    (tmp_path / "cache").write_text("I was here first")
    works_uncached(str(tmp_path / "cache"), warnings, "it is a file")


def test_a_file_in_place_of_a_parent(tmp_path, warnings):
    (tmp_path / "file").write_text("I was here first")
    works_uncached(str(tmp_path / "file" / "cache"), warnings, "Not a directory")


def test_a_folder_that_cannot_be_made(warnings):
    works_uncached("/proc/quadrants-cache", warnings, "No such file")


def test_a_full_disk(tmpfs, warnings, gcc):
    folder = tmpfs("size=64k")
    (folder / "ballast").touch()
    with pytest.raises(OSError, match="No space left"):
        (folder / "ballast").write_bytes(b"x" * 100_000)
    works_uncached(str(folder / "cache"), warnings, "No space left")
    os.unlink(folder / "ballast")
    cache = DiskCache(str(folder / "cache"))
    build.forget()
    assert build.build_c(SOURCE, "k", cache=cache).startswith(str(folder))
    assert len(warnings) == 1 and cache.info().entries >= 1


def test_a_disk_that_fills_up_in_the_middle_of_a_file(tmpfs, warnings):
    folder = tmpfs("size=64k")
    cache = DiskCache(str(folder))
    key = make_key("a")
    assert cache.put(key, b"x" * 200_000) is None
    assert len(warnings) == 1 and "No space left" in warnings[0]
    assert cache.get(key) is None
    names = [name for _, _, names in os.walk(folder) for name in names]
    assert names == []


def test_a_full_disk_still_serves_what_it_has(tmpfs, warnings):
    folder = tmpfs("size=64k")
    cache = DiskCache(str(folder))
    cache.put(make_key("a"), b"kept")
    assert cache.put(make_key("b"), b"x" * 200_000) is None
    assert cache.get(make_key("a")) == b"kept"


def test_a_read_only_file_system_still_serves_what_it_has(tmpfs, warnings):
    import subprocess

    folder = tmpfs("size=1m")
    first = build.build_c(SOURCE, "k", cache=DiskCache(str(folder)))
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    build.forget()
    cache = DiskCache(str(folder))
    assert build.build_c(SOURCE, "k", cache=cache) == first and warnings == []
    path = build.build_c(SOURCE + "// new", "k", cache=cache)
    assert ctypes.CDLL(path).qd_answer(20) == 41 and len(warnings) == 1 and "Read-only" in warnings[0]


def test_a_cache_that_forbids_execution_is_copied_from(tmpfs, warnings):
    folder = tmpfs("size=1m,noexec")
    before = build.statistics.compiled
    for _ in range(2):  # compiled, then from disk
        build.forget()
        path = build.build_c(SOURCE, "k", cache=DiskCache(str(folder)))
        assert not path.startswith(str(folder)) and ctypes.CDLL(path).qd_answer(20) == 41
    assert warnings == [] and build.statistics.compiled == before + 1


def test_private_folders_that_forbid_execution_are_passed_over(tmpfs, monkeypatch, tmp_path):
    folder = tmpfs("size=1m,noexec")
    monkeypatch.setattr(scratch, "candidates", lambda: iter([str(folder), str(tmp_path)]))
    assert build.build_c(SOURCE, "k").startswith(str(tmp_path))


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs memfd_create (Linux 3.17)")
def test_without_any_folder_the_library_lives_in_memory(monkeypatch):
    binary = open(build.build_c(SOURCE, "k"), "rb").read()
    monkeypatch.setattr(scratch, "candidates", lambda: iter([]))
    assert ctypes.CDLL(scratch.keep(binary, "k", ".so", executable=True)).qd_answer(20) == 41
    with pytest.raises(OSError, match="QD_TMP_DIR"):
        scratch.keep(b"text", "k", ".txt", executable=False)


def test_a_binary_that_can_be_put_nowhere_is_a_clear_error(monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(scratch, "keep", full)
    with pytest.raises(ToolchainError, match="no folder to load it from.*QD_TMP_DIR"):
        build.build_c(SOURCE + "// nowhere", "k")


as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root, to act as two users")


@as_root
@pytest.mark.parametrize("mode", [0o700, 0o755, 0o777])
def test_a_folder_of_another_user(tmp_path, python, mode):
    root = shared(tmp_path, "cache", 12345, mode)
    child = python(AS_USER, root, "23456", SOURCE)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert out.split() == ["False", "0"]
    assert err.count("\n") == 1 and "cannot be used" in err and "belongs to another user" in err


@as_root
def test_a_folder_of_the_system_that_may_not_be_written(tmp_path, python):
    root = shared(tmp_path, "cache", 0, 0o755)
    child = python(AS_USER, root, "23456", SOURCE)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert out.split() == ["False", "0"]
    assert err.count("\n") == 1 and "Permission denied" in err


@as_root
def test_a_file_planted_by_another_user_is_not_loaded(tmp_path, warnings):
    cache = DiskCache(str(tmp_path))
    path = cache.put(make_key("a"), b"trojan")
    os.chown(path, 12345, 12345)
    assert cache.get(make_key("a")) is None
    assert cache.put(make_key("a"), b"honest") == path and cache.get(make_key("a")) == b"honest"


@pytest.fixture(autouse=True)
def private_folders():
    yield
    for pid, parent in list(scratch._folders):
        if pid == os.getpid() and not os.path.isdir(parent):
            del scratch._folders[pid, parent]


def shared(tmp_path, name, owner, mode):
    """A folder that other users can reach."""
    import tempfile

    base = tempfile.mkdtemp(prefix="qd-test-", dir="/tmp")
    os.chmod(base, 0o755)
    _made.append(base)
    root = os.path.join(base, name)
    os.mkdir(root)
    os.chown(root, owner, owner)
    os.chmod(root, mode)
    return root


_made: list[str] = []


@pytest.fixture(autouse=True)
def remove_shared():
    yield
    while _made:
        shutil.rmtree(_made.pop())
