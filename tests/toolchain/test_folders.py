"""Folders that are trusted: modes, owners, links, pipes, names."""

from __future__ import annotations

import errno
import os
import socket
import stat
import threading

import pytest

from quadrants import _logging, folders
from quadrants.folders import Refused, open_folder
from quadrants.toolchain import names
from quadrants.toolchain.cache import DiskCache, make_key

KEY = make_key("a")
pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners and modes (POSIX)")


def modes(root) -> dict[str, int]:
    """Mode of everything under `root`, and of itself, by relative path."""
    found = {".": stat.S_IMODE(os.lstat(root).st_mode)}
    for folder, inner, files in os.walk(root):
        for name in (*inner, *files):
            path = os.path.join(folder, name)
            found[os.path.relpath(path, root)] = stat.S_IMODE(os.lstat(path).st_mode)
    return found


@pytest.fixture(params=[0o000, 0o002, 0o022, 0o077, 0o377, 0o777], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.fixture
def warnings(monkeypatch):
    lines = []
    monkeypatch.setattr(_logging, "warn", lines.append)
    return lines


def test_modes_at_every_level(umask, tmp_path):
    cache = DiskCache(str(tmp_path / "a" / "b" / "cache"))
    cache.put(KEY, b"payload")
    failed = cache.keep_failed("text", "kernel", ".c")
    assert cache.get(KEY) == b"payload" and failed
    for path, mode in modes(tmp_path / "a").items():
        assert mode == (0o600 if os.path.isfile(tmp_path / "a" / path) else 0o700), path
    assert len(modes(tmp_path / "a")) == 8


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777, 0o720, 0o702], ids=oct)
@pytest.mark.parametrize("level", [0, 1, 2], ids=["root", "version", "shelf"])
def test_folders_that_others_can_write_are_refused(tmp_path, warnings, mode, level):
    cache = DiskCache(str(tmp_path / "cache"))
    path = cache.put(KEY, b"payload")
    folder = [str(tmp_path / "cache"), os.path.dirname(os.path.dirname(path)), os.path.dirname(path)][level]
    os.chmod(folder, mode)
    again = DiskCache(str(tmp_path / "cache"))
    before = modes(tmp_path)
    for _ in range(3):
        assert again.get(KEY) is None and again.put(KEY, b"other") is None and again.clean() == 0
    assert len(warnings) == 1 and "chmod go-w" in warnings[0] and f"mode {mode:o}" in warnings[0]
    assert (folder in warnings[0]) and not again.usable
    assert modes(tmp_path) == before
    os.chmod(folder, 0o755)  # others may look
    assert DiskCache(str(tmp_path / "cache")).get(KEY) == b"payload"


@pytest.mark.parametrize("mode", [0o660, 0o606, 0o666], ids=oct)
def test_files_that_others_can_write_are_misses(tmp_path, warnings, mode):
    cache = DiskCache(str(tmp_path))
    path = cache.put(KEY, b"payload")
    os.chmod(path, mode)
    assert cache.get(KEY) is None and not warnings
    assert cache.put(KEY, b"payload") == path and cache.get(KEY) == b"payload"


def make(kind: str, path: str, tmp_path) -> None:
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as s:
            here = os.getcwd()
            os.chdir(os.path.dirname(path))  # names of sockets are short
            try:
                s.bind(os.path.basename(path))
            finally:
                os.chdir(here)
    elif kind == "device":
        try:
            os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))
        except PermissionError as error:
            pytest.skip(f"needs root and the right to make devices: {error}")
    elif kind == "link":
        (tmp_path / "target").write_bytes(b"mine")
        os.symlink(tmp_path / "target", path)
    elif kind == "hanging link":
        os.symlink(tmp_path / "nowhere", path)


@pytest.mark.parametrize("kind", ["fifo", "socket", "device", "link", "hanging link"])
def test_what_is_no_file_is_a_miss_and_never_waits(tmp_path, warnings, kind):
    cache = DiskCache(str(tmp_path / "cache"))
    path = cache.put(KEY, b"payload")
    os.unlink(path)
    make(kind, path, tmp_path)
    done = []
    thread = threading.Thread(target=lambda: done.append(cache.get(KEY)), daemon=True)
    thread.start()
    thread.join(20)
    assert done == [None]
    assert cache.put(KEY, b"payload") == path and cache.get(KEY) == b"payload" and not warnings
    assert not os.path.islink(path)
    if kind == "link":
        assert (tmp_path / "target").read_bytes() == b"mine"


