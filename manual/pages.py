"""All that is made for the manual: pages as Markdown, and pictures."""

from __future__ import annotations

from pathlib import Path

from manual import options, reference


def texts() -> dict[str, str]:
    """Path below docs/ -> Markdown of pages that are made as a whole."""
    return reference.files()


def filled(path: str, text: str) -> str:
    """A page of docs/ with what is made for it."""
    return options.filled(text) if path == "guide/options.md" else text


def pictures() -> dict[str, Path]:
    """Path below docs/ -> the file with it."""
    return {}
