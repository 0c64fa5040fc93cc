"""What makes a fastcache kernel be translated again: an entry never stands for anything but what it was made from."""

from __future__ import annotations

import pytest
from cache_kit import LOADED, STORED, sources

import quadrants as qd

pytestmark = pytest.mark.filterwarnings("ignore:.*PURE.VIOLATION")

TEXT = """
import enum

class Kind(enum.IntEnum):
    ONE = 1

SCALE = 10
TABLE = [1, 2, 3]

@qd.func
def inner(x, step: qd.i32 = 1):
    return x + step

@qd.func
def helper(x):
    return inner(x) * SCALE + TABLE[1] + Kind.ONE

class Names:
    offset = 100

def make(LOCAL):
    @qd.func
    def local(x):
        return x + LOCAL

    @qd.kernel(fastcache=True)
    def run(x: qd.i32) -> qd.i32:
        y = local(helper(x)) + qd.static(Names.offset)
        return y

    return run

run = make(1000)
"""
BASE = 2 * 10 + 2 + 1 + 1000 + 100


@pytest.mark.parametrize(
    "old, new, result",
    [
        ("return x + step", "return x + step * 2", BASE + 10),
        ("step: qd.i32 = 1", "step: qd.i32 = 3", BASE + 20),
        ("SCALE = 10", "SCALE = 20", BASE + 20),
        ("[1, 2, 3]", "[1, 5, 3]", BASE + 3),
        ("ONE = 1", "ONE = 2", BASE + 1),
        ("offset = 100", "offset = 200", BASE + 100),
        ("make(1000)", "make(2000)", BASE + 1000),
        ("return x + LOCAL", "return x - LOCAL", BASE - 2000),
        ("        return y\n", "        y = y + 1\n        return y\n", BASE + 1),
        ("return y\n", "return y + 1\n", BASE + 1),
        ("qd.static(Names.offset)\n", "qd.static(Names.offset) # same\n", BASE),
        ("import enum\n", "import enum\n\n", BASE),
    ],
)
def test_an_edit(cache, program, old, new, result):
    assert TEXT.count(old) == 1
    cache.start()
    first = program(TEXT)
    assert first.run(1) == BASE and sources(first.run) == STORED
    cache.start()
    second = program(TEXT.replace(old, new))
    assert second.run(1) == result
    assert "cache_loaded" not in sources(second.run) and "cache_stored" in sources(second.run)
    cache.start()
    third = program(TEXT.replace(old, new))
    assert third.run(1) == result and sources(third.run) == LOADED


def test_a_function_that_grew_at_its_end(cache, program):
    text = "@qd.kernel(fastcache=True)\ndef run(a: qd.types.ndarray()):\n    a[0] = a[0] + 1\n"
    longer = text + "    a[0] = a[0] * 10\n"
    for source, observed, result in ((text, STORED, 1), (longer, STORED, 10), (longer, LOADED, 10)):
        cache.start()
        module = program(source)
        a = qd.ndarray(qd.i32, (1,))
        module.run(a)
        assert a[0] == result and sources(module.run) == observed


def test_an_edited_struct_method(cache, program):
    text = """
@qd.dataclass
class Point:
    x: qd.f32

    @qd.func
    def twice(self):
        return self.x * 2

@qd.kernel(fastcache=True)
def run(x: qd.f32) -> qd.f32:
    return Point(x).twice()
"""
    for source, observed, result in (
        (text, STORED, 6.0),
        (text.replace("* 2", "* 4"), STORED, 12.0),
        (text, STORED, 6.0),
    ):
        cache.start()
        module = program(source)
        assert module.run(3.0) == result and sources(module.run) == observed


def test_another_function_under_the_same_name(cache, program):
    text = """
@qd.func
def plus(x):
    return x + 1

@qd.func
def times(x):
    return x * 5

chosen = {}

@qd.kernel(fastcache=True)
def run(x: qd.i32) -> qd.i32:
    return chosen(x)
"""
    for name, observed, result in (("plus", STORED, 4), ("plus", LOADED, 4), ("times", STORED, 15)):
        cache.start()
        module = program(text.format(name))
        assert module.run(3) == result and sources(module.run) == observed


ARGUMENTS = """
@qd.kernel(fastcache=True)
def run(a: qd.types.ndarray(), k: qd.template()):
    for I in qd.grouped(a):
        a[I] += k
"""


def test_arguments_of_other_kinds(cache, program):
    calls = {
        "base": lambda m: m.run(qd.ndarray(qd.i32, (2,)), 1),
        "dtype": lambda m: m.run(qd.ndarray(qd.f32, (2,)), 1),
        "ndim": lambda m: m.run(qd.ndarray(qd.i32, (2, 2)), 1),
        "element": lambda m: m.run(qd.Vector.ndarray(2, qd.i32, (2,)), 1),
        "gradient": lambda m: m.run(qd.ndarray(qd.f32, (2,), needs_grad=True), 1),
        "value": lambda m: m.run(qd.ndarray(qd.i32, (2,)), 2),
        "type of the value": lambda m: m.run(qd.ndarray(qd.i32, (2,)), True),
        "shape": None,
    }
    del calls["shape"]  # loads: see test_fastcache_loads.py
    for expected in (STORED, LOADED):
        cache.start()
        module = program(ARGUMENTS)
        for name, call in calls.items():
            call(module)
            assert sources(module.run) == expected, name


MEMBERS = """
import dataclasses
from quadrants.lang._fast_caching import FIELD_METADATA_CACHE_VALUE

@dataclasses.dataclass
class Inner:
    n: qd.i32 = dataclasses.field(metadata={FIELD_METADATA_CACHE_VALUE: True})
    m: qd.i32

@qd.data_oriented
class Solver:
    def __init__(self, size):
        self.size = size

    @qd.kernel(fastcache=True)
    def run(self, p: Inner) -> qd.i32:
        return self.size * 100 + p.n * 10 + p.m

@qd.data_oriented(template_primitives=False)
class Lifted:
    def __init__(self, size):
        self.size = size

    @qd.kernel(fastcache=True)
    def run(self) -> qd.i32:
        return self.size
"""


def test_members(cache, program):
    cache.start()
    module = program(MEMBERS)

    def call(size, n, m):
        assert module.Solver(size).run(module.Inner(n, m)) == size * 100 + n * 10 + m
        return sources(module.Solver.run)

    assert call(1, 1, 1) == STORED
    assert call(1, 1, 2) == LOADED  # a plain member counts by its type
    assert call(2, 1, 1) == STORED  # a member of a template object by its value
    # So does a marked member; the plan of this process takes either value, so only a new runtime looks at the disk.
    cache.start()
    assert call(1, 2, 1) == STORED
    assert module.Lifted(3).run() == 3 and sources(module.Lifted.run) == STORED
    assert module.Lifted(4).run() == 4 and sources(module.Lifted.run) == LOADED


def test_the_default_type(cache, program):
    text = "@qd.kernel(fastcache=True)\ndef run() -> float:\n    return 0.1\n"
    for default, observed in ((qd.f32, STORED), (qd.f64, STORED), (qd.f32, LOADED), (qd.f64, LOADED)):
        cache.start(default_fp=default)
        module = program(text)
        assert (module.run() == 0.1) is (default is qd.f64)
        assert sources(module.run) == observed
