"""The processes that run a case: one a package, stopped while the others are measured."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import time
from pathlib import Path

from environments import BENCH, ENVS, Subject


class Worker:
    """A live worker process. It is stopped (SIGSTOP) while others are measured, so that its threads take no time."""

    timeout_seconds = 600.0  # for one answer

    def __init__(self, subject: Subject, case: str, driver_cache: Path | None = None) -> None:
        """`driver_cache`: where the CUDA driver may keep what it compiles; nowhere unless given."""
        self.subject = subject
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
        environment["CUDA_CACHE_DISABLE"] = "1" if driver_cache is None else "0"
        if driver_cache is not None:
            environment["CUDA_CACHE_PATH"] = str(driver_cache)
        if subject.root is not None:
            environment["PYTHONPATH"] = str(subject.root)
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
            if not select.select([self.process.stdout], [], [], self.timeout_seconds)[0]:
                self.process.kill()
                return {"error": f"no answer within {self.timeout_seconds:g} s", "traceback": self.tail()}
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
