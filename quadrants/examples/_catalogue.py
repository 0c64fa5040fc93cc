"""The list of examples, read from the files without importing them."""

from __future__ import annotations

import ast
from pathlib import Path

_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Names of all examples, sorted. Files that start with an underscore are helpers."""
    return sorted(path.stem for path in _FOLDER.glob("*.py") if not path.stem.startswith("_"))


def describe(name: str) -> str:
    """First line of the docstring of an example."""
    source = (_FOLDER / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").split("\n")[0]
