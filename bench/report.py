"""Figures to table and JSON."""

from __future__ import annotations

import os
import platform
import statistics
from dataclasses import dataclass, field

from cases import Case, scale


@dataclass
class Series:
    """What one subject gave for one case: seconds a unit, one number a batch or process."""

    seconds: list[float] = field(default_factory=list)
    problem: str | None = None
    error: str | None = None
    version: str = ""

    @property
    def median(self) -> float | None:
        return statistics.median(self.seconds) if self.seconds else None

    @property
    def best(self) -> float | None:
        return min(self.seconds) if self.seconds else None


def verdict(case: Case, mine: Series | None, reference: Series | None) -> tuple[float | None, bool | None]:
    """(our median over the reference's, whether every requirement of the case is met); None where it cannot be said."""
    if mine is None or mine.median is None:
        return None, (None if mine is None else False)
    within_limit = case.limit_seconds is None or mine.median <= case.limit_seconds
    if reference is None or reference.median is None:
        return None, (None if within_limit else False)
    ratio = mine.median / reference.median
    return ratio, ratio <= case.target and within_limit and mine.problem is None and mine.error is None


def _cell(value: float | None, unit: str) -> str:
    return (
        "-"
        if value is None
        else f"{value * scale(unit):.3g}"
        if value * scale(unit) < 1000
        else f"{value * scale(unit):.0f}"
    )


def table(cases: list[Case], results: dict[str, dict[str, Series]], reference: str | None) -> str:
    """The report as text: a row a case; for every subject the median and the minimum."""
    labels = list(dict.fromkeys(label for row in results.values() for label in row))
    header = ["case", "unit", *[f"{label} median (min)" for label in labels]]
    header += [f"ours / {label}" for label in labels if label != "ours"] + ["target", "result", "checked"]
    rows = [header]
    for case in cases:
        row = results[case.name]
        mine = row.get("ours")
        line = [case.title, case.unit]
        for label in labels:
            series = row[label]
            text = "error" if series.error else f"{_cell(series.median, case.unit)} ({_cell(series.best, case.unit)})"
            line.append(text)
        for label in labels:
            if label == "ours":
                continue
            ratio, _ = verdict(case, mine, row[label])
            line.append("-" if ratio is None else f"{ratio:.2f}x")
        target = f"<= {case.target:g}x"
        if case.limit_seconds is not None:
            target += f", {case.limit_seconds * scale(case.unit):g} {case.unit}"
        _, passed = verdict(case, mine, row.get(reference) if reference else None)
        line += [target, {True: "pass", False: "FAIL", None: "-"}[passed]]
        wrong = [label for label in labels if row[label].problem]
        line.append("wrong: " + ", ".join(wrong) if wrong else "yes")
        rows.append(line)
    widths = [max(len(row[k]) for row in rows) for k in range(len(header))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def notes(cases: list[Case], results: dict[str, dict[str, Series]], reference: str | None) -> list[str]:
    """Sentences under the table: errors, wrong numbers, and the requirement over all throughput cases."""
    found = []
    for case in cases:
        for label, series in results[case.name].items():
            if series.error:
                found.append(f"{case.name}, {label}: {series.error.strip().splitlines()[0]}")
            if series.problem:
                found.append(f"{case.name}, {label}: wrong result: {series.problem}")
    if reference is not None:
        ratios = [
            verdict(c, results[c.name].get("ours"), results[c.name].get(reference))[0] for c in cases if c.throughput
        ]
        known = [ratio for ratio in ratios if ratio is not None]
        fast = sum(ratio <= 1 / 1.2 for ratio in known)
        if known:
            found.append(f"throughput at least 1.2x of {reference}: {fast} of {len(known)} cases (3 required)")
    return found


def to_json(cases: list[Case], results: dict[str, dict[str, Series]], reference: str | None) -> dict:
    """Everything measured, with what is needed to judge it later."""
    record: dict = {
        "system": {
            "machine": platform.machine(),
            "system": platform.system(),
            "cpus": os.cpu_count(),
            "load_after": os.getloadavg()[0],
            "python": platform.python_version(),
        },
        "reference": reference,
        "cases": {},
    }
    for case in cases:
        row = results[case.name]
        ratio, passed = verdict(case, row.get("ours"), row.get(reference) if reference else None)
        record["cases"][case.name] = {
            "title": case.title,
            "target": case.target,
            "limit_seconds": case.limit_seconds,
            "ratio": ratio,
            "passed": passed,
            "subjects": {
                label: {
                    "version": series.version,
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
