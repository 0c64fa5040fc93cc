"""The plan of a kernel from the disk is made of the same recipe as that of its trace, for kernels of all kinds."""

from __future__ import annotations

import pytest
from cache_kit import LOADED, STORED, sources

import quadrants as qd
from quadrants.fastcache import entry, store

TEXT = """
@qd.func
def half(x):
    return x * 0.5

@qd.kernel(fastcache=True)
def plain(a: qd.types.ndarray(), s: qd.f32) -> qd.f32:
    for i in a:
        a[i] += half(s)
    for i in a:
        qd.atomic_add(a[0], a[i])
    return a[0]

@qd.kernel(fastcache=True)
def checked(a: qd.types.ndarray(), n: qd.i32) -> qd.types.vector(2, qd.i32):
    for i in range(n):
        assert a[i] >= 0.0, "negative"
        print(a[i])
    return qd.Vector([n, n + 1])

@qd.kernel(fastcache=True, graph=True)
def looped(a: qd.types.ndarray(), left: qd.types.ndarray(qd.i32, ndim=0)):
    while qd.graph.do_while(left):
        for i in a:
            a[i] += qd.random()
        for i in range(1):
            left[None] -= 1
"""


@pytest.fixture
def recipes(monkeypatch):
    """Recipes that plans were made from, by kernel: traced, and from the disk."""
    found: dict = {}
    keep, decode = store.Lookup.keep, entry.decode

    def kept(self, record, recipe, artifact):
        found.setdefault(recipe.name, []).append(recipe)
        keep(self, record, recipe, artifact)

    def decoded(content):
        whole = decode(content)
        found.setdefault(whole.recipe.name, []).append(whole.recipe)
        return whole

    monkeypatch.setattr(store.Lookup, "keep", kept)
    monkeypatch.setattr(entry, "decode", decoded)
    return found


def test_a_kernel_from_the_disk_has_the_recipe_of_its_trace(cache, program, recipes):
    for expected in (STORED, LOADED):
        cache.start()
        module = program(TEXT)
        a, left = qd.ndarray(qd.f32, 5), qd.ndarray(qd.i32, ())
        a.fill(0)
        left.fill(2)
        module.plain(a, 2.0)
        module.checked(a, 2)
        module.looped(a, left)
        assert sources(module.plain) == sources(module.checked) == sources(module.looped) == expected
    for name, (traced, loaded) in recipes.items():
        assert traced == loaded, name
    assert len(recipes) == 3
