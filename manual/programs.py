"""Programs of pages, run when the manual is built: what files they write are the pictures of the page."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# Pages whose programs write what the page shows.
PAGES = ("tutorial.md", "guide/performance.md")
_PROGRAM = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def _wanted(page: str) -> list[str]:
    """The files that a page shows out of the folder `made`."""
    return re.findall(r"\]\(made/([\w.-]+)\)", (DOCS / page).read_text(encoding="utf-8"))


def run(page: str, folder: Path) -> dict[str, Path]:
    """Path below docs/ -> file, of all that the programs of a page wrote. Runs them unless they ran as they are now."""
    text = (DOCS / page).read_text(encoding="utf-8")
    folder = folder / page.removesuffix(".md") / hashlib.sha256(text.encode()).hexdigest()[:12]
    if not folder.exists():
        shutil.rmtree(folder.parent, ignore_errors=True)
        working = folder.with_suffix(".part")
        working.mkdir(parents=True)
        for number, program in enumerate(_PROGRAM.findall(text)):
            file = working / f"program_{number}.py"
            file.write_text(program, encoding="utf-8")
            done = subprocess.run([sys.executable, file.name], cwd=working, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"program {number} of {page} failed:\n{done.stdout}{done.stderr}")
        if (working / "trace.json").exists():
            from manual.drawings import draw_trace

            draw_trace(working / "trace.json", working / "trace.png")
        working.rename(folder)
    base = Path(page).parent.as_posix()
    prefix = "" if base == "." else f"{base}/"
    return {f"{prefix}made/{name}": folder / name for name in _wanted(page) if (folder / name).exists()}