def test_a_folder_under_the_name_of_an_entry_costs_that_entry_only(tmp_path, warnings):
    cache = DiskCache(str(tmp_path))
    os.makedirs(cache.path(KEY))
    os.chmod(tmp_path / cache.version, 0o700)
    assert cache.get(KEY) is None and cache.put(KEY, b"x") is None
    assert cache.put(make_key("b"), b"x") and not warnings
    assert cache.clear() == 1 and os.path.isdir(cache.path(KEY))


@pytest.mark.parametrize("level", ["version", "shelf", "failed"])
def test_links_in_the_place_of_folders_are_not_followed(tmp_path, warnings, level):
    cache = DiskCache(str(tmp_path / "cache"))
    path = cache.path(KEY)
    elsewhere = tmp_path / "elsewhere"
    place = {"shelf": os.path.dirname(path), "version": os.path.dirname(os.path.dirname(path))}
    place["failed"] = str(tmp_path / "cache" / "failed")
    inner = elsewhere / os.path.relpath(path, place[level]) if level != "failed" else elsewhere / "k-01234567.c"
    inner.parent.mkdir(parents=True, mode=0o700)
    inner.write_bytes(b"mine")
    os.makedirs(os.path.dirname(place[level]), mode=0o700)
    os.chmod(tmp_path / "cache", 0o700)
    os.symlink(elsewhere, place[level])
    if level == "failed":
        assert cache.keep_failed("text", "k", ".c") is None
    else:
        assert cache.get(KEY) is None and cache.put(KEY, b"x") is None
        assert len(warnings) == 1 and "no real folder" in warnings[0]
    assert DiskCache(str(tmp_path / "cache"), 0).clean() == 0 and cache.clear() == 0
    assert inner.read_bytes() == b"mine" and os.path.islink(place[level])
    assert [p for p in elsewhere.rglob("*") if p.is_file()] == [inner]


def test_a_root_may_be_a_link_of_the_users(tmp_path):
    (tmp_path / "disk").mkdir(mode=0o700)
    os.symlink(tmp_path / "disk", tmp_path / "cache")
    cache = DiskCache(str(tmp_path / "cache"))
    assert cache.put(KEY, b"x") and cache.get(KEY) == b"x" and cache.clear() == 1
    assert os.listdir(tmp_path / "disk") == []


def test_a_process_with_too_many_files_reads_again_later(tmp_path, warnings):
    resource = pytest.importorskip("resource", reason="needs limits of resources (POSIX)")
    cache = DiskCache(str(tmp_path))
    cache.put(KEY, b"payload")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(3)]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (held[0], limits[1]))
        for handle in held:
            os.close(handle)
        assert cache.get(KEY) is None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert cache.get(KEY) == b"payload" and not warnings


# ---- names


def test_the_users_files_and_folders_stay(tmp_path):
    """Whatever the cache does in a folder that it shares with the user's own things."""
    root = tmp_path / "shared"
    cache = DiskCache(str(root), 0)
    shelf = os.path.dirname(cache.put(KEY, b"x"))
    cache.keep_failed("text", "k", ".c")
    failed = root / "failed"
    mine = [root / "photos" / "ab" / "cd.so", root / "notes.txt", failed / "notes.txt", failed / "thesis.c",
            failed / "a-0123456.c", failed / "a-01234567.txt", failed / "a-0123456X.c",
            root / "ab" / ("0" * 62 + ".so"), root / "1.0" / "ab" / ("0" * 62 + ".so"), root / cache.version / "readme",
            root / cache.version / "abc" / "x.so"]  # fmt: skip
    mine += [type(root)(shelf) / name for name in ("0" * 62, "0" * 61 + ".so", "0" * 63 + ".so", "x" * 62 + ".so",
             "0" * 62 + ".so.bak", "0" * 62 + ".SO", ".tmp-notes", ".tmp-1-0123")]  # fmt: skip
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text("mine")
        os.utime(path, (1, 1))
    empty = [root / "empty", root / "photos" / "cd", root / "1.0" / "cd", root / cache.version / "drafts"]
    for path in empty:
        path.mkdir(parents=True)
    for i in range(30):
        assert cache.keep_failed(f"text {i}", "k", ".c")
    cache.clean()
    cache.clear()
    assert [path for path in mine if not path.exists()] == []
    assert [path for path in empty if not path.is_dir()] == []
    assert sorted(p for p in root.rglob("*") if p.is_file()) == sorted(mine)


