"""The disk cache: keys, seals, damage."""

from __future__ import annotations

import ctypes
import os
import time

import pytest

from quadrants import _logging
from quadrants.toolchain import artifact, cc
from quadrants.toolchain.cache import DiskCache, make_key
from quadrants.toolchain.cc import CcOptions

KEY = make_key("a", "b")


@pytest.fixture
def cache(tmp_path):
    return DiskCache(str(tmp_path / "cache"))


@pytest.fixture
def said(monkeypatch):
    lines = []
    for level in ("debug", "warn"):
        monkeypatch.setattr(_logging, level, lambda text, level=level: lines.append((level, text)))
    return lines


def test_what_is_put_is_got(cache):
    assert cache.get(KEY) is None
    path = cache.put(KEY, b"payload")
    assert path == cache.path(KEY)
    assert cache.get(KEY) == b"payload"
    assert cache.get(KEY, ".cubin") is None
    assert cache.get(make_key("a", "c")) is None


def test_suffixes_are_separate_entries(cache):
    cache.put(KEY, b"one", ".so")
    cache.put(KEY, b"two", ".cubin")
    assert (cache.get(KEY), cache.get(KEY, ".cubin")) == (b"one", b"two")
    assert cache.info().entries == 2


@pytest.mark.parametrize("size", [0, 1, 40, 1 << 20])
def test_any_size(cache, size):
    cache.put(KEY, os.urandom(1) * size)
    assert len(cache.get(KEY)) == size


def test_put_replaces(cache):
    cache.put(KEY, b"one")
    cache.put(KEY, b"two")
    assert cache.get(KEY) == b"two" and cache.info().entries == 1


def test_keys_tell_the_limits_of_their_parts():
    keys = [make_key("ab", "c"), make_key("a", "bc"), make_key("abc"), make_key("abc", ""), make_key("", "abc")]
    assert len(set(keys)) == len(keys)
    assert make_key("ab", "c") == keys[0] and len(keys[0]) == 64
    assert make_key("\ud800") != make_key("?")


@pytest.mark.parametrize("key", ["", "ab", "z" * 64, "../" * 21 + "a"])
def test_a_malformed_key_is_refused(cache, key):
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        cache.path(key)


def test_a_cache_without_a_folder():
    cache = DiskCache(None)
    assert cache.put(KEY, b"x") is None and cache.get(KEY) is None
    assert cache.info().entries == 0 and cache.clear() == 0 and cache.clean() == 0
    with pytest.raises(ValueError, match="keeps nothing on disk"):
        cache.path(KEY)


def test_every_truncation_is_a_miss_and_is_replaced(cache, said):
    content = artifact.seal(KEY, b"0123456789")
    path = cache.put(KEY, b"0123456789")
    for length in range(len(content)):
        with open(path, "wb") as file:
            file.write(content[:length])
        assert cache.get(KEY) is None, length
    assert {level for level, _ in said} == {"debug"} and "damaged" in said[0][1]
    cache.put(KEY, b"0123456789")
    assert cache.get(KEY) == b"0123456789"


def test_every_flipped_bit_is_a_miss(cache, said):
    content = bytearray(artifact.seal(KEY, b"0123456789"))
    path = cache.put(KEY, b"0123456789")
    for position in range(len(content) * 8):
        damaged = bytearray(content)
        damaged[position // 8] ^= 1 << position % 8
        with open(path, "wb") as file:
            file.write(damaged)
        assert cache.get(KEY) is None, position


def test_bytes_behind_the_seal_are_a_miss(cache, said):
    path = cache.put(KEY, b"payload")
    with open(path, "ab") as file:
        file.write(b"\0")
    assert cache.get(KEY) is None


def test_a_whole_file_under_another_name_is_a_miss(cache, said):
    other = make_key("other")
    os.makedirs(os.path.dirname(cache.path(other)), exist_ok=True)
    os.rename(cache.put(KEY, b"payload"), cache.path(other))
    assert cache.get(other) is None and cache.get(KEY) is None


def test_a_folder_in_place_of_a_file_is_a_miss(cache, said):
    os.makedirs(cache.path(KEY))
    assert cache.get(KEY) is None
    assert [level for level, _ in said] == ["debug"]


def test_a_sealed_library_loads(cache):
    path = cache.put(KEY, cc.compile("int qd_answer(void) { return 42; }", name="k"))
    assert ctypes.CDLL(path).qd_answer() == 42


def test_a_loaded_library_survives_replacement_and_removal(cache):
    path = cache.put(KEY, cc.compile("int qd_a[9999] = {1}; int qd_f(int i) { return qd_a[i]; }", name="k"))
    library = ctypes.CDLL(path)
    cache.put(KEY, b"something else")
    cache.clear()
    assert [library.qd_f(i) for i in (0, 5000, 9998)] == [1, 0, 0]


def test_a_use_moves_the_access_time_and_keeps_the_creation_time(cache):
    path = cache.put(KEY, b"x")
    os.utime(path, (1000, 2000))
    cache.get(KEY)
    state = os.stat(path)
    assert state.st_mtime == 2000 and abs(state.st_atime - time.time()) < 60


def test_info_counts_versions(tmp_path):
    root = str(tmp_path / "cache")
    old = DiskCache(root, version="1.0.0")
    new = DiskCache(root)
    old.put(KEY, b"x" * 10)
    new.put(KEY, b"x" * 20)
    new.put(make_key("c"), b"x" * 30)
    info = new.info()
    assert info.root == root and info.entries == 3 and info.bytes == 60 + 3 * artifact.SIZE
    assert info.versions == {"1.0.0": 1, new.version: 2}
    assert old.get(KEY) == b"x" * 10 and new.get(KEY) == b"x" * 20


def test_clear_leaves_what_is_not_of_the_cache(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "1.3.3").mkdir()
    (tmp_path / "1.3.3" / "readme").write_text("mine")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "ab").mkdir()
    (tmp_path / "photos" / "ab" / "cd.so").write_text("mine")
    cache = DiskCache(str(tmp_path))
    cache.put(KEY, b"x")
    assert cache.clear() == 1
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["1.3.3/readme", "notes.txt", "photos/ab/cd.so"]


def test_failed_sources_are_kept_within_bounds(cache):
    paths = [cache.keep_failed(f"text {i}", "a kernel/with odd name", ".c") for i in range(25)]
    assert os.path.basename(paths[0]).startswith("a_kernel_with_odd_name-")
    folder = os.path.dirname(paths[0])
    assert len(os.listdir(folder)) == 20
    with open(paths[-1]) as file:
        assert file.read() == "text 24"
    cache.clear()
    assert not os.path.exists(folder)


def test_the_key_of_a_build_depends_on_all_that_matters():
    found = cc.find_compiler()
    base = cc.identity(found, CcOptions())
    changed = [
        cc.identity(found, CcOptions(fast_math=False)),
        cc.identity(found, CcOptions(opt_level=2)),
        cc.identity(found, CcOptions(debug=True)),
        cc.identity(found, CcOptions(extra=("-DX",))),
        cc.identity(found._replace(version="gcc version 99"), CcOptions()),
        cc.identity(found._replace(cpu="-march=other"), CcOptions()),
        cc.identity(found._replace(stamp="touched"), CcOptions()),
    ]
    assert len({base, *changed}) == 8
    assert cc.identity(found, CcOptions()) == base
