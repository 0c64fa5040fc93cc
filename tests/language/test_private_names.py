"""Names that Python mangles: `__x` in a class is private to it."""

from __future__ import annotations

import quadrants as qd


def test_private_parameters_variables_and_members(arch):
    @qd.data_oriented
    class _Sum:
        def __init__(self):
            self.__f = qd.field(qd.i32, 4)
            self.__n = 3

        @qd.func
        def __more(self, __a, b):
            __t = __a * 2
            return __t + b

        @qd.kernel
        def run(self, __k: qd.i32) -> qd.i32:
            __s = __k
            for __i in range(4):
                self.__f[__i] = __i + __k
            __s += self.__f[2] + self.__more(__k, self.__n)
            return __s + 1

    assert _Sum().run(2) == 2 + 4 + 7 + 1


def test_names_of_any_length(arch):
    scope: dict = {"qd": qd}
    for length in (90, 243, 300):
        name = "k" + "a" * (length - 1)

        def base(x: qd.i32) -> qd.i32:
            return x + 1

        base.__name__ = base.__qualname__ = name
        scope[name] = qd.kernel(base)
        assert scope[name](length) == length + 1
