"""The packages under measurement, each in an environment of its own, and the processes that run them."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
ENVS = ROOT / ".bench-envs"
TIMEOUT_SECONDS = 600.0


class BenchError(Exception):
    """Something of the bench, not of a case, failed; the text says what to do."""


@dataclass(frozen=True)
class Subject:
    """A package to measure: how it is called in the report, what to import, and with which interpreter."""

    label: str
    module: str
    python: Path
    ours: bool


def ours(python: str) -> Subject:
    """The package of this checkout, imported from the repository root by `python`."""
    return Subject("ours", "quadrants", Path(python), ours=True)


def install(spec: str) -> Subject:
    """The subject of a requirement such as `taichi==1.7.4`; its environment is made on the first use."""
    match = re.fullmatch(r"([A-Za-z][A-Za-z0-9_-]*)(==[\w.]+)?", spec)
    if match is None:
        raise BenchError(f"--peer {spec!r}: write NAME or NAME==VERSION, for example quadrants==1.3.3")
    folder = ENVS / spec.replace("==", "-")
    python = folder / "bin" / "python"
    done = folder / ".installed"
    if not done.exists():
        print(f"installing {spec} into {folder.relative_to(ROOT)} ...", file=sys.stderr, flush=True)
        folder.parent.mkdir(exist_ok=True)
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(folder)],
            [str(python), "-m", "pip", "install", "--quiet", spec, "numpy"],
        ):
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode:
                raise BenchError(f"{' '.join(command)} failed:\n{result.stderr.strip()}")
        done.touch()
    return Subject(spec, match[1], python, ours=False)


class Worker:
    """A live worker process. It is stopped (SIGSTOP) while others are measured, so that its threads take no time."""

    def __init__(self, subject: Subject, case: str) -> None:
        self.subject = subject
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        if subject.ours:
            environment["PYTHONPATH"] = str(ROOT)
        self.log = (ENVS / f"{re.sub(r'[^A-Za-z0-9.]', '-', subject.label)}-{case}.log").open("w+")
        self.process = subprocess.Popen(
            [str(subject.python), str(BENCH / "worker.py"), subject.module, case],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=environment,
            cwd=ENVS,
        )

    def ask(self, **request: object) -> dict:
        """Send one request and wait for its answer; a dead worker becomes an answer with the key "error"."""
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            # An answer is one line and nothing follows it unasked, so the pipe and not the buffer tells of it.
            if not select.select([self.process.stdout], [], [], TIMEOUT_SECONDS)[0]:
                self.process.kill()
                return {"error": f"no answer within {TIMEOUT_SECONDS:g} s", "traceback": self.tail()}
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        return {"error": f"the worker ended with status {self.process.wait()}", "traceback": self.tail()}

    def tail(self) -> str:
        """The end of what the worker wrote to stderr."""
        self.log.flush()
        return Path(self.log.name).read_text(errors="replace")[-2000:]

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        time.sleep(0.01)

    def close(self) -> None:
        """End the process, kindly at first."""
        assert self.process.stdin and self.process.stdout
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.close()
            self.process.wait(timeout=20)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()
