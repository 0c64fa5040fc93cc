"""Figures to table and JSON."""

from __future__ import annotations

import math
import os
import platform
import shutil
import statistics
import subprocess
from dataclasses import dataclass, field

from cases import Case, shown


@dataclass
class Series:
    """What one subject gave for one case: seconds a unit, one number a batch or process."""

    seconds: list[float] = field(default_factory=list)
    problem: str | None = None
    error: str | None = None
    version: str = ""
    result: list[float] | None = None

    def add(self, other: Series) -> None:
        """Take in what another process of the same subject gave."""
        self.seconds += other.seconds
        self.problem = self.problem or other.problem
        self.error = self.error or other.error
        self.version = other.version or self.version

    @property
    def median(self) -> float | None:
        return statistics.median(self.seconds) if self.seconds else None

    @property
    def best(self) -> float | None:
        return min(self.seconds) if self.seconds else None


Row = dict[str, Series]


def disagreement(row: Row, reference: str) -> str | None:
    """None if our numbers and those of the reference agree as `Work.result` demands, else a sentence."""
    mine, other = row.get("ours"), row.get(reference)
    if mine is None or other is None or not mine.result or not other.result:
        return None
    pairs = list(zip(mine.result, other.result, strict=True))
    if all(math.isclose(a, b, rel_tol=1e-3) for a, b in pairs):
        return None
    return f"{reference} gets other numbers: " + ", ".join(f"{a:.6g} and {b:.6g}" for a, b in pairs)


def ratio_to(case: Case, row: Row, label: str) -> float | None:
    """Our median time over that of `label`, for the same amount of work; None where one of them is missing."""
    mine, other = row.get("ours"), row.get(label)
    if mine is None or other is None or mine.median is None or other.median is None:
        return None
    ratio = mine.median / other.median
    for ceiling in case.ceilings:
        if ceiling.name == label and case.amount is not None and case.size is not None:
            ratio *= ceiling.amount(case.size) / case.amount(case.size)
    return ratio


def verdict(case: Case, row: Row, reference: str | None) -> bool | None:
    """Whether every requirement of the case is met; None where that cannot be said or nothing is required."""
    mine = row.get("ours")
    if mine is None:
        return None
    if mine.median is None or mine.error or mine.problem:
        return False
    met: list[bool | None] = []
    if case.limit_seconds is not None:
        met.append(mine.median <= case.limit_seconds)
    if case.target is not None:
        ratio = ratio_to(case, row, reference) if reference else None
        met.append(None if ratio is None else ratio <= case.target)
    for ceiling in case.ceilings:
        if ceiling.at_least is not None:
            ratio = ratio_to(case, row, ceiling.name)
            met.append(None if ratio is None else 1 / ratio >= ceiling.at_least)
    if False in met:
        return False
    return None if None in met or not met else True


def _amount(case: Case, label: str) -> float | None:
    """The amount of work in one unit of `label`'s; None where the case reports a time."""
    if case.amount is None or case.size is None:
        return None
    return next((c.amount for c in case.ceilings if c.name == label), case.amount)(case.size)


def _cell(case: Case, label: str, series: Series | None) -> str:
    if series is None:
        return ""
    if series.error:
        return "error"
    if series.median is None or series.best is None:
        return "-"
    values = [shown(case.unit, seconds, _amount(case, label)) for seconds in (series.median, series.best)]
    median, best = (f"{value:.3g}" if value < 1000 else f"{value:.0f}" for value in values)
    return f"{median} ({best})"


def _quotient(case: Case, ratio: float | None) -> str:
    """A ratio as the table shows it: of times, or of rates where the case reports a rate."""
    if ratio is None:
        return "-"
    return f"{ratio if case.amount is None else 1 / ratio:.2f}x"


def _target(case: Case) -> str:
    parts = []
    if case.target is not None:
        parts.append(f"<= {case.target:g}x" if case.amount is None else f">= {1 / case.target:g}x")
    if case.limit_seconds is not None:
        parts.append(f"{shown(case.unit, case.limit_seconds, None):g} {case.unit}")
    parts += [f">= {c.at_least:g}x {c.name}" for c in case.ceilings if c.at_least is not None]
    return ", ".join(parts) or "-"


