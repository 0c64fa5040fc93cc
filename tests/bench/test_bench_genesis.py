"""What the comparison of Genesis scenes says passes and fails; the scenes themselves need genesis-world."""

from __future__ import annotations

import ast
import math

import genesis as comparison
import pytest

pytestmark = pytest.mark.cpu_only

LADDER = comparison.load_ladder()


def record(values: dict, scene: float = 1.0) -> dict:
    seconds = {"scene": scene}
    return {"values": values, "seconds": seconds, "cpu": seconds, "rates": {"steps": 10 / scene}, "peak_gb": scene}


def turn(ours: dict, reference: dict) -> dict:
    return {(p, k): r for k in ("cold", "warm") for p, r in (("ours", ours), ("reference", reference))}


def test_every_rung_is_a_function_that_takes_its_arguments():
    functions = {}
    for path in sorted((comparison.LADDER / "rungs").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                functions[path.stem, node.name] = node.args
    for name, rung in LADDER.items():
        args = functions[rung.module, rung.function]
        assert len(args.args) - len(args.defaults) <= len(rung.args) <= len(args.args), name


def test_tolerances_above_the_usual_one_have_a_reason():
    assert [name for name, rung in LADDER.items() if (rung.tolerance > 1e-4) != bool(rung.reason)] == []


def test_the_largest_difference_is_told_with_its_name():
    ours = {"q": [[1.0, 2.0], [3.0, 4.5]], "n": 3.0}
    assert comparison.difference(ours, {"q": [[1.0, 2.0], [3.0, 4.0]], "n": 3.25}) == (0.5, "q")
    assert comparison.difference(ours, ours) == (0.0, "")


@pytest.mark.parametrize("other", [{"q": [1.0]}, {"q": [1.0, math.nan]}, {}, {"q": [1.0, 2.0], "extra": 1.0}])
def test_values_that_lack_or_are_no_numbers_differ_without_bound(other):
    assert comparison.difference({"q": [1.0, 2.0]}, other)[0] == math.inf


def test_equal_places_without_a_number_are_the_same():
    assert comparison.difference({"q": [math.nan, 1.0]}, {"q": [math.nan, 1.0]}) == (0.0, "")


def test_a_rung_passes_within_its_tolerance_only():
    rung = LADDER["R4"]
    near, far = record({"q": 1.00005}, scene=0.5), record({"q": 1.001})
    line, passed = comparison.report("R4", rung, [turn(near, record({"q": 1.0}))])
    assert passed and "same" in line and "cold  0.50" in line and "steps/s  2.00" in line
    line, passed = comparison.report("R4", rung, [turn(near, record({"q": 1.0})), turn(far, record({"q": 1.0}))])
    assert not passed and "DIFFERS" in line


def test_a_rung_that_fails_says_where_and_why():
    failed = {"error": "Traceback\nValueError: no such shape"}
    line, passed = comparison.report("R4", LADDER["R4"], [turn(failed, record({"q": 1.0}))])
    assert not passed and "FAILED on ours, cold: ValueError: no such shape" in line
