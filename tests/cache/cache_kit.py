"""Helpers for tests of what stays on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import quadrants as qd
from quadrants.toolchain import build

ROOT = Path(__file__).resolve().parents[2]
# Settings of the machine and of the run, which no test clears.
KEPT = ("QD_CC", "QD_EMULATE", "QD_OPENCL_DEVICE")
MACHINE_CODE = (".so", ".o", ".cubin", ".ptx", ".hsaco", ".clbin", ".spv", ".msl")


class Cache:
    """A cache folder and the files in it."""

    def __init__(self, root: Path, init):
        self.root, self._init = root, init

    def start(self, **options) -> None:
        """A new runtime over the folder, as if in a new process."""
        qd.reset()
        build.forget()
        self._init(**{"offline_cache": True, "offline_cache_file_path": str(self.root), **options})

    def files(self, *suffixes: str) -> list[Path]:
        """The cached files, those of the given suffixes only if there are any."""
        found = (p for p in self.root.rglob("*") if p.is_file())
        return sorted(p for p in found if not suffixes or p.suffix in suffixes)

    def binaries(self) -> list[Path]:
        """The cached files that hold machine code."""
        return self.files(*MACHINE_CODE)


def start_python(path, argv=(), env=None) -> subprocess.Popen:
    """Another process that runs the file with this package."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("QD_") or k in KEPT}
    return subprocess.Popen(
        [sys.executable, str(path), *map(str, argv)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**inherited, "PYTHONPATH": str(ROOT), **(env or {})},
    )


def finish(child: subprocess.Popen) -> tuple[str, str]:
    """What the process printed to its two streams, but for the greeting; AssertionError when it failed."""
    out, err = child.communicate(timeout=300)
    assert child.returncode == 0, f"exit status {child.returncode}\n{out}\n{err}"
    return out, "".join(line for line in err.splitlines(keepends=True) if not line.startswith("[Quadrants]"))


def sources(kernel) -> list[str]:
    """Names of the source-cache observations that are true."""
    return [name for name, value in vars(kernel._primal.src_ll_cache_observations).items() if value]


STORED = ["cache_key_generated", "cache_stored"]
LOADED = ["cache_key_generated", "cache_validated", "cache_loaded"]
