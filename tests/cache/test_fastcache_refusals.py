"""Kernels that are declared fastcache but cannot be kept: they run all the same, and a log line says why."""

from __future__ import annotations

import pytest
from cache_kit import LOADED, STORED, sources

import quadrants as qd
from quadrants.fastcache import store


@pytest.fixture(autouse=True)
def forget_what_was_told():
    store._told.clear()


@pytest.fixture
def log(capfd):
    """`log()` is the warnings logged since it was last asked."""

    def take() -> list[str]:
        out, err = capfd.readouterr()
        return [line for line in (out + err).splitlines() if "[FASTCACHE]" in line]

    return take


def test_fields(cache, program, log):
    text = """
@qd.kernel(fastcache=True)
def through_template(f: qd.template()):
    for i in f:
        f[i] += 1

@qd.kernel(fastcache=True)
def through_tensor(f: qd.Tensor):
    for i in f:
        f[i] += 1
"""
    cache.start()
    module = program(text)
    f = qd.field(qd.i32, (3,))
    module.through_tensor(f)
    assert log() == [] and sources(module.through_tensor) == []
    module.through_template(f)
    (line,) = log()
    assert "[FASTCACHE][INVALID_FUNC] The pure function through_template could not be fast cached" in line
    assert sources(module.through_template) == []
    assert f.to_numpy().tolist() == [2, 2, 2]
    a = qd.ndarray(qd.i32, (3,))
    module.through_tensor(a)
    assert sources(module.through_tensor) == STORED
    assert cache.files(".kernel") != []


def test_a_field_as_a_member(cache, program, log):
    text = """
@qd.data_oriented
class S:
    def __init__(self):
        self.f = qd.field(qd.i32, (3,))

    @qd.kernel(fastcache=True)
    def run(self):
        for i in self.f:
            self.f[i] = i
"""
    for _ in range(2):
        cache.start()
        module = program(text)
        s = module.S()
        s.run()
        assert s.f.to_numpy().tolist() == [0, 1, 2]
        assert "[FASTCACHE][INVALID_FUNC]" in log()[0]
        assert "cache_stored" not in sources(module.S.run)


STRANGE = """
import functools

class Strange:
    pass

@qd.data_oriented
class S:
    def __init__(self, good=True):
        self.good = good
        self.things = {"a": Strange()}
        self.other = [Strange()]

    @functools.cached_property
    def cached(self):
        return 3

    @property
    def raising(self):
        if self.good:
            return 4
        raise ValueError("not today")

    @qd.kernel(fastcache=True)
    def unknown(self) -> qd.i32:
        return qd.static(len(self.things))

    @qd.kernel(fastcache=True)
    def unknown_too(self) -> qd.i32:
        return qd.static(len(self.other))

    @qd.kernel(fastcache=True)
    def with_cached(self) -> qd.i32:
        return self.cached

    @qd.kernel(fastcache=True)
    def with_raising(self) -> qd.i32:
        return self.raising
"""


def test_unknown_types(cache, program, log):
    cache.start()
    module = program(STRANGE)
    assert module.S().unknown() == 1
    first, second = log()
    assert "[FASTCACHE][UNKNOWN_TYPE]" in first and "Strange" in first
    assert "[FASTCACHE][INVALID_FUNC] The pure function unknown " in second
    assert module.S().unknown_too() == 1
    (line,) = log()  # the type was told once
    assert "[FASTCACHE][INVALID_FUNC] The pure function unknown_too " in line
    assert cache.files(".kernel") == []


def test_cached_properties(cache, program, log):
    cache.start()
    module = program(STRANGE)
    assert module.S().with_cached() == 3
    first, second = log()
    assert "[FASTCACHE][CACHED_PROPERTY]" in first and "S.cached" in first and "@property" in first
    assert "[FASTCACHE][INVALID_FUNC]" in second
    assert cache.files(".kernel") == []


def test_a_property_that_raises(cache, program, log):
    cache.start()
    module = program(STRANGE)
    assert module.S().with_raising() == 4
    assert sources(module.S.with_raising) == STORED and log() == []
    with pytest.raises(qd.QuadrantsCompilationError, match="not today"):
        module.S(good=False).with_raising()
    assert "[FASTCACHE][PROPERTY_RAISED]" in log()[0]


def test_ordinary_functions_are_not_seen_through(cache, program):
    text = """
LIST = [5]

def outside(x):
    return x + LIST[0]

@qd.kernel(fastcache=True)
def run(x: qd.i32) -> qd.i32:
    return outside(x)
"""
    for replacement, result in (("[5]", 6), ("[7]", 8)):
        cache.start()
        module = program(text.replace("[5]", replacement))
        with pytest.warns(SyntaxWarning):
            assert module.run(1) == result
        assert sources(module.run) == ["cache_key_generated"]


KERNEL = "@qd.kernel(fastcache=True)\ndef run(x: qd.i32) -> qd.i32:\n    return x + 1\n"


def test_switched_off(cache, program):
    for _ in range(2):
        cache.start(src_ll_cache=False)
        module = program(KERNEL)
        assert module.run(1) == 2
        assert sources(module.run) == []
        assert cache.files(".kernel", ".reads") == []
    assert module.run._primal.fe_ll_cache_observations.cache_hit


def test_what_is_to_be_shown_is_translated(cache, program, capfd):
    for _ in range(2):
        cache.start(print_ir=True)
        module = program(KERNEL)
        assert module.run(1) == 2
        assert "IR after" in "".join(capfd.readouterr())


def test_kernels_that_are_not_pure_are_named(cache, program, capsys):
    cache.start(print_non_pure=True)
    text = KERNEL.replace("(fastcache=True)", "").replace("run", "plain") + KERNEL
    module = program(text)
    module.run(1), module.plain(1), module.plain(2)
    assert capsys.readouterr().out.count("[NOT_PURE] Debug information: not pure: ") == 1
    assert sources(module.run) == STORED
    cache.start()
    module = program(text)
    module.run(1)
    assert sources(module.run) == LOADED


def test_items_of_objects_that_compute_them(cache, program, monkeypatch):
    text = """
import os

class Table:
    def __getitem__(self, key):
        return int(os.environ["SETTING"])

TABLE = Table()

@qd.kernel(fastcache=True)
def run() -> qd.i32:
    return qd.static(TABLE["setting"])
"""
    for setting in (1, 2):
        cache.start()
        monkeypatch.setenv("SETTING", str(setting))
        module = program(text)
        assert module.run() == setting
        assert "cache_stored" not in sources(module.run)
