"""Ordinary Python functions that a fastcache kernel calls while it is translated: which are seen through, which not."""

from __future__ import annotations

import pytest
from cache_kit import LOADED, STORED, sources

pytestmark = pytest.mark.filterwarnings("ignore:.*(PURE.VIOLATION|non-quadrants function)")

TEXT = """
import math

STRIDE = 10
BLOCKS = ((1, 2), (3, 4))

def less(n, by=1):
    return n - by

def place(i, j, dim):
    rows = [k for k in range(dim) if k < i]
    size = 0
    for k in rows:
        size += dim - k
    return size + less(j) - i + STRIDE + math.floor(1.5)

def nearer(limit):
    def chosen(i):
        return min(i, limit)
    return chosen

cut = nearer(7)

@qd.kernel(fastcache=True)
def run(x: qd.i32) -> qd.i32:
    y = x
    for i in qd.static(range(2)):
        y += qd.static(place(i, i + 1, 3)) + qd.static(cut(i + 6)) + qd.static(sum([b[0] for b in pair(BLOCKS)]))
    return y

def pair(blocks):
    first, second = blocks
    return first, second
"""


def place(i, j, dim, by=1, stride=10):
    return sum(dim - k for k in range(i)) + (j - by) - i + stride + 1


def expected(limit=7, first=1, **options):
    return 5 + sum(place(i, i + 1, 3, **options) + min(i + 6, limit) + first + 3 for i in range(2))


def test_they_are_seen_through(cache, program):
    for observed in (STORED, LOADED):
        cache.start()
        module = program(TEXT)
        assert module.run(5) == expected() and sources(module.run) == observed


@pytest.mark.parametrize(
    "old, new, result",
    [
        ("return n - by", "return n - by - by + 1", expected()),
        ("by=1", "by=2", expected(by=2)),
        ("STRIDE = 10", "STRIDE = 20", expected(stride=20)),
        ("nearer(7)", "nearer(6)", expected(limit=6)),
        ("((1, 2), ", "((2, 2), ", expected(first=2)),
        ("size += dim - k", "size += dim - k + 0", expected()),
        ("return min(i, limit)", "return max(i, limit) - 1", expected() - 1),
        ("def pair", "def min(a, b):\n    return a + b - 8\n\ndef pair", expected() - 2),
    ],
)
def test_what_they_depend_on_is_looked_at(cache, program, old, new, result):
    assert TEXT.count(old) == 1
    cache.start()
    first = program(TEXT)
    assert first.run(5) == expected() and sources(first.run) == STORED
    cache.start()
    second = program(TEXT.replace(old, new))
    assert second.run(5) == result
    assert "cache_loaded" not in sources(second.run)
    cache.start()
    third = program(TEXT.replace(old, new))
    assert third.run(5) == result and sources(third.run) == LOADED


# What each of them gives may be something else in a later process, or it does more than to give something.
UNSEEN = {
    "a list outside": "ITEMS = [1]\ndef f(i):\n    return i + ITEMS[0]",
    "a class outside": "class C:\n    n = 1\ndef f(i):\n    return i + C.n",
    "a module": "import os\ndef f(i):\n    return i + int(os.environ.get('ABSENT', '1'))",
    "an import": "def f(i):\n    import time\n    return i + (time.time() > 0)",
    "a global": "N = 0\ndef f(i):\n    global N\n    N += 1\n    return i + N",
    "a variable of the outer function": "def make():\n    n = 0\n    def f(i):\n        nonlocal n\n        n += 1\n"
    "        return i + n\n    return f\nf = make()",
    "the order of a set": "def f(i):\n    return i + len(list({'a', 'b'})) - 1",
    "hash": "def f(i):\n    return i + (hash('a') != 0)",
    "a default that changes": "def f(i, seen=[]):\n    seen.append(i)\n    return i + len(seen)",
    "a default of a keyword": "def f(i, *, n=1):\n    return i + n",
    "a decorator": "import functools\n@functools.lru_cache\ndef f(i):\n    return i + 1",
    "a wrapper": "import functools\ndef w(g):\n    @functools.wraps(g)\n    def inner(i):\n        return g(i) + 0\n"
    "    return inner\n@w\ndef f(i):\n    return i + 1",
    "a private attribute": "def f(i):\n    return i + (i.__class__ is int)",
    "a function inside": "def f(i):\n    def g(k):\n        return k + 1\n    return g(i)",
    "another one that is not seen through": "ITEMS = [1]\ndef g(i):\n    return i + ITEMS[0]\n"
    "def f(i):\n    return g(i)",
    "print": "def f(i):\n    print('', end='')\n    return i + 1",
    "a lambda": "f = lambda i: i + 1",
}


@pytest.mark.parametrize("name", UNSEEN)
def test_others_are_not(cache, program, name):
    text = UNSEEN[name] + (
        "\n\n@qd.kernel(fastcache=True)\ndef run(x: qd.i32) -> qd.i32:\n    return x + qd.static(f(3))\n"
    )
    for _ in range(2):
        cache.start()
        module = program(text)
        assert module.run(10) == 14
        assert "cache_stored" not in sources(module.run) and "cache_loaded" not in sources(module.run)


@pytest.mark.parametrize("given", ["[1]", "{'k': 1}", "T()", "int"])
def test_arguments_that_may_change_are_not(cache, program, given):
    text = f"""
class T:
    pass

GIVEN = {given}

def f(x):
    return 1 if x else 2

@qd.kernel(fastcache=True)
def run(x: qd.i32) -> qd.i32:
    return x + qd.static(f(GIVEN))
"""
    for _ in range(2):
        cache.start()
        module = program(text)
        assert module.run(10) == 11
        assert "cache_stored" not in sources(module.run)


def test_a_function_that_calls_itself(cache, program):
    text = """
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)

@qd.kernel(fastcache=True)
def run(x: qd.i32) -> qd.i32:
    return x + qd.static(factorial(5))
"""
    for observed in (STORED, LOADED):
        cache.start()
        module = program(text)
        assert module.run(1) == 121 and sources(module.run) == observed
