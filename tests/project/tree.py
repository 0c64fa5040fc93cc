"""The files of the project, as git lists them."""

from __future__ import annotations

import subprocess
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@lru_cache(maxsize=1)
def tracked() -> tuple[Path, ...]:
    """Every tracked file that exists; without git, every file that is not the product of a tool."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        if listed:  # empty in a copy whose files were never added
            return tuple(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())
    made = {"build", "dist", "__pycache__", "node_modules", "core.cpp"}
    return tuple(
        path
        for path in sorted(ROOT.rglob("*"))
        if path.is_file() and not any(p in made or p.startswith(".") for p in path.relative_to(ROOT).parts)
    )


def with_suffix(*suffixes: str) -> list[Path]:
    """Tracked files that end so."""
    return [path for path in tracked() if path.name.endswith(suffixes)]


def name(path: Path) -> str:
    """Path from the root, for messages and test ids."""
    return path.relative_to(ROOT).as_posix()
