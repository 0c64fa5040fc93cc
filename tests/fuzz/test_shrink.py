"""A failing program becomes small, and a process that dies or never ends is a finding."""

from __future__ import annotations

import io

import pytest

from fuzz.check import check
from fuzz.execute import Arch
from fuzz.grammar.draw import KNOWN
from fuzz.hunt import Hunt
from fuzz.process import Worker
from fuzz.programs import program
from fuzz.shrink import Shrinker, as_test

pytestmark = pytest.mark.cpu_only

ENDING = """
import os
import quadrants as qd
class Dangerous:
    armed = hasattr(qd, "__file__")
def main():
    if Dangerous.armed:
        {}
    return {{}}
"""


def test_shrinking_keeps_what_makes_the_program_fail():
    text = program(11, 12, frozenset()).text
    text = text.replace("def main():\n", "def main():\n    marked = [1, 2, [3, max(4, 5)]]\n")
    small, options = Shrinker(lambda t, o: "max(4, 5)" in t, 20).shrink(text, {"debug": True})
    assert "max(4, 5)" in small and small.count("\n") <= 4
    assert options == {}
    assert "assert_modelled" in as_test(small, options, "differs", 11)


@pytest.mark.parametrize(
    ("line", "kind"), [("os._exit(3)", "died"), ("os.abort()", "died"), ("[0 for _ in iter(int, 1)]", "hangs")]
)
def test_a_program_that_ends_its_process_is_a_finding(line, kind):
    worker = Worker("cpu", seconds=10)
    try:
        assert worker.check(ENDING.format(line), {})["kind"] == kind
        assert worker.check("def main():\n    return {'a': 1}\n", {})["kind"] == "ok"
    finally:
        worker.stop()


def test_a_wrong_result_is_a_finding():
    text = "import quadrants as qd\ndef main():\n    return {'a': 1 + hasattr(qd, '__file__')}\n"
    outcome = check(text, {}, Arch("cpu"))
    assert outcome.kind == "differs" and "expected 1" in outcome.detail


def test_a_program_that_is_only_late_is_tried_again():
    # What kernels print is seen by the process of a worker, and not here.
    seed = next(seed for seed in range(11, 99) if "print(" not in program(seed, None, KNOWN).text)
    hunt = Hunt(1, seed, ("cpu",), out=io.StringIO())
    late = {"seed": seed, "kind": "hangs", "sign": "hangs", "detail": ""}
    assert hunt._settled("cpu", late)["kind"] == check(program(seed, None, KNOWN).text, {}, Arch("cpu")).kind
    assert hunt._settled("cpu", {"kind": "differs"}) == {"kind": "differs"}


BOUNDS = """
import quadrants as qd
x = qd.field(qd.i32, shape=2)

@qd.func
def trips():
    x[1] += 1
    return 2

@qd.kernel
def run():
    for i in qd.ndrange(trips()):
        x[0] += i
    for I in qd.grouped(qd.ndrange(trips(), 1)):
        x[0] += I[0]

def main():
    run()
    return {'x': x.to_numpy()}
"""


def test_bounds_of_an_ndrange_are_evaluated_once():
    outcome = check(BOUNDS, {}, Arch("cpu"))
    assert outcome.kind == "ok", outcome.detail
