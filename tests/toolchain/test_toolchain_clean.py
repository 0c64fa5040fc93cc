"""Cleaning policies."""

from __future__ import annotations

import os
import time

import pytest

from quadrants.toolchain import artifact
from quadrants.toolchain import cache as cache_module
from quadrants.toolchain.cache import DiskCache, make_key

PAYLOAD = 1000 - artifact.SIZE  # files of 1000 bytes


def fill(root, count, **options):
    """`count` entries of 1000 bytes, made one second apart, used in the reverse order; returns keys, oldest first."""
    cache = DiskCache(root, **options)
    keys = [make_key(str(i)) for i in range(count)]
    for i, key in enumerate(keys):
        path = cache.put(key, b"x" * PAYLOAD)
        os.utime(path, (2000 - i, 1000 + i))
    another_process()
    return keys


def another_process():
    """From here on, as if another process ran: nothing on disk has been used by it."""
    cache_module._used.clear()


def left(root, keys, **options):
    cache = DiskCache(root, **options)
    return [i for i, key in enumerate(keys) if os.path.exists(cache.path(key))]


@pytest.mark.parametrize("policy, expected", [("lru", [0, 1, 2, 3, 4, 5]), ("fifo", [2, 3, 4, 5, 6, 7])])
def test_a_quarter_goes_at_the_limit(tmp_path, policy, expected):
    root = str(tmp_path)
    keys = fill(root, 8)
    assert DiskCache(root, 8000, policy, 0.25).clean() == 2
    assert left(root, keys) == expected


@pytest.mark.parametrize("policy", ["lru", "fifo"])
def test_below_the_limit_nothing_goes(tmp_path, policy):
    fill(str(tmp_path), 8)
    assert DiskCache(str(tmp_path), 8001, policy, 0.25).clean() == 0


@pytest.mark.parametrize("policy, expected", [("lru", [0, 1]), ("fifo", [6, 7])])
def test_more_goes_until_it_is_under_the_limit(tmp_path, policy, expected):
    root = str(tmp_path)
    keys = fill(root, 8)
    assert DiskCache(root, 2500, policy, 0.25).clean() == 6
    assert left(root, keys) == expected


def test_the_size_stays_bounded_over_many_runs(tmp_path):
    root = str(tmp_path)
    for run in range(6):
        cache = DiskCache(root, 5000, "lru", 0.25)
        for i in range(6):
            cache.put(make_key(f"{run} {i}"), b"x" * PAYLOAD)
        cache.clean()
        another_process()
        # The last run's own files may stay above the limit, but no other's stay with them.
        assert cache.info().bytes <= 6000


def test_what_this_process_used_stays(tmp_path):
    root = str(tmp_path)
    keys = fill(root, 8)
    cache = DiskCache(root, 1, "lru", 1.0)
    cache.get(keys[7])
    cache.get(keys[0])
    assert DiskCache(root, 1, "lru", 1.0).clean() == 6  # also through another object, as after a reset
    assert left(root, keys) == [0, 7]


def test_a_use_in_another_process_counts(tmp_path):
    root = str(tmp_path)
    keys = fill(root, 4)
    DiskCache(root).get(keys[3])
    another_process()
    assert DiskCache(root, 4000, "lru", 0.75).clean() == 3
    assert left(root, keys) == [3]


@pytest.mark.parametrize("policy", ["lru", "fifo"])
def test_a_limit_of_zero_keeps_nothing(tmp_path, policy):
    cache = DiskCache(str(tmp_path), 0, policy)
    cache.put(make_key("a"), b"x")
    assert cache.clean() == 1 and cache.info().entries == 0


def test_never(tmp_path):
    fill(str(tmp_path), 8)
    assert DiskCache(str(tmp_path), 0, "never").clean() == 0


def test_version_drops_other_versions_only(tmp_path):
    root = str(tmp_path)
    keys = fill(root, 3)
    old = fill(root, 2, version="1.0.0")
    assert DiskCache(root, 1, "version").clean() == 2
    assert left(root, keys) == [0, 1, 2] and left(root, old, version="1.0.0") == []


def test_old_versions_fall_out_by_size(tmp_path):
    root = str(tmp_path)
    old = fill(root, 4, version="1.0.0")
    cache = DiskCache(root, 4000, "lru")
    for i in range(2):
        cache.put(make_key(f"new {i}"), b"x" * PAYLOAD)
    cache.clean()
    assert len(left(root, old, version="1.0.0")) == 1 and cache.info().versions[cache.version] == 2


@pytest.mark.parametrize("policy", ["lru", "fifo"])
def test_files_of_a_clock_that_was_wrong_go_first(tmp_path, policy):
    """Else a time that is yet to come would keep them for ever."""
    root = str(tmp_path)
    keys = fill(root, 4)
    path = DiskCache(root).path(keys[2])
    os.utime(path, (time.time() + 86400 * 365,) * 2)
    assert DiskCache(root, 4000, policy, 0.25).clean() == 1
    assert left(root, keys) == [0, 1, 3]


def test_an_unknown_policy_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="never, version, lru, fifo, not 'mru'"):
        DiskCache(str(tmp_path), policy="mru")


def test_leftovers_of_killed_writers_go_after_an_hour(tmp_path):
    cache = DiskCache(str(tmp_path))
    folder = os.path.dirname(cache.put(make_key("a"), b"x"))
    new, old, of_tomorrow = (f".tmp-{pid}-0123456789abcdef" for pid in range(3))
    for name, age in ((old, 4000), (new, 10), (of_tomorrow, -86400)):
        path = os.path.join(folder, name)
        with open(path, "wb"):
            pass
        os.utime(path, (time.time() - age,) * 2)
    cache.clean()
    assert [name for name in os.listdir(folder) if name.startswith(".tmp")] == [new]
    assert cache.info().entries == 1
