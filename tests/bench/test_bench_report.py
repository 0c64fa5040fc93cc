"""What the benchmark's table says passes and fails."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cases import Ceiling, Work, all_cases
from cases.derivatives_memory import heap_bytes
from report import Series, disagreement, ratio_to, table, verdict

pytestmark = pytest.mark.cpu_only

FIGURE = all_cases()["ad_push_c"]
TIMED = replace(all_cases()["gpu_launch_none"], target=0.4, limit_seconds=3e-6)
RATED = replace(
    all_cases()["gpu_saxpy"],
    target=1.0,
    size=1000,
    amount=lambda n: 12.0 * n,
    ceilings=(
        Ceiling("kernel", lambda cp, n: Work(lambda n: None, lambda: None), lambda n: 12.0 * n, at_least=0.97),
        Ceiling("copy", lambda cp, n: Work(lambda n: None, lambda: None), lambda n: 8.0 * n),
    ),
)


def row(**seconds: float) -> dict[str, Series]:
    return {label: Series([value]) for label, value in seconds.items()}


@pytest.mark.parametrize(
    "ours, reference, passed",
    [(1e-6, 3e-6, True), (1e-6, 2e-6, False), (4e-6, 1e-4, False), (1e-6, None, None), (4e-6, None, False)],
)
def test_a_time_is_held_against_the_reference_and_the_limit(ours, reference, passed):
    measured = row(ours=ours) if reference is None else row(ours=ours, reference=reference)
    assert verdict(TIMED, measured, "reference") is passed


@pytest.mark.parametrize(
    "ours, reference, kernel, passed",
    [(1.0, 1.0, 0.98, True), (1.0, 1.0, 0.96, False), (1.0, 0.9, 1.0, False), (1.0, 1.1, None, None)],
)
def test_a_rate_is_held_against_the_ceiling_too(ours, reference, kernel, passed):
    measured = row(ours=ours, reference=reference, copy=0.1)
    if kernel is not None:
        measured["kernel"] = Series([kernel])
    assert verdict(RATED, measured, "reference") is passed


def test_a_ceiling_of_other_work_is_compared_by_rate():
    measured = row(ours=1.5, copy=1.0)  # 12 bytes in 1.5 s, 8 bytes in 1 s: the same rate
    assert ratio_to(RATED, measured, "copy") == pytest.approx(1.0)


@pytest.mark.parametrize("flaw", [{"problem": "x: largest difference 1"}, {"error": "RuntimeError: no"}])
def test_wrong_numbers_and_errors_of_ours_never_pass(flaw):
    measured = row(ours=1e-6, reference=1e-3)
    measured["ours"] = replace(measured["ours"], **flaw)
    assert verdict(TIMED, measured, "reference") is False


def test_an_error_of_the_reference_is_not_our_failure():
    measured = {**row(ours=1e-6), "reference": Series(error="RuntimeError: no")}
    assert verdict(TIMED, measured, "reference") is None


def test_the_table_shows_rates_and_quotients_of_rates():
    text = table([RATED], {RATED.name: row(ours=2e-6, reference=4e-6, kernel=2e-6, copy=1e-6)}, "reference")
    line = text.splitlines()[2]
    assert "6 (6)" in line and "3 (3)" in line and "8 (8)" in line  # GB/s of ours, the reference, the copy
    assert "2.00x" in line and "pass" in line


@pytest.mark.parametrize("other, said", [([1.0005, 2.0], None), ([1.01, 2.0], "1 and 1.01"), (None, None)])
def test_numbers_are_compared_with_those_of_the_reference(other, said):
    measured = {"ours": Series([1.0], result=[1.0, 2.0]), "reference": Series([1.0], result=other)}
    found = disagreement(measured, "reference")
    assert (found is None) if said is None else (said in found)


def test_a_figure_is_shown_as_it_is():
    line = table([FIGURE], {FIGURE.name: row(ours=4.25)}, "reference").splitlines()[2]
    assert "4.25 (4.25)" in line and "pass" in line


def test_what_only_ours_can_do_is_asked_of_nobody_else():
    derivative = all_cases()["ad_recurrence_grad"]
    assert derivative.suits("quadrants", ours=False) and not derivative.suits("taichi", ours=False)
    assert FIGURE.suits("quadrants", ours=True) and not FIGURE.suits("quadrants", ours=False)


def test_the_size_of_the_heaps_is_the_largest_of_each_kind():
    lines = [
        "[adstack_heap] arch=cuda task='k_0' kind=F src=reducer_count stride=16 required_bytes=128 (0.00 MB)",
        "[adstack_heap] arch=cuda task='k_1' kind=F src=x effective_rows=8 stride=24 required_bytes=192 (0.00 MB)",
        "[adstack_heap] arch=cuda task='k_1' kind=I src=x effective_rows=8 stride=4 required_bytes=32 (0.00 MB)",
    ]
    assert heap_bytes("\n".join(lines)) == 192 + 32
    with pytest.raises(ValueError, match="no .adstack_heap. line"):
        heap_bytes("nothing")
