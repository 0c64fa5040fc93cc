"""`python -m quadrants doctor [--json]`: what each backend has. It looks, and changes nothing.

The exit status is 1 where the CPU cannot run kernels, as nothing can then.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import textwrap
from collections.abc import Sequence

from quadrants import config
from quadrants._version import DISTRIBUTION
from quadrants.cli import probes
from quadrants.cli.cache import default_folder, size
from quadrants.toolchain.cache import DiskCache

_HEADINGS = ("backend", "state", "found", "missing, and what would provide it")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m quadrants doctor",
        description="Say what each backend has and lacks on this machine.",
        epilog="The exit status is 1 if the CPU cannot compile and run kernels, else 0.",
    )
    parser.add_argument("--json", action="store_true", help="the same for programs to read")
    arguments = parser.parse_args(argv)
    findings = [probes.examine(name) for name in probes.BACKENDS]
    if arguments.json:
        print(_json(findings))
    else:
        print(_header(), table(findings), sep="\n\n")
    runs = any(finding.backend == "cpu" and finding.state == probes.READY for finding in findings)
    return 0 if runs else 1


def _header() -> str:
    lines = [
        f"quadrants {DISTRIBUTION}, Python {platform.python_version()} ({sys.executable})",
        f"{platform.platform()}, {platform.machine()}, {config.hardware_threads()} CPU threads",
    ]
    info = DiskCache(default_folder()).info()
    lines.append(f"kernel cache: {info.root or 'no home folder is known'} ({info.entries} entries, {size(info.bytes)})")
    lines += [f"{name}={text}" for name, text in _variables().items()]
    return "\n".join(lines)


def _variables() -> dict[str, str]:
    return {name: os.environ[name] for name in sorted(os.environ) if name.startswith("QD_")}


def _json(findings: list[probes.Finding]) -> str:
    import json

    info = DiskCache(default_folder()).info()
    said = {
        "version": DISTRIBUTION,
        "python": {"version": platform.python_version(), "executable": sys.executable},
        "platform": platform.platform(),
        "machine": platform.machine(),
        "threads": config.hardware_threads(),
        "cache": {"folder": info.root, "entries": info.entries, "bytes": info.bytes},
        "variables": _variables(),
        "backends": {finding.backend: finding._asdict() for finding in findings},
    }
    return json.dumps(said, indent=2)


def table(findings: list[probes.Finding]) -> str:
    """The findings as text, as wide as the terminal allows."""
    rows = [(f.backend, f.state, "; ".join(f.found) or "-", "; ".join(f.missing) or "-") for f in findings]
    first = max(len(row[0]) for row in [_HEADINGS, *rows])
    second = min(24, max(len(row[1]) for row in [_HEADINGS, *rows]))
    width = max(90, min(160, shutil.get_terminal_size((120, 24)).columns))
    rest = width - first - second - 6
    widths = (first, second, rest // 2, rest - rest // 2)
    lines = [*_row(_HEADINGS, widths), "  ".join("-" * w for w in widths)]
    for row in rows:
        lines += _row(row, widths)
    return "\n".join(lines)


def _row(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    wrapped = [textwrap.wrap(cell, width, break_on_hyphens=False) or [""] for cell, width in zip(cells, widths)]
    height = max(map(len, wrapped))
    padded = [column + [""] * (height - len(column)) for column in wrapped]
    return ["  ".join(part.ljust(w) for part, w in zip(line, widths)).rstrip() for line in zip(*padded)]
