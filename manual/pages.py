"""All that is made for the manual: pages as Markdown, and pictures."""

from __future__ import annotations

import re
from pathlib import Path

from manual import drawings, gallery, options, programs, reference

ROOT = Path(__file__).resolve().parents[1]
MADE = ROOT / "build" / "manual"


def _of_the_tree(name: str) -> str:
    """A page of the root of the repository, whose links begin there."""
    return re.sub(r"\]\(docs/", "](", (ROOT / name).read_text(encoding="utf-8"))


def texts() -> dict[str, str]:
    """Path below docs/ -> Markdown of pages that are made as a whole."""
    own = {"contributing.md": _of_the_tree("CONTRIBUTING.md"), "changelog.md": _of_the_tree("CHANGELOG.md")}
    return {**reference.files(), **gallery.texts(), **own}


def filled(path: str, text: str) -> str:
    """A page of docs/ with what is made for it."""
    return options.filled(text) if path == "guide/options.md" else text


def pictures() -> dict[str, Path]:
    """Path below docs/ -> the file with it. Makes those that are not in `build/manual` yet."""
    layouts = MADE / "layouts"
    layouts.mkdir(parents=True, exist_ok=True)
    drawings.draw_all(layouts)
    made = {f"guide/made/{path.name}": path for path in sorted(layouts.iterdir())}
    for page in programs.PAGES:
        made |= programs.run(page, MADE)
    return made | gallery.pictures(MADE / "gallery")
