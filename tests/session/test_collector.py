"""The garbage collector rests while a kernel is translated, and afterwards is as the program left it."""

import gc

import pytest

import quadrants as qd


def collections() -> int:
    return sum(generation["collections"] for generation in gc.get_stats())


@pytest.mark.parametrize("on", [True, False])
def test_translation_leaves_the_collector_as_it_was(arch, on):
    seen = []

    def made():
        before = collections()
        held = [[k] for k in range(5000)]
        seen.append((gc.isenabled(), collections() - before, held))
        return 3

    @qd.kernel
    def run() -> qd.i32:
        return qd.static(made())

    @qd.kernel
    def refused() -> qd.i32:
        return qd.static(made()) + undefined  # noqa: F821

    (gc.enable if on else gc.disable)()
    try:
        assert run() == 3
        with pytest.raises(qd.QuadrantsCompilationError, match="undefined"):
            refused()
        assert gc.isenabled() == on
        assert [(enabled, count) for enabled, count, _ in seen] == [(False, 0)] * 2
    finally:
        gc.enable()
