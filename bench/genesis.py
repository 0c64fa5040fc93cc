"""Run the ladder of Genesis scenes on this package and on the reference, in alternation, and compare.

    python bench/genesis.py --ours PYTHON --reference PYTHON [RUNG ...] [--arch cuda] [--turns N] [--out FILE]

Each PYTHON is the interpreter of an environment with genesis-world, and with this package or quadrants==1.3.3 as its
`quadrants` (docs/development/genesis.md tells how to make them). A turn of a rung is four processes: cold and warm on
each package, with a folder of their own for compiled kernels. Printed are the largest difference of what the two show,
and ours / reference of cold and warm builds, steps per second and peak memory. Status 1 if a rung differs or fails.

Cold and warm compare processor time, which other work on the machine disturbs least, and wall time behind it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

LADDER = Path(__file__).resolve().parent / "genesis_ladder"
TIMEOUT_SECONDS = 1800


def load_ladder() -> dict:
    """The rungs, without the package that holds them: that one needs Genesis."""
    spec = importlib.util.spec_from_file_location("genesis_ladder_table", LADDER / "rungs" / "ladder.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.RUNGS


def run(python: str, name: str, rung, cache: Path, arch: str) -> dict:
    """The record of one process; {"error": text} if it failed."""
    environment = {**os.environ, **rung.env, "QD_OFFLINE_CACHE_FILE_PATH": str(cache)}
    environment.update(PYTHONPATH=str(LADDER), ARCH=arch)
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [python, "-m", "rungs", name], env=environment, cwd=folder, capture_output=True, text=True,
                timeout=TIMEOUT_SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {"error": f"no end within {TIMEOUT_SECONDS} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines or not lines[-1].startswith("{"):
        return {"error": (done.stderr.strip() or f"status {done.returncode}")[-3000:]}
    return json.loads(lines[-1])


def flat(values) -> list[float]:
    return [x for each in values for x in flat(each)] if isinstance(values, list) else [values]


def difference(ours: dict, reference: dict) -> tuple[float, str]:
    """The largest difference of the shown values and the name of the value; infinite where the shapes differ."""
    worst = (0.0, "")
    for name in sorted({*ours, *reference}):
        a, b = flat(ours.get(name, [])), flat(reference.get(name, []))
        apart = max((abs(x - y) for x, y in zip(a, b)), default=0.0) if len(a) == len(b) else float("inf")
        # A NaN on one side compares as no difference at all.
        apart = float("inf") if any((x != x) != (y != y) for x, y in zip(a, b)) else apart
        worst = (apart, name) if apart > worst[0] else worst
    return worst


def ratio(turns: list[dict], kind: str, *path: str) -> str:
    """Median of ours / reference over the turns, of one number of their records."""

    def number(record: dict):
        for key in path:
            record = record.get(key, {}) if isinstance(record, dict) else {}
        return record if isinstance(record, (int, float)) else None

    pairs = [(number(turn["ours", kind]), number(turn["reference", kind])) for turn in turns]
    found = [a / b for a, b in pairs if a is not None and b]
    return f"{median(found):.2f}" if found else "-"


def take_turn(pythons: dict[str, str], name: str, rung, folder: Path, arch: str) -> dict:
    turn = {}
    for kind in ("cold", "warm"):
        for package in ("ours", "reference"):
            turn[package, kind] = run(pythons[package], name, rung, folder / package, arch)
    shutil.rmtree(folder)
    return turn


def report(name: str, rung, turns: list[dict]) -> tuple[str, bool]:
    """The line of a rung, and whether it passed."""
    for turn in turns:
        for (package, kind), record in turn.items():
            if "error" in record:
                return f"{name:16} FAILED on {package}, {kind}: {record['error'].splitlines()[-1][:90]}", False
    pairs = [(turn["ours", kind], turn["reference", kind]) for turn in turns for kind in ("cold", "warm")]
    apart, where = max(difference(ours["values"], reference["values"]) for ours, reference in pairs)
    good = apart <= rung.tolerance
    columns = [
        f"{name:16} {'same' if good else 'DIFFERS':8} {apart:9.1e} {where:12}",
        f"cold {ratio(turns, 'cold', 'cpu', 'scene'):>5} ({ratio(turns, 'cold', 'seconds', 'scene'):>5} wall)",
        f"warm {ratio(turns, 'warm', 'cpu', 'scene'):>5} ({ratio(turns, 'warm', 'seconds', 'scene'):>5} wall)",
        f"steps/s {ratio(turns, 'warm', 'rates', 'steps'):>5}",
        f"memory {ratio(turns, 'cold', 'peak_gb'):>5} / {ratio(turns, 'warm', 'peak_gb'):>5}",
    ]
    return "  ".join(columns), good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True, help="interpreter of the environment with this package")
    parser.add_argument("--reference", required=True, help="interpreter of the environment with quadrants==1.3.3")
    parser.add_argument("--arch", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write all records to this file, as JSON")
    parser.add_argument("rungs", nargs="*", metavar="RUNG", help="all of the ladder if none is named")
    asked = parser.parse_args()
    ladder = load_ladder()
    unknown = [name for name in asked.rungs if name not in ladder]
    if unknown:
        parser.error(f"no rung {', '.join(unknown)}; there are {', '.join(ladder)}")
    names = asked.rungs or [name for name, rung in ladder.items() if asked.arch != "cpu" or not rung.large]
    pythons = {"ours": asked.ours, "reference": asked.reference}
    passed, records = True, {}
    for number, name in enumerate(names, 1):
        print(f"[{number}/{len(names)}] {name} ...", file=sys.stderr, flush=True)
        turns = [
            take_turn(pythons, name, ladder[name], Path(tempfile.mkdtemp(prefix="genesis-ladder-")), asked.arch)
            for _ in range(asked.turns)
        ]
        line, good = report(name, ladder[name], turns)
        passed = passed and good
        print(line, flush=True)
        records[name] = [{f"{package} {kind}": record for (package, kind), record in turn.items()} for turn in turns]
        if asked.out:
            asked.out.write_text(json.dumps(records, indent=1))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
