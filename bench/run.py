"""Measure this package beside its peers on the same work, in alternation.

    python bench/run.py --peer quadrants==1.3.3 --peer taichi==1.7.4 [--only NAME] [--quick]
    python bench/run.py --arch cuda --peer quadrants==1.3.3 [--wheels DIR]
    python bench/run.py --arch opencl --beside cuda
    python bench/run.py --before ../earlier/.venv/bin/python [--times 5] [--rounds 40]

Every peer lives in a virtual environment under .bench-envs/. A case runs in one process per package; the processes
take turns of a fraction of a second (A B C A B C ...), so that a busy machine disturbs all of them alike, and those
whose turn it is not are stopped. Cases of cold compilation, of import and of init start a new process for each turn.
On a GPU, CUDA kernels written by hand take turns too, where the interpreter of this package has CuPy.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from cases import Case, all_cases
from environments import ENVS, BenchError, Subject, before, beside, ceiling, has_package, ours, peer
from processes import Worker
from report import Series, disagreement, notes, table, to_json


@dataclass(frozen=True)
class Plan:
    """How every case is measured: on which arch, by whom, how long (`budget` in seconds a turn)."""

    arch: str
    emulate: bool
    subjects: list[Subject]
    quick: bool
    ceilings: bool

    @property
    def budget(self) -> float:
        return 0.05 if self.quick else 0.3

    def subjects_of(self, case: Case) -> list[Subject]:
        return [s for s in self.subjects if case.suits(s.module, s.ours)]

    def settings(self, case: Case, subject: Subject, cache: Path | None) -> dict:
        """What a worker is told before it opens `case`; see `worker.Session`."""
        options: dict = {"offline_cache": cache is not None}
        if cache is not None:
            options["offline_cache_file_path"] = str(cache)
        if self.emulate and subject.ours:
            options["emulate"] = True
        return {
            "arch": subject.arch or self.arch,
            "options": options,
            "size": case.size,
            "batch_seconds": case.batch_seconds,
            "ceiling": subject.ceiling,
        }


def _record(series: Series, answer: dict) -> bool:
    """Add an answer of a worker to `series`; False if it was an error."""
    if "error" in answer:
        series.error = f"{answer['error']}\n{answer['traceback']}"
        return False
    series.seconds += answer.get("seconds", [])
    series.problem = series.problem or answer["problem"]
    series.version = answer.get("version", series.version)
    series.result = answer.get("result") or series.result
    return True


def measure_steady(case: Case, plan: Plan, rounds: int) -> dict[str, Series]:
    """Open one worker per subject and ceiling, then sample them in turn."""
    subjects = plan.subjects_of(case)
    if plan.ceilings:
        subjects += [ceiling(each.name, sys.executable) for each in case.ceilings]
    series = {subject.label: Series() for subject in subjects}
    workers: list[Worker] = []
    try:
        for subject in subjects:
            worker = Worker(subject, case.name)
            workers.append(worker)
            if _record(series[subject.label], worker.ask(op="open", settings=plan.settings(case, subject, None))):
                worker.pause()
            else:
                workers.remove(worker)
                worker.close()
        for _ in range(rounds):
            for worker in list(workers):
                worker.resume()
                if not _record(series[worker.subject.label], worker.ask(op="sample", budget=plan.budget)):
                    workers.remove(worker)
                    worker.close()
                    continue
                worker.pause()
    finally:
        for worker in workers:
            worker.close()
    return series


def _once(case: Case, plan: Plan, subject: Subject, cache: Path | None) -> Series:
    """One sample of a new process."""
    series = Series()
    worker = Worker(subject, case.name, None if cache is None else cache / "driver")
    try:
        if _record(series, worker.ask(op="open", settings=plan.settings(case, subject, cache))):
            _record(series, worker.ask(op="sample", budget=0.0))
    finally:
        worker.close()
    return series


def measure_fresh(case: Case, plan: Plan, rounds: int) -> dict[str, Series]:
    """A new process for each sample, subjects in turn. A subject that fails once is not tried again."""
    subjects = plan.subjects_of(case)
    series = {subject.label: Series() for subject in subjects}
    caches: dict[str, Path | None] = dict.fromkeys(series)
    if case.kind == "warm":
        for k, subject in enumerate(subjects):
            cache = caches[subject.label] = ENVS / f"cache-{k}"
            shutil.rmtree(cache, ignore_errors=True)
            cache.mkdir(parents=True)
            series[subject.label].error = _once(case, plan, subject, cache).error  # fills the cache
    for _ in range(rounds):
        for subject in subjects:
            mine = series[subject.label]
            if not mine.error:
                mine.add(_once(case, plan, subject, caches[subject.label]))
    return series


def measure(case: Case, plan: Plan) -> dict[str, Series]:
    """What each subject takes for a case."""
    if case.kind == "steady":
        return measure_steady(case, plan, min(2, case.rounds) if plan.quick else case.rounds)
    return measure_fresh(case, plan, 1 if plan.quick else case.rounds)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--peer", action="append", default=[], metavar="NAME==VERSION", help="a package to measure beside ours"
    )
    parser.add_argument("--before", metavar="PYTHON", help="the interpreter that has an earlier state of this package")
    parser.add_argument("--arch", default="cpu", help="where kernels run, such as cuda (default: cpu)")
    parser.add_argument("--beside", action="append", default=[], metavar="ARCH", help="measure ours there too")
    parser.add_argument("--rows", choices=("cpu", "gpu"), help="which table (default: that of the arch)")
    parser.add_argument("--emulate", action="store_true", help="run the text for the GPU on the CPU; implies --quick")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="cases whose name starts with NAME")
    parser.add_argument(
        "--quick", action="store_true", help="two rounds of short samples, GPU rows on tiny problems; measures nothing"
    )
    parser.add_argument("--python", default=sys.executable, help="the interpreter for the packages (default: this one)")
    parser.add_argument("--wheels", type=Path, metavar="DIR", help="install from DIR and --python's packages, no index")
    parser.add_argument("--no-ours", action="store_true", help="measure the peers only")
    parser.add_argument("--json", type=Path, default=ENVS / "last.json", help="where to write the samples")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds to wait for one answer of a package")
    parser.add_argument(
        "--times", type=int, default=1, metavar="N", help="each case N times, in new processes: some are slow by chance"
    )
    parser.add_argument(
        "--rounds", type=int, metavar="N", help="turns of a process: more where a machine's speed wanders"
    )
    parser.add_argument("--list", action="store_true", help="name the cases and leave")
    return parser.parse_args()


def _select(arguments: argparse.Namespace) -> list[Case]:
    rows = arguments.rows or ("cpu" if arguments.arch == "cpu" else "gpu")
    known = [case for case in all_cases().values() if case.rows == rows]
    chosen = [c for c in known if not arguments.only or any(c.name.startswith(o) for o in arguments.only)]
    missing = {c.needs for c in chosen if c.needs and not has_package(arguments.python, c.needs)}
    for package in sorted(missing):
        print(f"note: {arguments.python} has no {package}: its rows are left out", file=sys.stderr)
    chosen = [c for c in chosen if c.needs not in missing]
    if not chosen:
        raise BenchError(f"no case starts with {arguments.only}; cases: {', '.join(c.name for c in known)}")
    chosen = [replace(c, rounds=arguments.rounds or c.rounds) for c in chosen]
    return [c.make_tiny() for c in chosen] if arguments.quick and rows == "gpu" else chosen


def _plan(arguments: argparse.Namespace) -> Plan:
    if arguments.emulate and (arguments.peer or arguments.arch == "cpu"):
        raise BenchError("--emulate is for a GPU arch and for our package alone: leave out --peer, write --arch cuda")
    if arguments.wheels is not None and not arguments.wheels.is_dir():
        raise BenchError(f"--wheels {arguments.wheels}: no such folder")
    subjects = [] if arguments.no_ours else [ours(arguments.python, arguments.wheels)]
    subjects += [beside(mine, arch) for mine in subjects for arch in arguments.beside]
    subjects += [before(arguments.before)] if arguments.before else []
    subjects += [peer(spec, arguments.python, arguments.wheels) for spec in arguments.peer]
    if not subjects:
        raise BenchError("--no-ours leaves nothing to measure: name a package with --peer NAME==VERSION")
    ceilings = arguments.arch == "cuda" and not arguments.emulate
    if ceilings and not has_package(sys.executable, "cupy"):
        print(f"note: {sys.executable} has no CuPy: nothing tells what the GPU can do", file=sys.stderr)
        ceilings = False
    return Plan(arguments.arch, arguments.emulate, subjects, arguments.quick, ceilings)


def main() -> int:
    """Run the selected cases; 0 if no requirement was missed and nothing failed."""
    arguments = _arguments()
    arguments.quick = arguments.quick or arguments.emulate
    selected = _select(arguments)
    if arguments.list:
        for case in selected:
            print(f"{case.name:24} {case.title}")
        return 0
    ENVS.mkdir(exist_ok=True)
    Worker.timeout_seconds = arguments.timeout
    plan = _plan(arguments)
    reference = next((s.label for s in plan.subjects if s.label.startswith("quadrants")), None)
    if os.getloadavg()[0] > 0.5 * (os.cpu_count() or 1):
        print(f"note: the machine is busy (load {os.getloadavg()[0]:.1f}); figures will be high", file=sys.stderr)

    results: dict[str, dict[str, Series]] = {}
    record: dict = {}
    start = time.monotonic()
    for k, case in enumerate(selected):
        spent = time.monotonic() - start
        print(f"[{k + 1}/{len(selected)}, {spent:.0f} s] {case.title} ...", file=sys.stderr, flush=True)
        row = results[case.name] = measure(case, plan)
        for _ in range(arguments.times - 1):
            for label, more in measure(case, plan).items():
                row[label].add(more)
        if reference is not None and "ours" in row:
            row["ours"].problem = row["ours"].problem or disagreement(row, reference)
        # Written after every case, so that a run that is cut off leaves what it has.
        record = to_json(selected[: k + 1], results, reference, plan.arch)
        arguments.json.write_text(json.dumps(record, indent=1) + "\n")

    versions = {label: s.version for row in results.values() for label, s in row.items() if s.version}
    print("  ".join(f"{label}: {version}" for label, version in versions.items()))
    print("  ".join(record["system"]["gpus"]))
    print(table(selected, results, reference))
    for line in notes(selected, results, reference):
        print(line)
    failed = any(s.error or s.problem for row in results.values() for s in row.values())
    missed = any(entry["passed"] is False for entry in record["cases"].values())
    return 1 if failed or missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        sys.exit(f"bench: {error}")