@pytest.mark.parametrize("matches, good, bad", [
    (names.is_scratch, ["quadrants-1-0123456789ab", "quadrants-12345-abcdefabcdef"],
     ["quadrants-1-0123456789a", "quadrants-1-0123456789abc", "quadrants-x-0123456789ab", "quadrants--0123456789ab",
      "quadrants-1-0123456789AB", "quadrants-results", "quadrants-", "my-1-0123456789ab", "quadrants-failed-0"]),
    (names.is_kept_source, ["k-01234567.c", "a-b-01234567.cu", "x-01234567.cpp", "x-01234567.hip"],
     ["-01234567.c", "k-0123456.c", "k-01234567.txt", "k01234567.c", "k-01234567", "k-0123456g.c", "notes.c"]),
    (names.is_entry, ["0" * 62 + ".so", "f" * 62 + ".cubin"],
     ["0" * 62 + ".", "0" * 62 + "so", "0" * 62 + ".abcdefghi", "0" * 62 + ".s1", "0" * 62 + ".s.o", "0" * 64 + ".so"]),
    (names.is_version, ["1.3.3", "0.0.1", "2.0.0rc1", "1.3.3+native"], ["1.3", "photos", "v1.3.3", ".3.3", "1..3", ""]),
    (names.is_shelf, ["ab", "00"], ["a", "abc", "AB", "zz", ""]),
    (folders.is_temporary, [".tmp-1-0123456789abcdef"], [".tmp-", ".tmp-1-", ".tmp-x-0123456789abcdef", "tmp-1-0"]),
], ids=lambda x: getattr(x, "__name__", ""))  # fmt: skip
def test_names_of_ours(matches, good, bad):
    assert [name for name in good if not matches(name)] == []
    assert [name for name in bad if matches(name)] == []


def test_a_name_leads_to_no_other_folder(tmp_path):
    with open_folder(str(tmp_path), folders.own) as folder:
        for name in ("../x", "a/b", "..", ".", "", "/tmp/x"):
            with pytest.raises(OSError, match="no name of a file"):
                folder.publish(name, b"")


# ---- the same, below the cache


def test_files_are_new(tmp_path):
    with open_folder(str(tmp_path), folders.own) as folder:
        os.symlink(tmp_path / "target", tmp_path / "link")
        for name in ("link", "there"):
            (tmp_path / "there").write_text("mine")
            with pytest.raises(FileExistsError):
                folder.write(name, b"x")
        assert not (tmp_path / "target").exists() and (tmp_path / "there").read_text() == "mine"
        folder.publish("link", b"x")
        assert (tmp_path / "link").read_bytes() == b"x" and not (tmp_path / "target").exists()


def test_a_folder_that_was_exchanged_is_not_used(tmp_path):
    """What was opened stays what it was, wherever its name leads now."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with open_folder(str(tmp_path / "a"), folders.own) as folder:
        os.rename(tmp_path / "a", tmp_path / "c")
        os.rename(tmp_path / "b", tmp_path / "a")
        folder.publish("x", b"x")
    assert os.listdir(tmp_path / "c") == ["x"] and os.listdir(tmp_path / "a") == []


def test_everything_goes_but_what_links_lead_to(tmp_path):
    for path in ("mine/keep", "ours/a/b/c", "ours/d"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    os.symlink(tmp_path / "mine", tmp_path / "ours" / "a" / "link")
    os.mkfifo(tmp_path / "ours" / "pipe")
    with open_folder(str(tmp_path / "ours"), folders.own) as folder:
        folder.remove_all()
    assert os.listdir(tmp_path / "ours") == [] and (tmp_path / "mine" / "keep").exists()


def test_descriptors_are_closed(tmp_path):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    cache = DiskCache(str(tmp_path / "cache"))
    before = len(os.listdir("/proc/self/fd"))
    for i in range(5):
        cache.put(make_key(str(i)), b"x")
        cache.get(make_key(str(i)))
        cache.get(make_key("none"))
        cache.keep_failed("x", "k", ".c")
    os.mkfifo(cache.path(make_key("0"), ".pipe"))
    cache.get(make_key("0"), ".pipe")
    cache.info(), cache.clean(), cache.clear()
    os.chmod(tmp_path / "cache", 0o777)
    DiskCache(str(tmp_path / "cache"), quiet=True).get(KEY)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("mode, fixed", [(0o700, True), (0o755, True), (0o1777, True), (0o777, False), (0o770, False)])
def test_a_path_that_others_cannot_turn(tmp_path, mode, fixed):
    (tmp_path / "a" / "b").mkdir(parents=True)
    os.chmod(tmp_path / "a", mode)
    assert folders.is_fixed(str(tmp_path / "a" / "b")) is fixed
    os.symlink(tmp_path / "a" / "b", tmp_path / "link")
    assert folders.is_fixed(str(tmp_path / "link")) is fixed


def test_a_refusal_says_what_and_why(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="it is a file, not a folder") as caught:
        open_folder(str(tmp_path / "file"), folders.own)
    assert caught.value.filename == str(tmp_path / "file") and caught.value.errno == errno.ENOTDIR
