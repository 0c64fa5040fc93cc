"""`super()` in methods: funcs of the classes behind, on the object itself."""

from __future__ import annotations

from language_kit import raises

import quadrants as qd


class Scale:
    unit = 4

    @qd.func
    def weigh(self, x):
        return self.factor * x

    @qd.func
    def total(self, x):
        return self.weigh(x) + self.f[0]

    @qd.kernel
    def launch(self) -> qd.i32:
        return 1


@qd.data_oriented
class Tenfold(Scale):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.f = qd.field(qd.i32, 1)

    @qd.func
    def weigh(self, x):
        return 10 * super().weigh(x)

    @qd.kernel
    def above(self, x: qd.i32) -> qd.i32:
        return super().weigh(x)

    @qd.kernel
    def named(self, x: qd.i32) -> qd.i32:
        return super(Tenfold, self).total(x)  # noqa: UP008 - the other form

    @qd.kernel
    def summed(self, n: qd.i32) -> qd.i32:
        s = 0
        for i in range(n):
            s += super().weigh(i)
        return s

    @qd.kernel
    def constant(self) -> qd.i32:
        return super().unit

    @qd.kernel
    def kernel(self) -> qd.i32:
        return super().launch()

    @qd.kernel
    def nothing(self) -> qd.i32:
        return super().nothing()


@qd.data_oriented
class Shifted(Tenfold):
    @qd.func
    def weigh(me, x):  # noqa: N805 - the receiver may have any name
        return super().weigh(x) + 7


def test_super_finds_the_method_of_the_class_behind(arch):
    x = Tenfold(3)
    assert (x.above(2), x.summed(4)) == (6, 18)
    assert Tenfold(5).above(2) == 10


def test_methods_behind_find_those_of_the_object(arch):
    assert Tenfold(3).named(2) == 60 and Shifted(3).named(2) == 67


def test_fields_are_looked_up_at_every_launch(arch):
    x = Tenfold(3)
    assert x.named(2) == 60
    x.f[0] = 100
    assert x.named(2) == 160
    x.f = qd.field(qd.i32, 1)
    x.f[0] = 1000
    assert x.named(2) == 1060


def test_what_super_does_not_find(arch):
    x = Tenfold(3)
    for kernel, name in ((x.constant, "unit"), (x.kernel, "launch")):
        with raises(qd.QuadrantsSyntaxError, f"'{name}' is none: write `self.{name}`"):
            kernel()
    with raises(qd.QuadrantsCompilationError, "'super' object has no attribute 'nothing'"):
        x.nothing()


def test_super_outside_of_a_class(arch):
    @qd.kernel
    def lone(x: qd.i32) -> qd.i32:
        return super().weigh(x)

    with raises(qd.QuadrantsSyntaxError, "super() needs a method of a class, and its object") as caught:
        lone(1)
    assert "return super().weigh(x)" in str(caught.value) and __file__ in str(caught.value)
