"""Times of launches, bandwidth, applications, derivatives and compilation, kept to be compared with later ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import found
from plan import COMPILED, QUICK, STEADY

WORKER = Path(__file__).resolve().parents[1] / "worker.py"


def measure(benchmark, medians: dict, name: str, run, units: int, rounds: int, setup=None) -> None:
    benchmark.extra_info["units"] = units
    benchmark.pedantic(run, setup=setup, rounds=rounds, warmup_rounds=0 if setup else 1)
    medians[name] = benchmark.stats.stats.median / units


@pytest.mark.parametrize("name", STEADY)
def test_steady(benchmark, medians, arch, quick, name):
    if quick and name not in QUICK:
        pytest.skip("not needed for the ratios")
    import quadrants as qd

    case = found(name, arch)
    qd.init(arch=getattr(qd, arch), enable_fallback=False, **case.options)
    try:
        work = case.work(qd)
        work.run(1)
        problem = work.check()
        assert problem is None, problem
        units = STEADY[name]
        setup = work.reset and (lambda: work.reset())  # what `setup` returns would be taken for arguments
        measure(benchmark, medians, name, lambda: work.run(units), units, 15, setup)
    finally:
        qd.reset()


class Process:
    """A process that has initialised the package and built a case, which waits to be told to compile and run it."""

    def __init__(self, case: str, settings: dict, cache: Path):
        environment = {**os.environ, "QD_OFFLINE_CACHE_FILE_PATH": str(cache)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        command = [sys.executable, str(WORKER), "quadrants", case]
        self.process = subprocess.Popen(command, text=True, env=environment, cwd=cache.parent, **pipes)
        self.ask(op="open", settings=settings)

    def ask(self, **request) -> None:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "the process ended"}')
        assert answer.get("problem") is None and "error" not in answer, answer

    def close(self) -> None:
        self.process.communicate(json.dumps({"op": "close"}) + "\n")


@pytest.mark.parametrize("state", ["cold", "warm"])
@pytest.mark.parametrize("name", COMPILED)
def test_compilation(benchmark, medians, arch, quick, tmp_path, name, state):
    if quick and name not in QUICK:
        pytest.skip("not needed for the ratios")
    case = found(name, arch)
    settings = {"arch": arch, "options": {}, "size": case.size, "ceiling": None}
    started: list[Process] = []

    def start() -> None:
        cache = tmp_path / ("cache" if state == "warm" else f"cache{len(started)}")
        started.append(Process(case.name, settings, cache))

    def run() -> None:
        started[-1].ask(op="sample", budget=0)

    try:
        if state == "warm":
            start()
            run()
            started[-1].close()  # what it compiled is in the folder once it has ended
        measure(benchmark, medians, f"{name} {state}", run, 1, 3, start)
    finally:
        for process in started:
            process.close() if process.process.poll() is None else None


@pytest.mark.parametrize("name, units", [("python_call", 20000), ("numpy_saxpy", 5), ("numpy_sum", 5)])
def test_yardstick(benchmark, medians, name, units):
    """What ratios are of: the work of a case without the package."""
    a, b = np.ones(1 << 22, np.float32), np.zeros(1 << 22, np.float32)

    def python_call() -> None:
        for _ in range(units):
            (lambda: None)()

    def numpy_saxpy() -> None:
        for _ in range(units):
            np.add(np.multiply(a, 2.0, out=b), a, out=b)

    def numpy_sum() -> None:
        for _ in range(units):
            np.sum(a)

    yardsticks = {"python_call": python_call, "numpy_saxpy": numpy_saxpy, "numpy_sum": numpy_sum}
    measure(benchmark, medians, name, yardsticks[name], units, 15)
