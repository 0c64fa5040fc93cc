"""`python -m quadrants doctor`: a table of the backends. It looks, changes nothing, and always exits with 0."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import textwrap
from collections.abc import Sequence

from quadrants import config
from quadrants._version import __version_str__
from quadrants.cli import probes
from quadrants.cli.cache import default_folder, size
from quadrants.toolchain.cache import DiskCache

_HEADINGS = ("backend", "state", "found", "missing, and what would provide it")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m quadrants doctor", description="Say what each backend has and lacks on this machine."
    )
    parser.parse_args(argv)
    print(_header())
    print()
    print(table([probes.examine(name) for name in probes.BACKENDS]))
    return 0


def _header() -> str:
    lines = [
        f"quadrants {__version_str__}, Python {platform.python_version()} ({sys.executable})",
        f"{platform.platform()}, {platform.machine()}, {config.hardware_threads()} CPU threads",
    ]
    cache = DiskCache(default_folder())
    info = cache.info()
    lines.append(f"kernel cache: {info.root or 'no home folder is known'} ({info.entries} entries, {size(info.bytes)})")
    variables = sorted(name for name in os.environ if name.startswith("QD_"))
    lines += [f"{name}={os.environ[name]}" for name in variables]
    return "\n".join(lines)


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
