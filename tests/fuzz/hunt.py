"""Hunts for programs that give something else than the model says: `python -m fuzz.hunt -n 1000 --arches cpu,cuda`.

Every finding is shrunk and printed as a test. Findings of one sign are shrunk `--each` times at most.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from .grammar.draw import FEATURES, KNOWN
from .process import Worker
from .shrink import Shrinker, as_test

BATCH = 20


@dataclass
class Finding:
    seed: int
    arch: str
    kind: str
    sign: str
    detail: str
    after: int  # programs until then
    text: str = ""
    options: dict = field(default_factory=dict)


@dataclass
class Hunt:
    """`count` programs from `seed` on, on each arch."""

    count: int
    seed: int
    arches: tuple = ("cpu",)
    subject: str = "programs"
    size: int | None = None
    off: frozenset = KNOWN
    jobs: int = 0
    each: int = 1
    shrink_seconds: float = 120.0
    seconds: float = 60.0
    stop_at: int = 0  # findings, 0: never
    findings: list = field(default_factory=list)
    kinds: Counter = field(default_factory=Counter)
    reasons: Counter = field(default_factory=Counter)
    programs: int = 0
    out: object = sys.stdout

    def run(self) -> list[Finding]:
        self._lock = threading.Lock()
        self._todo = [
            (arch, first, min(BATCH, self.seed + self.count - first))
            for arch in self.arches
            for first in range(self.seed, self.seed + self.count, BATCH)
        ]
        self._todo.reverse()
        self._signs: Counter = Counter()
        began = time.monotonic()
        threads = [threading.Thread(target=self._work) for _ in range(self.jobs or os.cpu_count() or 1)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.took = time.monotonic() - began
        return self.findings

    def _next(self):
        with self._lock:
            if not self._todo or self.stop_at and len(self.findings) >= self.stop_at:
                return None
            return self._todo.pop()

    def _work(self) -> None:
        workers: dict[str, Worker] = {}
        try:
            while (job := self._next()) is not None:
                arch, first, count = job
                if arch not in workers:
                    workers[arch] = Worker(arch, self.subject, self.seconds)
                for answer in workers[arch].seeds(first, count, self.size, self.off):
                    self._note(arch, self._settled(arch, answer), workers[arch])
        finally:
            for worker in workers.values():
                worker.stop()

    def _settled(self, arch: str, answer: dict) -> dict:
        """The outcome of a program that gave no result in time is that of a second try, as the machine may be busy."""
        if answer["kind"] != "hangs":
            return answer
        patient = Worker(arch, self.subject, 5 * self.seconds)
        try:
            return list(patient.seeds(answer["seed"], 1, self.size, self.off))[-1]
        finally:
            patient.stop()

    def _note(self, arch: str, answer: dict, worker: Worker) -> None:
        with self._lock:
            self.programs += 1
            self.kinds[answer["kind"]] += 1
            if answer["kind"] in ("ok", "open", "unmodelled", "stopped", "lacking"):
                self.reasons[answer["sign"]] += answer["kind"] != "ok"
                return
            found = Finding(answer["seed"], arch, answer["kind"], answer["sign"], answer["detail"], self.programs)
            self._signs[found.sign] += 1
            shrink = self._signs[found.sign] <= self.each
            self.findings.append(found)
        if found.kind == "broken":
            self._print(found)
            return
        program = importlib.import_module(f"{__package__}.{self.subject}").program(found.seed, self.size, self.off)
        found.text, found.options = program.text, program.options
        if shrink:
            self._shrink(found)
            self._print(found)

    def _shrink(self, found: Finding) -> None:
        worker = Worker(found.arch, self.subject, min(self.seconds, 20.0))

        def fails(text: str, options: dict) -> bool:
            return worker.check(text, options).get("sign") == found.sign

        try:
            found.text, found.options = Shrinker(fails, self.shrink_seconds).shrink(found.text, found.options)
            found.detail = worker.check(found.text, found.options).get("detail", found.detail)
        finally:
            worker.stop()

    def _print(self, found: Finding) -> None:
        head = f"--- {found.arch}, seed {found.seed}, program {found.after}: {found.sign}\n{found.detail[-1500:]}\n"
        with self._lock:
            print(head + as_test(found.text, found.options, found.sign, found.seed), file=self.out, flush=True)

    def summary(self) -> str:
        rate = self.programs / max(self.took, 1e-9)
        counts = ", ".join(f"{n} {kind}" for kind, n in sorted(self.kinds.items()))
        signs = "".join(f"\n  {n:5}  {sign}" for sign, n in self._signs.most_common())
        without = "".join(f"\n  {n:5}  no result: {reason}" for reason, n in self.reasons.most_common(8) if n)
        head = f"{self.programs} programs from seed {self.seed} in {self.took:.0f} s ({rate:.1f}/s): {counts}"
        return head + without + signs


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=300, help="programs for each arch")
    parser.add_argument("--seed", type=int, default=None, help="of the first program; a new one without it")
    parser.add_argument(
        "--arches",
        default="cpu",
        help="cpu, cpu-debug, cuda, amdgpu (emulated), cuda-real, cpu-poorer, cpu-several, ..",
    )
    parser.add_argument("--subject", default="programs", help="the module that draws and checks")
    parser.add_argument("--size", type=int, default=None, help="about how many statements; mixed without it")
    parser.add_argument("--without", default="", help="features to leave out: " + ", ".join(FEATURES))
    parser.add_argument("--with", default="", dest="also", help="features of known defects not to leave out, or `all`")
    parser.add_argument("--jobs", type=int, default=0, help="processes; all cores without it")
    parser.add_argument("--each", type=int, default=1, help="findings of one kind that are shrunk")
    parser.add_argument("--stop-at", type=int, default=0, help="end after so many findings")
    parser.add_argument("--shrink-seconds", type=float, default=120.0)
    parser.add_argument("--show", type=int, default=None, metavar="SEED", help="print one program, and end")
    return parser.parse_args()


def features_off(without: str, also: str) -> frozenset:
    """What the options leave out. Raises SystemExit for unknown names."""
    out, back = ({word for word in text.split(",") if word} for text in (without, also))
    unknown = (out | back) - set(FEATURES) - {"all"}
    if unknown:
        raise SystemExit(f"no feature {', '.join(sorted(unknown))}; there are {', '.join(FEATURES)}")
    return frozenset((set() if "all" in back else KNOWN - back) | out)


def main() -> int:
    args = arguments()
    off = features_off(args.without, args.also)
    if args.show is not None:
        program = importlib.import_module(f"{__package__}.{args.subject}").program(args.show, args.size, off)
        print(f"# {program.options}\n{program.text}")
        return 0
    seed = random.SystemRandom().randrange(10**9) if args.seed is None else args.seed
    hunt = Hunt(
        args.n, seed, tuple(args.arches.split(",")), args.subject, args.size, off, args.jobs, args.each,
        args.shrink_seconds, stop_at=args.stop_at,
    )  # fmt: skip
    hunt.run()
    print(hunt.summary())
    return 1 if hunt.findings else 0


if __name__ == "__main__":
    sys.exit(main())
