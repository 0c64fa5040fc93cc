"""data.md 9.4: why offset and size are read at every launch, and what comes out when an id stands for an argument.

The guard of this package is that the launch core packs a view from the view itself at every launch. `without_guard`
takes it out: a kernel compiled there keeps what it once packed under the ids of its arguments, as a launch cache would.
The same programs run with and without; only those with are right.
"""

import contextlib
import dataclasses
import struct

import pytest
from view_kit import zeros

import quadrants as qd
from quadrants import BufferView
from quadrants.runtime import bindings

STEP = 4


@dataclasses.dataclass(frozen=True)
class Frozen:
    v: BufferView[qd.f32]


@dataclasses.dataclass(frozen=True)
class Outer:
    inner: Frozen


class IdCache:
    """What a launch packed of its views, by the ids of the arguments of that launch."""

    def __init__(self):
        self.ids = ()
        self.packed: dict = {}
        self.hits = 0

    def launch(self, kernel, *args) -> None:
        self.ids = tuple(map(id, args))
        kernel(*args)

    def packer(self, places: tuple):
        """A function of the launch core's "call" code in place of its own packing of a view."""

        def pack(view, block, offset):
            key = (self.ids, offset)
            self.hits += key in self.packed
            found = self.packed.setdefault(key, (view.arr.arr.ptr, view.offset, view.size, view.arr))
            struct.pack_into("=Q", block, offset, found[0])
            for place, number in zip(places[1:], found[1:3], strict=True):
                if place >= 0:
                    struct.pack_into("=i", block, place, number)
            return view

        return pack


@contextlib.contextmanager
def without_guard(monkeypatch):
    """Kernels compiled for the first time inside pack views through the `IdCache` that this gives."""
    cache, plan = IdCache(), bindings.Plan

    def made(entry, block, members, pack, *rest, **named):
        pack = [
            ("call", s, o, cache.packer(extra)) if code == "view" else (code, s, o, extra) for code, s, o, extra in pack
        ]
        return plan(entry, block, members, pack, *rest, **named)

    with monkeypatch.context() as patch:
        patch.setattr(bindings, "Plan", made)
        yield cache


class NoCache:
    """The package as it is."""

    hits = 0

    def launch(self, kernel, *args) -> None:
        kernel(*args)


def direct():
    @qd.kernel
    def one(v: BufferView[qd.f32]):
        for i in range(v.size):
            v[i] = 1.0

    return one, lambda v: v


def frozen():
    @qd.kernel
    def one(s: Frozen):
        for i in range(s.v.size):
            s.v[i] = 1.0

    return one, Frozen


def nested():
    @qd.kernel
    def one(s: Outer):
        for i in range(s.inner.v.size):
            s.inner.v[i] = 1.0

    return one, lambda v: Outer(Frozen(v))


def transient(launcher, make) -> tuple:
    """Windows one after the other over an array, in temporaries: the array afterwards, and how many ids there were."""
    kernel, wrap = make()
    a, ids = zeros(), set()

    def once(k: int) -> None:
        argument = wrap(a[k : k + STEP])
        ids.add(id(argument))
        launcher.launch(kernel, argument)

    for k in range(0, 32, STEP):
        once(k)
    assert len(kernel) == 1
    return a.to_numpy().tolist(), len(ids)


def changed_in_place(launcher) -> list:
    """One frozen dataclass, whose view moves on between launches."""
    kernel, wrap = frozen()
    a = zeros()
    s = wrap(a[0:STEP])
    for k in range(0, 32, STEP):
        s.v.offset = k
        launcher.launch(kernel, s)
    return a.to_numpy().tolist()


@pytest.mark.parametrize("make", [direct, frozen, nested])
def test_temporaries_that_share_an_id(arch, monkeypatch, make):
    """9.6.22, 23: Python gives a new view the id of one that is gone; every window is written all the same."""
    content, ids = transient(NoCache(), make)
    assert content == [1] * 32
    with without_guard(monkeypatch) as cache:
        content, ids = transient(cache, make)
    assert ids < 32 // STEP, "no id came twice: this proves nothing"
    assert cache.hits > 0 and content.count(1) == ids * STEP < 32


def test_a_view_that_moves_inside_a_frozen_dataclass(arch, monkeypatch):
    assert changed_in_place(NoCache()) == [1] * 32
    with without_guard(monkeypatch) as cache:
        assert changed_in_place(cache) == [1] * STEP + [0] * (32 - STEP)
    assert cache.hits == 32 // STEP - 1


def test_the_views_of_one_frozen_dataclass_do_not_hide_each_other(arch):
    """A container is as changeable as its most changeable member: one steady view beside one that moves."""

    @dataclasses.dataclass(frozen=True)
    class Two:
        steady: BufferView[qd.f32]
        moving: BufferView[qd.f32]

    @qd.kernel
    def run(s: Two):
        for i in range(s.moving.size):
            s.moving[i] += s.steady[i] + 1.0

    a = zeros()
    steady = a[0:STEP]
    two = Two(steady, a[STEP : 2 * STEP])
    for k in range(STEP, 32, STEP):
        two.moving.offset = k
        run(two)
    assert a.to_numpy().tolist() == [0] * STEP + [1] * (32 - STEP)
    for k in range(STEP, 32, STEP):
        run(Two(steady, a[k : k + STEP]))
    assert a.to_numpy().tolist() == [0] * STEP + [2] * (32 - STEP)
