"""A worker process, which is started again when a program ends it or never ends."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path

from .execute import Arch

TESTS = Path(__file__).resolve().parent.parent


class Worker:
    """Asks one process. `seconds`: how long one program may take."""

    def __init__(self, arch: str, subject: str = "programs", seconds: float = 60.0):
        self.arch, self.subject, self.seconds = Arch(arch), subject, seconds
        self._process: subprocess.Popen | None = None
        self._lines: queue.Queue = queue.Queue()
        self.said = ""

    def _start(self) -> None:
        self._lines = queue.Queue()
        path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, **self.arch.environment, "PYTHONPATH": path}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.worker", self.arch.name, self.subject], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        for stream, take in ((self._process.stdout, self._lines.put), (self._process.stderr, self._note)):
            threading.Thread(target=_drain, args=(stream, take), daemon=True).start()
        self.said = ""

    def _note(self, line) -> None:
        if line is not None:
            self.said = (self.said + line)[-4000:]

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _ask(self, request: dict):
        if self._process is None or self._process.poll() is not None:
            self._start()
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except OSError:
            pass
        while True:
            try:
                line = self._lines.get(timeout=self.seconds)
            except queue.Empty:
                self.stop()
                yield {"kind": "hangs", "sign": "hangs", "detail": f"no result after {self.seconds:g} s"}
                return
            if line is None:
                code = self._process.wait()
                self._process = None
                yield {"kind": "died", "sign": f"died: {code}", "detail": self.said}
                return
            answer = json.loads(line)
            if answer.get("done"):
                return
            yield answer

    def check(self, text: str, options: dict) -> dict:
        """The outcome of one program."""
        answer: dict = {}
        for answer in self._ask({"text": text, "options": options}):
            pass
        return answer

    def seeds(self, first: int, count: int, size: int | None, off):
        """The outcomes of programs with seeds; one that ends the process is an outcome, too."""
        last = first + count
        while first < last:
            current = first
            for answer in self._ask({"seeds": [first, last - first], "size": size, "off": sorted(off)}):
                if "begin" in answer:
                    current = answer["begin"]
                    continue
                yield {"seed": current, **answer}
                first = current + 1
            if first <= current:
                first = current + 1


def _drain(stream, take) -> None:
    for line in stream:
        take(line)
    take(None)
