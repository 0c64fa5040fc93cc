"""One benchmark case in one package, driven by JSON lines on stdin; answers on the original stdout.

    python worker.py MODULE CASE      then lines {"op": "open" | "sample" | "close", ...}

Anything that the package prints goes to stderr, so that it cannot be taken for an answer.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from dataclasses import replace

from cases import Case, Work, all_cases


def _batch_size(work: Work, seconds: float) -> int:
    """How many units make a batch of about `seconds`."""
    n = 1
    while True:
        start = time.perf_counter()
        work.run(n)
        spent = time.perf_counter() - start
        if spent >= seconds * 0.5:
            return max(1, round(n * seconds / spent))
        n *= 4


def _steady(work: Work, n: int, budget: float) -> list[float]:
    """Seconds a unit, one number a batch, for at least `budget` seconds and three batches."""
    batches: list[float] = []
    deadline = time.perf_counter() + budget
    while len(batches) < 3 or time.perf_counter() < deadline:
        if work.reset is not None:
            work.reset()
        if work.difference is not None:
            batches.append(work.difference(n))
            continue
        start = time.perf_counter()
        work.run(n)
        batches.append((time.perf_counter() - start) / n)
    return batches


class Session:
    """The life of a case in this process: in `module`, on the arch of `settings`.

    `settings`: "arch" (its name), "options" (further keywords of `qd.init`), "size" (of the case, or None), "ceiling"
    (the name of the ceiling to measure in place of the case, or None).
    """

    def __init__(self, module: str, case: Case, settings: dict) -> None:
        self.case = replace(case, size=settings["size"])
        self.settings = settings
        self.plain = settings["ceiling"] is not None
        os.environ.update(case.environment)
        start = time.perf_counter()
        self.qd = importlib.import_module(module)
        self.import_seconds = time.perf_counter() - start
        self.batch = 0

    def _init(self) -> None:
        arch = getattr(self.qd, self.settings["arch"])
        self.qd.init(arch=arch, enable_fallback=False, **self.case.options, **self.settings["options"])

    def open(self) -> dict[str, object]:
        """Initialise the package and build the case; a steady case also runs once and is checked."""
        if not self.plain and self.case.kind not in ("import", "init"):
            self._init()
        self.work = self.case.work(self.qd, self.settings["ceiling"])
        problem, result = None, None
        if self.case.kind == "steady":
            self.work.run(1)
            problem = self.work.check()
            result = self.work.result and self.work.result()
            if self.work.reset is not None:
                self.work.reset()
            self.batch = _batch_size(self.work, self.settings["batch_seconds"])
        version = self.qd.__version__
        text = version if isinstance(version, str) else ".".join(map(str, version))
        return {"version": text, "batch": self.batch, "problem": problem, "result": result}

    def sample(self, budget: float) -> dict[str, object]:
        """Measure: many batches of a steady case, the one and only run of a fresh one, an import, an init, a figure."""
        if self.case.kind == "steady":
            return {"seconds": _steady(self.work, self.batch, budget), "problem": None}
        if self.case.kind == "import":
            return {"seconds": [self.import_seconds], "problem": self.work.check()}
        if self.case.kind == "figure":
            assert self.work.difference is not None
            return {"seconds": [self.work.difference(1)], "problem": self.work.check()}
        start = time.perf_counter()
        if self.case.kind == "init":
            self._init()
            self.qd.sync()
        else:
            self.work.run(1)
        spent = time.perf_counter() - start
        return {"seconds": [spent], "problem": self.work.check()}


def main() -> None:
    """Answer requests until `close` or the end of stdin."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    module, name = sys.argv[1:3]
    session: Session | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["op"] == "close":
                break
            if request["op"] == "open":
                session = Session(module, all_cases()[name], request["settings"])
                answer = session.open()
            else:
                assert session is not None, "sample before open"
                answer = session.sample(request["budget"])
        except BaseException as error:  # the driver reports it beside the case; a worker has no console of its own
            answer = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