def table(cases: list[Case], results: dict[str, Row], reference: str | None) -> str:
    """The report as text: a row a case; for every subject the median and the best, of times or of rates.

    "ours / X" is a quotient of times (smaller is better) where the row shows a time, of rates (larger is better) where
    it shows a rate.
    """
    labels = list(dict.fromkeys(label for row in results.values() for label in row))
    others = [label for label in labels if label != "ours"]
    header = ["case", "unit", *[f"{label} median (best)" for label in labels]]
    header += [f"ours / {label}" for label in others] + ["target", "result", "checked"]
    rows = [header]
    for case in cases:
        row = results[case.name]
        line = [case.title, case.unit, *[_cell(case, label, row.get(label)) for label in labels]]
        line += [_quotient(case, ratio_to(case, row, label)) if label in row else "" for label in others]
        line += [_target(case), {True: "pass", False: "FAIL", None: "-"}[verdict(case, row, reference)]]
        wrong = [label for label in row if row[label].problem]
        checked = [label for label in row if not row[label].error]
        line.append(
            "wrong: " + ", ".join(wrong) if wrong else "yes" if checked == list(row) else ", ".join(checked) or "-"
        )
        rows.append(line)
    widths = [max(len(row[k]) for row in rows) for k in range(len(header))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def notes(cases: list[Case], results: dict[str, Row], reference: str | None) -> list[str]:
    """Sentences under the table: errors, wrong numbers, and the requirement over all throughput cases."""
    found = []
    for case in cases:
        for label, series in results[case.name].items():
            if series.error:
                # An answer begins with the exception; a worker that died has only its last words.
                lines = series.error.strip().splitlines()
                said = lines[0] if not lines[0].startswith("the worker ended") else " | ".join([lines[0], *lines[-3:]])
                found.append(f"{case.name}, {label}: {said}")
            if series.problem:
                found.append(f"{case.name}, {label}: wrong result: {series.problem}")
    if reference is not None:
        ratios = [ratio_to(c, results[c.name], reference) for c in cases if c.throughput]
        known = [ratio for ratio in ratios if ratio is not None]
        fast = sum(ratio <= 1 / 1.2 for ratio in known)
        if known:
            found.append(f"throughput at least 1.2x of {reference}: {fast} of {len(known)} cases (3 required)")
    return found


def _gpus() -> list[str]:
    """Name, driver and memory of each NVIDIA GPU, as the driver's own tool tells them; empty without that tool."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    query = [tool, "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    result = subprocess.run(query, capture_output=True, text=True)
    return result.stdout.strip().splitlines() if result.returncode == 0 else []


def to_json(cases: list[Case], results: dict[str, Row], reference: str | None, arch: str) -> dict:
    """Everything measured, with what is needed to judge it later. Ratios are of times."""
    record: dict = {
        "system": {
            "machine": platform.machine(),
            "system": platform.system(),
            "cpus": os.cpu_count(),
            "gpus": _gpus(),
            "load_after": os.getloadavg()[0],
            "python": platform.python_version(),
        },
        "arch": arch,
        "reference": reference,
        "cases": {},
    }
    for case in cases:
        row = results[case.name]
        record["cases"][case.name] = {
            "title": case.title,
            "unit": case.unit,
            "size": case.size,
            "target": case.target,
            "limit_seconds": case.limit_seconds,
            "ratio": ratio_to(case, row, reference) if reference else None,
            "passed": verdict(case, row, reference),
            "subjects": {
                label: {
                    "version": series.version,
                    "amount": _amount(case, label),
                    "median_seconds": series.median,
                    "min_seconds": series.best,
                    "samples": series.seconds,
                    "problem": series.problem,
                    "error": series.error,
                }
                for label, series in row.items()
            },
        }
    return record
