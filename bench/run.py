"""Measure this package beside its peers on the same work, in alternation.

    python bench/run.py --peer quadrants==1.3.3 --peer taichi==1.7.4 [--only NAME] [--quick]

Every peer lives in a virtual environment under .bench-envs/. A case runs in one process per package; the processes
take turns of a fraction of a second (A B C A B C ...), so that a busy machine disturbs all of them alike, and those
whose turn it is not are stopped. Cases of cold compilation and of import start a new process for each turn.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from cases import Case, all_cases
from peers import ENVS, BenchError, Subject, Worker, install, ours
from report import Series, notes, table, to_json


def _record(series: Series, answer: dict) -> bool:
    """Add an answer of a worker to `series`; False if it was an error."""
    if "error" in answer:
        series.error = f"{answer['error']}\n{answer['traceback']}"
        return False
    series.seconds += answer.get("seconds", [])
    series.problem = series.problem or answer["problem"]
    series.version = answer.get("version", series.version)
    return True


def measure_steady(case: Case, subjects: list[Subject], rounds: int, budget: float) -> dict[str, Series]:
    """Open one worker per subject, then sample them in turn."""
    series = {subject.label: Series() for subject in subjects}
    workers: list[Worker] = []
    try:
        for subject in subjects:
            worker = Worker(subject, case.name)
            if _record(series[subject.label], worker.ask(op="open")):
                workers.append(worker)
                worker.pause()
            else:
                worker.close()
        for _ in range(rounds):
            for worker in list(workers):
                worker.resume()
                if not _record(series[worker.subject.label], worker.ask(op="sample", budget=budget)):
                    workers.remove(worker)
                    worker.close()
                    continue
                worker.pause()
    finally:
        for worker in workers:
            worker.close()
    return series


def measure_fresh(case: Case, subjects: list[Subject], rounds: int) -> dict[str, Series]:
    """A new process for each sample, subjects in turn. A subject that fails once is not tried again."""
    series = {subject.label: Series() for subject in subjects}
    for _ in range(rounds):
        for subject in subjects:
            mine = series[subject.label]
            if mine.error:
                continue
            worker = Worker(subject, case.name)
            try:
                if _record(mine, worker.ask(op="open")):
                    _record(mine, worker.ask(op="sample", budget=0.0))
            finally:
                worker.close()
    return series


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--peer", action="append", default=[], metavar="NAME==VERSION", help="a package to measure beside ours"
    )
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="cases whose name starts with NAME")
    parser.add_argument("--quick", action="store_true", help="two rounds of short samples: a look, not a measurement")
    parser.add_argument("--python", default=sys.executable, help="the interpreter for our package (default: this one)")
    parser.add_argument("--no-ours", action="store_true", help="measure the peers only")
    parser.add_argument("--json", type=Path, default=ENVS / "last.json", help="where to write the samples")
    parser.add_argument("--list", action="store_true", help="name the cases and leave")
    return parser.parse_args()


def main() -> int:
    """Run the selected cases; 0 if no requirement was missed and nothing failed."""
    arguments = _arguments()
    known = all_cases()
    if arguments.list:
        for case in known.values():
            print(f"{case.name:20} {case.title}")
        return 0
    selected = [c for c in known.values() if not arguments.only or any(c.name.startswith(o) for o in arguments.only)]
    if not selected:
        raise BenchError(f"no case starts with {arguments.only}; cases: {', '.join(known)}")
    ENVS.mkdir(exist_ok=True)
    subjects = [] if arguments.no_ours else [ours(arguments.python)]
    subjects += [install(spec) for spec in arguments.peer]
    reference = next((s.label for s in subjects if s.label.startswith("quadrants")), None)
    if os.getloadavg()[0] > 0.5 * (os.cpu_count() or 1):
        print(f"note: the machine is busy (load {os.getloadavg()[0]:.1f}); figures will be high", file=sys.stderr)

    results: dict[str, dict[str, Series]] = {}
    for k, case in enumerate(selected):
        print(f"[{k + 1}/{len(selected)}] {case.title} ...", file=sys.stderr, flush=True)
        rounds = min(2, case.rounds) if arguments.quick else case.rounds
        if case.kind == "steady":
            results[case.name] = measure_steady(case, subjects, rounds, 0.05 if arguments.quick else 0.3)
        else:
            results[case.name] = measure_fresh(case, subjects, 1 if arguments.quick else rounds)

    versions = {label: s.version for row in results.values() for label, s in row.items() if s.version}
    print("  ".join(f"{label}: {version}" for label, version in versions.items()))
    print(table(selected, results, reference))
    for line in notes(selected, results, reference):
        print(line)
    record = to_json(selected, results, reference)
    arguments.json.write_text(json.dumps(record, indent=1) + "\n")
    failed = any(s.error or s.problem for row in results.values() for s in row.values())
    missed = any(entry["passed"] is False for entry in record["cases"].values())
    return 1 if failed or missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        sys.exit(f"bench: {error}")
